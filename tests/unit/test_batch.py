"""Many recordings with stand-ins for the stages: isolation, files, exit codes."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
import soundfile as sf

from murmur_cli.audio import spool
from murmur_cli.audio.discover import InputFile
from murmur_cli.batch import InOrder, Outcome, exit_code, output_directory, transcribe_batch
from murmur_cli.errors import ExitCode, RecordingError
from murmur_cli.models.choice import ModelChoice, ModelKind
from murmur_cli.progress import SilentProgress
from murmur_cli.settings import TranscribeSettings
from murmur_cli.types import Status
from support.factories import make_transcript
from support.fake_stages import FakeStages, Ready, SpeaksThreeWords
from support.media_files import RATE_HZ, tone
from support.open_files import open_files_in

CHOICE = ModelChoice("stand-in", ModelKind.EMBEDDED, Path("/nowhere"), "a test")


def _outcome(status: Status | None) -> Outcome:
    source = InputFile(Path("talk.wav"), "talk")
    if status is None:
        return Outcome(source, None, failure="no audio samples")
    return Outcome(source, make_transcript(status=status))


@pytest.mark.parametrize(
    ("statuses", "code", "code_if_partial_is_allowed"),
    [
        ([Status.OK], ExitCode.OK, ExitCode.OK),
        ([Status.EMPTY], ExitCode.OK, ExitCode.OK),
        ([Status.OK, Status.EMPTY], ExitCode.OK, ExitCode.OK),
        ([Status.PARTIAL], ExitCode.SOME_FAILED, ExitCode.OK),
        ([Status.OK, Status.PARTIAL], ExitCode.SOME_FAILED, ExitCode.OK),
        ([Status.OK, None], ExitCode.SOME_FAILED, ExitCode.SOME_FAILED),
        ([None, Status.PARTIAL], ExitCode.SOME_FAILED, ExitCode.SOME_FAILED),
        ([None], ExitCode.NOTHING_PROCESSED, ExitCode.NOTHING_PROCESSED),
        ([None, None], ExitCode.NOTHING_PROCESSED, ExitCode.NOTHING_PROCESSED),
    ],
)
def test_exit_code_when_outcomes_are_known_then_as_documented(
    statuses: list[Status | None], code: ExitCode, code_if_partial_is_allowed: ExitCode
) -> None:
    outcomes = [_outcome(status) for status in statuses]
    assert exit_code(outcomes, allow_partial=False) is code
    assert exit_code(outcomes, allow_partial=True) is code_if_partial_is_allowed


def test_output_directory_when_none_is_given_then_beside_the_input() -> None:
    source = InputFile(Path("monday/talk.wav"), "talk")
    assert output_directory(source, TranscribeSettings()) == Path("monday")
    given = TranscribeSettings(output_dir=Path("out"))
    assert output_directory(source, given) == Path("out")


def test_in_order_when_later_ones_are_done_first_then_they_are_held_back() -> None:
    told: list[str] = []
    ordered = InOrder("abcd", lambda outcome: told.append(outcome.source.session_id))
    heard = []
    for name in "cadb":
        ordered.put(Outcome(InputFile(Path(f"{name}.wav"), name), None, failure="no matter"))
        heard.append("".join(told))
    assert heard == ["", "a", "a", "abcd"]


def _batch(
    monkeypatch: pytest.MonkeyPatch, folder: Path, stages: FakeStages, names: list[str], **options
) -> tuple[list[Outcome], list[list[str]]]:
    """The outcomes, and the text files in the folder as each of them was told."""
    monkeypatch.setattr("murmur_cli.batch.start_stages", stages.start)
    sources = [InputFile(folder / f"{name}.wav", name) for name in names]
    for source in sources:
        if source.session_id != "missing":
            sf.write(source.path, tone(1.0), RATE_HZ)
    seen: list[list[str]] = []
    told: list[Outcome] = []

    def hear(outcome: Outcome) -> None:
        told.append(outcome)
        seen.append(sorted(path.name for path in folder.glob("*.txt")))

    settings = TranscribeSettings(formats=("txt",), **options)
    outcomes = transcribe_batch(sources, settings, CHOICE, "cpu", SilentProgress(), hear)
    assert list(outcomes) == told
    return told, seen


def test_batch_when_one_fails_then_the_others_are_written_as_they_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = FakeStages(Ready(SpeaksThreeWords()))
    outcomes, seen = _batch(monkeypatch, tmp_path, stages, ["a", "missing", "b"])
    # In order of completion, and each that is told of is written by then.
    written: list[str] = []
    for outcome, files in zip(outcomes, seen, strict=True):
        written = sorted([*written, *(path.name for path in outcome.files)])
        assert files == written
    assert {outcome.source.session_id: outcome.files for outcome in outcomes} == {
        "a": (tmp_path / "a.txt",),
        "missing": (),
        "b": (tmp_path / "b.txt",),
    }
    (missing,) = (outcome for outcome in outcomes if outcome.transcript is None)
    assert missing.failure is not None
    assert missing.details is None


def test_batch_when_data_goes_to_stdout_then_no_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = FakeStages(Ready(SpeaksThreeWords()))
    outcomes, seen = _batch(monkeypatch, tmp_path, stages, ["a"], to_stdout=True)
    assert seen == [[]]
    assert outcomes[0].transcript is not None


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (RecordingError("a.wav: too odd"), "a.wav: too odd"),
        (ValueError("first\nsecond"), "unexpected ValueError: first (--debug shows where)"),
        (MemoryError(), "unexpected MemoryError: no message (--debug shows where)"),
    ],
)
def test_batch_when_a_stage_raises_then_one_line_and_a_traceback_only_for_faults_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, failure: str
) -> None:
    def before(recording: str) -> None:
        raise error

    stages = FakeStages(Ready(SpeaksThreeWords(before)))
    (outcome,), _ = _batch(monkeypatch, tmp_path, stages, ["a"])
    assert outcome.failure == failure
    assert (outcome.details is None) == isinstance(error, RecordingError)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("fails", [False, True])
def test_batch_when_recordings_lie_on_disk_then_each_goes_when_it_is_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fails: bool
) -> None:
    """Open at once: the two that are prepared ahead, and the one that is being transcribed."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(spool, "MEMORY_VALUES", 1_000)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    opened: list[int] = []

    def before(recording: str) -> None:
        opened.append(open_files_in(temporary))
        if fails:
            raise RuntimeError("anything")

    stages = FakeStages(Ready(SpeaksThreeWords(before)))
    outcomes, _ = _batch(monkeypatch, tmp_path, stages, list("abcdefgh"))
    assert len(outcomes) == len(opened) == 8
    assert all((outcome.failure is not None) == fails for outcome in outcomes)
    assert 1 <= max(opened) <= 4
    assert open_files_in(temporary) == 0
