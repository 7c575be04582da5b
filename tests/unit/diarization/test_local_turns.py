import numpy as np
import pytest

from murmur_cli.diarization.clean_speech import Piece
from murmur_cli.diarization.frame_grid import FRAME_SAMPLES, FrameGrid
from murmur_cli.diarization.local_turns import voice_activity, voices_of_slots
from murmur_cli.diarization.runs import joined_runs
from murmur_cli.diarization.segmentation import Segmentation
from murmur_cli.types import SampleSpan
from support.slots import drawn_segmentation

STARTS = (0, 100)


def _piece(units: tuple[int, ...], first: int, last: int) -> Piece:
    return Piece(units, np.arange(first, last))


def test_slot_voices_when_slot_has_two_voices_then_nearest_piece_decides() -> None:
    segmentation = drawn_segmentation(400, (0,), {(0, 1): ((0, 300),)})
    pieces = [_piece((1,), 0, 100), _piece((1,), 200, 300)]
    found = voices_of_slots(segmentation, pieces, np.array([1, 0]))
    assert found[0, :, 1].tolist() == [1] * 150 + [0] * (589 - 150)
    assert (found[0, :, 0] == -1).all()


def test_activity_when_windows_differ_then_the_nearer_middle_decides() -> None:
    # Frame 150 lies 150 frames inside window 0 and 50 inside window 1, which hears nothing.
    segmentation = drawn_segmentation(689, STARTS, {(0, 0): ((140, 160), (550, 580))})
    voices = voices_of_slots(segmentation, [_piece((0,), 140, 160)], np.array([0]))
    active = voice_activity(segmentation, voices)
    assert joined_runs(active[:, 0]) == [(140, 160)]


def test_activity_when_two_talk_then_overlap_is_kept() -> None:
    segmentation = drawn_segmentation(400, (0,), {(0, 0): ((0, 100),), (0, 1): ((80, 200),)})
    pieces = [_piece((0,), 0, 80), _piece((1,), 100, 200)]
    active = voice_activity(segmentation, voices_of_slots(segmentation, pieces, np.array([0, 1])))
    assert joined_runs(active[:, 0]) == [(0, 100)]
    assert joined_runs(active[:, 1]) == [(80, 200)]


def test_slot_voices_when_slot_is_never_alone_then_other_window_says_who() -> None:
    # Window 1's slot 2 talks only over its slot 0 (voice 0); window 0 heard voice 1 there.
    talk = {
        (0, 0): ((100, 300),),
        (0, 1): ((20, 90), (200, 300)),
        (1, 0): ((100, 300),),
        (1, 2): ((200, 300),),
    }
    segmentation = drawn_segmentation(400, STARTS, talk)
    pieces = [_piece((0, 3), 100, 200), _piece((1,), 20, 90)]
    found = voices_of_slots(segmentation, pieces, np.array([0, 1]))
    assert set(found[1, :, 2].tolist()) == {1}


def test_slot_voices_when_nobody_else_hears_the_slot_then_it_stays_silent() -> None:
    talk = {(0, 0): ((0, 300),), (0, 1): ((200, 300),)}
    segmentation = drawn_segmentation(400, (0,), talk)
    found = voices_of_slots(segmentation, [_piece((0,), 0, 200)], np.array([0]))
    active = voice_activity(segmentation, found)
    assert active.shape == (400, 1)
    assert joined_runs(active[:, 0]) == [(0, 300)]


def test_slot_voices_when_no_piece_has_a_voice_then_all_speech_is_one() -> None:
    segmentation = drawn_segmentation(400, (0,), {(0, 2): ((10, 30),)})
    found = voices_of_slots(segmentation, [], np.array([], dtype=np.int64))
    assert joined_runs(voice_activity(segmentation, found)[:, 0]) == [(10, 30)]


def test_activity_when_silence_then_no_turn() -> None:
    segmentation = drawn_segmentation(400, (0,), {})
    found = voices_of_slots(segmentation, [], np.array([], dtype=np.int64))
    assert not voice_activity(segmentation, found).any()


def _by_class(frames: dict[tuple[int, ...], float]) -> Segmentation:
    """One window of 100 frames, all with these probabilities of sets of slots."""
    grid = FrameGrid(SampleSpan(0, 100 * FRAME_SAMPLES), 100, (0,))
    probability, fewer = np.zeros((1, 589, 3)), np.ones((1, 589, 2))
    for slot in range(3):
        probability[0, :100, slot] = sum(p for slots, p in frames.items() if slot in slots)
    for most in range(2):
        fewer[0, :100, most] = sum(p for slots, p in frames.items() if len(slots) <= most)
    probability, fewer = probability.astype(np.float32), fewer.astype(np.float32)
    return Segmentation(grid, probability > 0.5, probability, fewer)


@pytest.mark.parametrize(
    ("frames", "talks"),
    [
        # Somebody talks (.6), more likely slot 0 than slot 1, and than nobody.
        ({(): 0.3, (0,): 0.4, (1,): 0.3}, [True, False]),
        # Slot 0 is less likely than nobody, though somebody (.55) is likelier than not.
        ({(): 0.4, (0,): 0.35, (1,): 0.25}, [False, False]),
        # Two talk (.5) more likely than fewer, but the second voice is slot 1 with .3 only.
        ({(0,): 0.5, (0, 1): 0.3, (0, 2): 0.2}, [True, False]),
        ({(0,): 0.4, (0, 1): 0.45, (0, 2): 0.15}, [True, True]),
    ],
)
def test_activity_when_unsure_then_least_expected_error(
    frames: dict[tuple[int, ...], float], talks: list[bool]
) -> None:
    segmentation = _by_class(frames)
    slot_voices = np.broadcast_to(np.arange(3), (1, 589, 3))
    active = voice_activity(segmentation, slot_voices)
    assert active[:, :2].tolist() == [talks] * 100


def test_activity_when_windows_disagree_who_then_the_likelier_voice_talks() -> None:
    # Both windows hear one speaker; one takes him for voice 0, the other for voice 1.
    segmentation = drawn_segmentation(689, STARTS, {(0, 0): ((300, 500),), (1, 0): ((300, 500),)})
    slot_voices = np.full((2, 589, 3), -1)
    slot_voices[0, :, 0], slot_voices[1, :, 0] = 0, 1
    active = voice_activity(segmentation, slot_voices)
    # Window 0's middle is frame 294, window 1's 394: halfway, at 344, the second takes over.
    assert joined_runs(active[:, 0]) == [(300, 345)]
    assert joined_runs(active[:, 1]) == [(345, 500)]
