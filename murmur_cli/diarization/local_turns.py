"""From voices of pieces to turns: what the windows over a frame say together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from murmur_cli.diarization.clean_speech import Piece
from murmur_cli.diarization.frame_grid import WINDOW_FRAMES
from murmur_cli.diarization.powerset import MAX_AT_ONCE, NUM_SLOTS
from murmur_cli.diarization.segmentation import Segmentation
from murmur_cli.voice_clustering import Labels

SlotVoices = npt.NDArray[np.int64]
"""(windows, 589, 3): voice behind a slot at a frame, -1 for none."""

NOBODY = -1
_EDGE_WEIGHT = 0.05


def voices_of_slots(
    segmentation: Segmentation, pieces: Sequence[Piece], voice: Labels
) -> SlotVoices:
    """Voice behind each slot at each frame: that of the slot's nearest piece.

    A slot without a piece (it never talks alone) takes the voice that the other windows hear
    in its place. If no piece at all has a voice, all slots are voice 0.
    """
    found = np.full(segmentation.active.shape, NOBODY, dtype=np.int64)
    if voice.max(initial=NOBODY) == NOBODY:
        found[:] = 0
        return found
    frames: dict[int, list[npt.NDArray[np.int64]]] = {}
    labels: dict[int, list[npt.NDArray[np.int64]]] = {}
    for piece, label in zip(pieces, voice.tolist(), strict=True):
        for unit in piece.units if label != NOBODY else ():
            frames.setdefault(unit, []).append(piece.frames)
            labels.setdefault(unit, []).append(np.full(piece.frames.size, label))
    for unit, positions in frames.items():
        window, slot = divmod(unit, NUM_SLOTS)
        place = np.concatenate(positions) - segmentation.grid.window_starts[window]
        found[window, :, slot] = _nearest(place, np.concatenate(labels[unit]))
    _ask_other_windows(segmentation, found)
    return found


def voice_activity(segmentation: Segmentation, slot_voices: SlotVoices) -> npt.NDArray[np.bool_]:
    """Frames in which each voice talks: (frames, voices).

    The likeliest voice talks where that is more probable than that nobody does, the next one
    where that is more probable than that fewer than two do: so is the least time expected to be
    wrong, be it missed, invented or another's. Probabilities are means over the windows; the
    middle of a window counts more than its edges, where the network knows less.
    """
    heard, fewer = _mean_over_windows(segmentation, slot_voices)
    active = np.zeros(heard.shape, dtype=np.bool_)
    order = np.argsort(-heard, axis=1, kind="stable")
    rows = np.arange(len(heard))
    talks = np.ones(len(heard), dtype=np.bool_)
    for rank in range(min(MAX_AT_ONCE, heard.shape[1])):
        voice = order[:, rank]
        talks &= heard[rows, voice] > fewer[:, rank]
        active[rows[talks], voice[talks]] = True
    return active


def _mean_over_windows(
    segmentation: Segmentation, slot_voices: SlotVoices
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Probability that each voice talks (frames, voices), and that fewer than 1, 2 do."""
    grid = segmentation.grid
    num_voices = int(slot_voices.max(initial=NOBODY)) + 1
    heard = np.zeros((grid.num_frames, num_voices))
    fewer = np.zeros((grid.num_frames, MAX_AT_ONCE))
    weight = np.zeros((grid.num_frames, 1))
    position = (np.arange(WINDOW_FRAMES) + 0.5) / WINDOW_FRAMES
    taper = _EDGE_WEIGHT + np.minimum(position, 1 - position)[:, None]
    for window in range(len(grid.window_starts)):
        inside = grid.frames_of(window)
        length = inside.stop - inside.start
        here = np.zeros((length, num_voices))
        for slot in range(NUM_SLOTS):
            voice = slot_voices[window, :length, slot]
            rows = np.flatnonzero(voice != NOBODY)
            value = segmentation.probability[window, rows, slot]
            here[rows, voice[rows]] = np.maximum(here[rows, voice[rows]], value)
        heard[inside] += taper[:length] * here
        fewer[inside] += taper[:length] * segmentation.fewer[window, :length]
        weight[inside] += taper[:length]
    weight = np.maximum(weight, 1e-12)
    return heard / weight, fewer / weight


def _nearest(place: npt.NDArray[np.int64], label: Labels) -> Labels:
    """Label of the nearest place for each frame of a window; the earlier one if they tie."""
    order = np.argsort(place, kind="stable")
    place, label = place[order], label[order]
    frames = np.arange(WINDOW_FRAMES)
    after = np.searchsorted(place, frames).clip(max=place.size - 1)
    before = (after - 1).clip(min=0)
    earlier = np.abs(frames - place[before]) <= np.abs(place[after] - frames)
    nearest: Labels = label[np.where(earlier, before, after)]
    return nearest


def _ask_other_windows(segmentation: Segmentation, found: SlotVoices) -> None:
    """Fill the active slots without a voice from the windows that overlap theirs."""
    grid = segmentation.grid
    num_voices = int(found.max()) + 1
    talking = np.where(segmentation.active, found, NOBODY)
    votes = np.zeros((grid.num_frames, num_voices))
    for window in range(len(grid.window_starts)):
        _count(votes, talking[window], grid.frames_of(window))
    orphans = segmentation.active.any(axis=1) & (found[:, 0, :] == NOBODY)
    for window, slot in np.argwhere(orphans).tolist():
        inside = grid.frames_of(window)
        length = inside.stop - inside.start
        mine = np.zeros((length, num_voices))
        _count(mine, talking[window], slice(0, length))
        active = segmentation.active[window, :length, slot]
        # Voices that this very window hears in its other slots are taken.
        free = (votes[inside] - mine)[active] * (mine[active] == 0)
        total = free.sum(axis=0)
        if total.max() > 0:
            found[window, :, slot] = int(total.argmax())


def _count(votes: npt.NDArray[np.float64], voices: Labels, inside: slice) -> None:
    length = inside.stop - inside.start
    for slot in range(NUM_SLOTS):
        rows = np.flatnonzero(voices[:length, slot] != NOBODY)
        votes[inside.start + rows, voices[rows, slot]] += 1
