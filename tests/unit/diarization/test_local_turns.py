import numpy as np

from murmur_cli.diarization.clean_speech import Piece
from murmur_cli.diarization.local_turns import voice_activity, voices_of_slots
from murmur_cli.diarization.runs import joined_runs
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
