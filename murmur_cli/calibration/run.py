"""Recordings -> what each head of a recogniser may read of the speech."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from murmur_cli.audio.discover import InputFile
from murmur_cli.errors import MurmurError, RecordingError
from murmur_cli.models.choice import ModelChoice
from murmur_cli.pipeline import Pipeline
from murmur_cli.progress import ProgressHook
from murmur_cli.settings import TranscribeSettings
from murmur_cli.stages import Loading, start_stages
from murmur_cli.types.kv_shares import HeadSpread, KvShares


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was measured.

    Attributes:
        shares: the budgets.
        spreads: by layer and KV head: how far its attention spreads.
        steps: decoded tokens that were measured.
        recordings: that were heard.
    """

    shares: KvShares
    spreads: tuple[tuple[HeadSpread, ...], ...]
    steps: int
    recordings: int


def calibrate(
    sources: Sequence[InputFile],
    settings: TranscribeSettings,
    choice: ModelChoice,
    device: str,
    mean: float,
    progress: ProgressHook,
) -> Calibration:
    """Decode recordings with full attention and share out a mean budget by what heads look at.

    Args:
        settings: of recognition; no speakers are looked for, and no policy is applied.
        mean: of the shares of all heads.

    Raises:
        RecordingError: a recording cannot be read or decoded; the first such.
        ModelError: a model cannot be loaded.
        UsageError: none of the recordings has speech.
    """
    from murmur_cli.asr.head_spread import HeadSpreadMeter

    settings = replace(settings, diarize=False, evict="none", evict_options={}, kv_budget=None)
    with start_stages(settings, choice, device, progress) as stages:
        assert stages.recogniser is not None
        meter = HeadSpreadMeter(stages.recogniser.get())
        measuring = replace(stages, recogniser=Loading.done(meter.backend))
        pipeline = Pipeline(settings, measuring, device, progress)
        with closing(pipeline.run(sources)) as finished:
            for done in finished:
                if isinstance(done.result, Exception):
                    raise _told(done.source, done.result)
    shares = KvShares(choice.stored_name, mean, meter.shares(mean), source="")
    return Calibration(shares, meter.spreads, meter.steps, len(sources))


def _told(source: InputFile, error: Exception) -> Exception:
    """The error as one that is shown in a line."""
    if isinstance(error, MurmurError):
        return error
    told = RecordingError(f"{source.session_id}: unexpected {type(error).__name__}: {error}")
    told.__cause__ = error
    return told
