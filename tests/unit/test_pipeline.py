"""One recording through the pipeline, with stand-ins for the stages that load models."""

from __future__ import annotations

import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from murmur_cli.audio.discover import InputFile
from murmur_cli.diarization.base import NO_HINTS
from murmur_cli.errors import ModelError, RecordingError, UsageError
from murmur_cli.pipeline import Done, Pipeline
from murmur_cli.prepared_ahead import PREPARED_AHEAD
from murmur_cli.progress import SilentProgress
from murmur_cli.settings import TranscribeSettings
from murmur_cli.types import (
    ChannelMode,
    Chunk,
    ChunkDiarization,
    KnownVoice,
    KnownVoices,
    Samples,
    SampleSpan,
    SpeakerHints,
    SpeakersFrom,
    Status,
    TimeSpan,
    Transcript,
    VoiceClip,
)
from support.fake_stages import (
    IDENTITY,
    FakeStages,
    FaultOfAll,
    NamesSpeakers,
    OneVoice,
    Ready,
    SpeaksThreeWords,
)
from support.media_files import RATE_HZ, forge_wav_sizes, tone
from support.panned import babble, in_turns, with_bleed

NEVER = Ready(None, AssertionError("asked for although nobody speaks"))


def _source(folder: Path, samples: np.ndarray, name: str = "talk") -> InputFile:
    path = folder / f"{name}.wav"
    sf.write(path, samples, RATE_HZ)
    return InputFile(path, name)


def _run(
    source: InputFile,
    stages: FakeStages,
    settings: TranscribeSettings | None = None,
    progress: SilentProgress | None = None,
) -> Transcript:
    (done,) = _run_all([source], stages, settings, progress)
    assert isinstance(done.result, Transcript)
    return done.result


def _run_all(
    sources: list[InputFile],
    stages: FakeStages,
    settings: TranscribeSettings | None = None,
    progress: SilentProgress | None = None,
) -> list[Done]:
    pipeline = Pipeline(
        settings or TranscribeSettings(),
        stages,  # type: ignore[arg-type]
        "cpu",
        progress or SilentProgress(),
    )
    return list(pipeline.run(sources))


def test_recording_when_someone_speaks_then_every_stage_has_its_part(tmp_path: Path) -> None:
    transcript = _run(_source(tmp_path, tone(3.0)), FakeStages(Ready(SpeaksThreeWords())))
    assert transcript.status is Status.OK
    assert transcript.session_id == "talk"
    assert transcript.speech_s == 3.0
    assert transcript.language == "en"
    assert [(word.text, word.speaker, word.span) for word in transcript.words] == [
        ("one", "SPEAKER_00", TimeSpan(0.0, 1.0)),
        ("two", "SPEAKER_00", TimeSpan(1.0, 2.0)),
        ("three", "SPEAKER_00", TimeSpan(2.0, 3.0)),
    ]
    assert [(turn.speaker, turn.span) for turn in transcript.turns] == [
        ("SPEAKER_00", TimeSpan(0.0, 3.0))
    ]
    assert transcript.run.models == (IDENTITY,) * 3  # detector, recogniser, diarizer
    assert [timing.stage for timing in transcript.timings] == [
        "read",
        "load models",
        "speech detection",
        "chunking",
        "recognition",
        "diarization",
        "stitching",
        "attribution",
    ]


def test_recording_when_nobody_speaks_then_recogniser_and_diarizer_are_not_asked_for(
    tmp_path: Path,
) -> None:
    source = _source(tmp_path, np.zeros(RATE_HZ, np.float32))
    transcript = _run(source, FakeStages(recogniser=NEVER, diarizer=NEVER))
    assert transcript.status is Status.EMPTY
    assert (transcript.segments, transcript.turns, transcript.chunks) == ((), (), ())
    assert (transcript.speech_s, transcript.language) == (0.0, None)
    assert transcript.run.models == (IDENTITY,)


def test_recording_when_not_diarized_then_words_have_no_speaker(tmp_path: Path) -> None:
    stages = FakeStages(Ready(SpeaksThreeWords()), diarizer=None)
    transcript = _run(_source(tmp_path, tone(3.0)), stages)
    assert [(word.text, word.speaker) for word in transcript.words] == [
        ("one", None),
        ("two", None),
        ("three", None),
    ]
    assert (transcript.turns, transcript.speakers) == ((), ())
    assert "diarization" not in {timing.stage for timing in transcript.timings}


@pytest.mark.parametrize("speaks", [True, False])
def test_recording_when_file_is_cut_off_then_partial_whether_or_not_someone_speaks(
    tmp_path: Path, speaks: bool
) -> None:
    samples = tone(2.0) if speaks else np.zeros(2 * RATE_HZ, np.float32)
    source = _source(tmp_path, samples)
    declared = 4 * RATE_HZ * 2  # four seconds of 16 bits
    forge_wav_sizes(source.path, source.path, riff_bytes=declared + 36, data_bytes=declared)
    transcript = _run(source, FakeStages(Ready(SpeaksThreeWords())))
    assert transcript.status is Status.PARTIAL
    assert transcript.facts.declared_duration_s == 4.0
    assert transcript.facts.duration_s == 2.0
    assert any("cut off" in warning for warning in transcript.warnings)


def test_recording_when_more_speakers_are_asked_for_than_found_then_a_warning(
    tmp_path: Path,
) -> None:
    settings = TranscribeSettings(hints=SpeakerHints(exact=3))
    transcript = _run(_source(tmp_path, tone(3.0)), FakeStages(Ready(SpeaksThreeWords())), settings)
    assert transcript.speakers == ("SPEAKER_00",)
    assert len(transcript.warnings) == 1
    assert "3" in transcript.warnings[0]


class _NotesHints(OneVoice):
    def __init__(self) -> None:
        self.heard: list[SpeakerHints] = []

    def diarize(
        self, samples: Samples, chunk: Chunk, *, hints: SpeakerHints = NO_HINTS
    ) -> ChunkDiarization:
        self.heard.append(hints)
        return super().diarize(samples, chunk, hints=hints)


@pytest.mark.parametrize(
    ("chunk_s", "expected"),
    [
        (60.0, [SpeakerHints(exact=2)]),
        # Either half may hold fewer people than the whole.
        (1.0, [SpeakerHints(maximum=2), SpeakerHints(maximum=2)]),
    ],
)
def test_diarizer_when_there_are_several_chunks_then_hints_hold_for_the_whole_only(
    tmp_path: Path, chunk_s: float, expected: list[SpeakerHints]
) -> None:
    diarizer = _NotesHints()
    stages = FakeStages(Ready(SpeaksThreeWords()), diarizer=Ready(diarizer))
    settings = TranscribeSettings(chunk_s=chunk_s, hints=SpeakerHints(exact=2))
    transcript = _run(_source(tmp_path, tone(1.5)), stages, settings)
    assert diarizer.heard == expected
    assert len(transcript.plan.chunks) == len(expected)


class _NotesCalls(SilentProgress):
    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def stage(self, recording: str, name: str, total: int | None) -> None:
        self.calls.append((name, total))

    def advance(self, recording: str, name: str, done: int) -> None:
        self.calls.append((name, "done", done))

    def note(self, message: str, *, level: str = "info") -> None:
        self.calls.append((level, message))


def test_progress_when_a_recording_runs_then_it_hears_of_chunks_and_of_the_rule(
    tmp_path: Path,
) -> None:
    progress = _NotesCalls()
    settings = TranscribeSettings(chunk_s=1.0)
    stages = FakeStages(Ready(SpeaksThreeWords()))
    transcript = _run(_source(tmp_path, tone(1.5)), stages, settings, progress)
    assert ("info", f"talk: {transcript.plan.rule}") in progress.calls
    at = progress.calls.index(("diarization", 2))
    assert progress.calls[at + 1 : at + 3] == [
        ("diarization", "done", 1),
        ("diarization", "done", 2),
    ]


# --- a recogniser that names speakers -------------------------------------------------------


def _said(transcript: Transcript) -> list[tuple[str, str | None]]:
    return [(word.text, word.speaker) for word in transcript.words]


def test_speakers_when_the_recogniser_names_them_then_its_turns_are_stitched(
    tmp_path: Path,
) -> None:
    recogniser = NamesSpeakers(overlap_s=0.5)
    transcript = _run(_source(tmp_path, tone(3.0)), FakeStages(Ready(recogniser)))
    assert transcript.speakers_from is SpeakersFrom.RECOGNISER
    assert transcript.speakers == ("SPEAKER_00", "SPEAKER_01")
    assert _said(transcript) == [
        ("one", "SPEAKER_00"),
        ("two", "SPEAKER_01"),
        ("three", "SPEAKER_00"),
    ]
    assert [(turn.speaker, turn.span.start_s) for turn in transcript.turns] == [
        ("SPEAKER_00", 0.0),
        ("SPEAKER_01", 0.5),
        ("SPEAKER_00", 1.5),
    ]


def test_speakers_when_the_recogniser_names_them_in_chunks_then_linked_by_voice(
    tmp_path: Path,
) -> None:
    stages = FakeStages(Ready(NamesSpeakers(speakers=(1, 0, 1))))
    transcript = _run(_source(tmp_path, tone(1.5)), stages, TranscribeSettings(chunk_s=1.0))
    assert len(transcript.chunks) == 2
    assert transcript.speakers == ("SPEAKER_00", "SPEAKER_01")
    assert [speaker for _, speaker in _said(transcript)] == [
        "SPEAKER_00",
        "SPEAKER_01",
        "SPEAKER_00",
    ] * 2


def test_speakers_when_the_recogniser_names_none_of_a_chunk_then_by_the_voices(
    tmp_path: Path,
) -> None:
    stages = FakeStages(Ready(NamesSpeakers(speakers=(None, None, None))))
    transcript = _run(_source(tmp_path, tone(3.0)), stages)
    assert transcript.speakers_from is SpeakersFrom.DIARIZER
    assert {speaker for _, speaker in _said(transcript)} == {"SPEAKER_00"}


def test_speakers_when_not_diarized_then_the_recognisers_are_left_out_too(tmp_path: Path) -> None:
    stages = FakeStages(Ready(NamesSpeakers()), diarizer=None)
    transcript = _run(_source(tmp_path, tone(3.0)), stages)
    assert (transcript.speakers, transcript.turns, transcript.speakers_from) == ((), (), None)
    assert _said(transcript) == [("one", None), ("two", None), ("three", None)]


def test_speakers_when_the_diarizer_finds_them_then_so_it_says(tmp_path: Path) -> None:
    transcript = _run(_source(tmp_path, tone(3.0)), FakeStages(Ready(SpeaksThreeWords())))
    assert transcript.speakers_from is SpeakersFrom.DIARIZER


# --- many recordings ------------------------------------------------------------------------


def _sources(folder: Path, names: str) -> list[InputFile]:
    """One second of a tone for each letter, silence for a capital one, no file for '?'."""
    sources = []
    for name in names:
        samples = np.zeros(RATE_HZ, np.float32) if name.isupper() else tone(1.0)
        source = _source(folder, samples, name if name != "?" else "missing")
        if name == "?":
            source.path.unlink()
        sources.append(source)
    return sources


def _failure(done: Done) -> str:
    return str(done.result) if isinstance(done.result, Exception) else ""


def test_run_when_recordings_share_the_queue_then_each_is_handed_on_when_it_is_done(
    tmp_path: Path,
) -> None:
    recogniser = SpeaksThreeWords(slots=3)
    done = _run_all(_sources(tmp_path, "abcd"), FakeStages(Ready(recogniser)))
    # The stand-in is done first with the last of those that it was given by then.
    assert [one.source.session_id for one in done] == recogniser.recordings
    assert sorted(recogniser.recordings) == ["a", "b", "c", "d"]
    (session,) = recogniser.sessions
    assert session.submitted == [("a", True), ("b", True), ("c", True), ("d", False)]
    assert session.is_closed


def test_run_when_alone_or_among_others_then_the_same_transcript(tmp_path: Path) -> None:
    sources = _sources(tmp_path, "abc")
    together = _run_all(sources, FakeStages(Ready(SpeaksThreeWords(slots=3))))
    for one in together:
        (alone,) = _run_all([one.source], FakeStages(Ready(SpeaksThreeWords())))
        assert isinstance(one.result, Transcript)
        assert isinstance(alone.result, Transcript)
        assert replace(one.result, timings=()) == replace(alone.result, timings=())


def test_run_when_some_are_silent_or_missing_then_the_recogniser_hears_of_the_others_only(
    tmp_path: Path,
) -> None:
    recogniser = SpeaksThreeWords(slots=2)
    done = _run_all(_sources(tmp_path, "A?bC"), FakeStages(Ready(recogniser)))
    assert recogniser.recordings == ["b"]
    by_name = {one.source.session_id: one.result for one in done}
    assert {name: getattr(result, "status", None) for name, result in by_name.items()} == {
        "A": Status.EMPTY,
        "missing": None,
        "b": Status.OK,
        "C": Status.EMPTY,
    }
    assert isinstance(by_name["missing"], RecordingError)


def test_run_when_the_recogniser_fails_on_one_then_that_one_alone(tmp_path: Path) -> None:
    def before(recording: str) -> None:
        if recording == "b":
            raise ValueError("an odd voice")

    done = _run_all(_sources(tmp_path, "abc"), FakeStages(Ready(SpeaksThreeWords(before, slots=3))))
    assert {one.source.session_id: _failure(one) for one in done} == {
        "a": "",
        "b": "an odd voice",
        "c": "",
    }


def test_run_when_a_step_fails_as_a_whole_then_those_in_it_fail_and_the_rest_begins_anew(
    tmp_path: Path,
) -> None:
    def before(recording: str) -> None:
        if len(recogniser.recordings) == 1:
            raise FaultOfAll(ValueError("the device is lost"))

    recogniser = SpeaksThreeWords(before, slots=1)
    done = _run_all(_sources(tmp_path, "abc"), FakeStages(Ready(recogniser)))
    assert [(one.source.session_id, _failure(one)) for one in done] == [
        ("a", "the device is lost"),
        ("b", ""),
        ("c", ""),
    ]
    assert [session.is_closed for session in recogniser.sessions] == [True, True]


@pytest.mark.parametrize("error", [ModelError("damaged"), UsageError("no such language")])
def test_run_when_no_recording_could_do_better_then_the_run_ends(
    tmp_path: Path, error: Exception
) -> None:
    def before(recording: str) -> None:
        raise FaultOfAll(error)

    recogniser = SpeaksThreeWords(before)
    with pytest.raises(type(error), match=str(error)):
        _run_all(_sources(tmp_path, "ab"), FakeStages(Ready(recogniser)))
    assert recogniser.sessions[0].is_closed
    with pytest.raises(type(error), match=str(error)):
        _run_all(_sources(tmp_path, "ab"), FakeStages(recogniser, detector=Ready(None, error)))


def test_run_when_given_up_then_the_session_is_closed(tmp_path: Path) -> None:
    recogniser = SpeaksThreeWords(slots=1)
    pipeline = Pipeline(
        TranscribeSettings(),
        FakeStages(Ready(recogniser)),  # type: ignore[arg-type]
        "cpu",
        SilentProgress(),
    )
    run = pipeline.run(_sources(tmp_path, "abc"))
    assert next(run).source.session_id == "a"
    run.close()
    assert recogniser.recordings == ["a"]
    assert recogniser.sessions[0].is_closed


class _NotesSamples:
    """A detector that can tell how many of the recordings it saw are still alive."""

    identity = IDENTITY

    def __init__(self) -> None:
        self.seen: list[weakref.ref[Samples]] = []
        self.most = 0

    def detect(self, samples: Samples) -> tuple[SampleSpan, ...]:
        self.seen.append(weakref.ref(samples))
        self.most = max(self.most, sum(one() is not None for one in self.seen))
        return (SampleSpan(0, len(samples)),)


def test_run_when_there_are_many_recordings_then_few_are_in_memory(tmp_path: Path) -> None:
    detector = _NotesSamples()
    stages = FakeStages(Ready(SpeaksThreeWords(slots=2)), detector=Ready(detector))
    done = _run_all(_sources(tmp_path, "abcdefghijkl"), stages)
    assert len(done) == len(detector.seen) == 12
    # Those that wait, those in the session, and the one that is being finished.
    assert detector.most <= PREPARED_AHEAD + 2 + 1


def test_timings_when_recordings_share_the_queue_then_recognition_is_the_share_of_each(
    tmp_path: Path,
) -> None:
    for one in _run_all(_sources(tmp_path, "ab"), FakeStages(Ready(SpeaksThreeWords(slots=2)))):
        assert isinstance(one.result, Transcript)
        assert {t.stage: t.wall_s for t in one.result.timings}["recognition"] == 1.5


def test_progress_when_recordings_end_then_said_once_of_each(tmp_path: Path) -> None:
    class Ends(SilentProgress):
        def __init__(self) -> None:
            self.ended: list[str] = []

        def end(self, recording: str) -> None:
            self.ended.append(recording)

    progress = Ends()
    stages = FakeStages(Ready(SpeaksThreeWords()))
    _run_all(_sources(tmp_path, "aB?c"), stages, progress=progress)
    assert sorted(progress.ended) == ["B", "a", "c", "missing"]


# --- channels -------------------------------------------------------------------------------


def _call(folder: Path, seconds: float = 6.0) -> InputFile:
    """Two people in turns, each in a channel of its own."""
    channels = with_bleed(
        *in_turns(babble(seconds, 1), babble(seconds, 2), seconds / 4), bleed_db=-200.0
    )
    path = folder / "call.wav"
    sf.write(path, channels, RATE_HZ)
    return InputFile(path, "call")


def test_channels_when_people_have_one_each_then_heard_apart_and_merged_by_time(
    tmp_path: Path,
) -> None:
    recogniser = SpeaksThreeWords(slots=2)
    transcript = _run(_call(tmp_path), FakeStages(Ready(recogniser)))
    assert sorted(recogniser.recordings) == ["call/channel 1", "call/channel 2"]
    assert transcript.facts.mix == "split"
    assert [(chunk.index, chunk.channel) for chunk in transcript.plan.chunks] == [(0, 1), (1, 2)]
    assert [made.chunk_index for made in transcript.chunks] == [0, 1]
    # The stand-ins hear the same voice and the same words in both.
    assert transcript.speakers == ("SPEAKER_00", "SPEAKER_01")
    assert [(one.span.start_s, one.speaker, one.chunk_index) for one in transcript.segments] == [
        (0.0, "SPEAKER_00", 0),
        (0.0, "SPEAKER_01", 1),
    ]
    assert len(transcript.words) == 6
    assert (transcript.speech_s, transcript.language) == (12.0, "en")
    assert transcript.notes[0].startswith("the channels hold different people")


def test_channels_when_to_be_mixed_then_one_recording(tmp_path: Path) -> None:
    recogniser = SpeaksThreeWords()
    settings = TranscribeSettings(channels=ChannelMode.MIX)
    transcript = _run(_call(tmp_path), FakeStages(Ready(recogniser)), settings)
    assert recogniser.recordings == ["call"]
    assert (transcript.facts.mix, transcript.speakers) == ("mean", ("SPEAKER_00",))


def test_channels_when_speakers_are_hinted_then_the_hint_is_for_all_channels(
    tmp_path: Path,
) -> None:
    diarizer = _NotesHints()
    stages = FakeStages(Ready(SpeaksThreeWords()), diarizer=Ready(diarizer))
    settings = TranscribeSettings(hints=SpeakerHints(exact=2))
    transcript = _run(_call(tmp_path), stages, settings)
    assert diarizer.heard == [SpeakerHints(maximum=2)] * 2
    assert len(transcript.speakers) == 2


def test_channels_when_one_of_them_fails_then_the_recording_fails_once(tmp_path: Path) -> None:
    def before(recording: str) -> None:
        if recording.endswith("channel 2"):
            raise ValueError("an odd voice")

    sources = [_call(tmp_path), _source(tmp_path, tone(1.0))]
    done = _run_all(sources, FakeStages(Ready(SpeaksThreeWords(before, slots=3))))
    assert {one.source.session_id: _failure(one) for one in done} == {
        "call": "an odd voice",
        "talk": "",
    }
    assert len(done) == 2


def test_channels_when_a_step_fails_as_a_whole_then_the_recording_fails_once(
    tmp_path: Path,
) -> None:
    def before(recording: str) -> None:
        raise FaultOfAll(ValueError("the device is lost"))

    done = _run_all([_call(tmp_path)], FakeStages(Ready(SpeaksThreeWords(before, slots=2))))
    assert [(one.source.session_id, _failure(one)) for one in done] == [
        ("call", "the device is lost")
    ]


# --- speakers alone -------------------------------------------------------------------------


def test_recording_when_no_words_are_wanted_then_turns_without_a_recogniser(
    tmp_path: Path,
) -> None:
    settings = TranscribeSettings(recognise=False)
    transcript = _run(_source(tmp_path, tone(3.0)), FakeStages(None), settings)
    assert (transcript.status, transcript.segments) == (Status.OK, ())
    assert [(turn.speaker, turn.span) for turn in transcript.turns] == [
        ("SPEAKER_00", TimeSpan(0.0, 3.0))
    ]
    assert [(made.model, made.requests) for made in transcript.chunks] == [(None, 0)]
    assert transcript.speakers_from is SpeakersFrom.DIARIZER
    assert transcript.run.models == (IDENTITY,) * 2  # detector, diarizer
    assert "recognition" not in {timing.stage for timing in transcript.timings}


def test_recording_when_a_voice_is_known_then_its_name_and_the_evidence(tmp_path: Path) -> None:
    vector = np.array([1, 0], np.float32)
    voice = KnownVoice("Jane Roe", (VoiceClip("jane.wav", "1" * 64, 9.0, vector),))
    known = KnownVoices(IDENTITY, (voice,))
    stages = FakeStages(Ready(SpeaksThreeWords()))
    pipeline = Pipeline(
        TranscribeSettings(),
        stages,  # type: ignore[arg-type]
        "cpu",
        SilentProgress(),
        known,
    )
    (done,) = pipeline.run([_source(tmp_path, tone(3.0))])
    assert isinstance(done.result, Transcript)
    assert {word.speaker for word in done.result.words} == {"Jane Roe"}
    assert done.result.speakers == ("Jane Roe",)
    assert done.result.enrolment is not None
    (match,) = done.result.enrolment.matches
    assert (match.label, match.name, match.similarity) == ("SPEAKER_00", "Jane Roe", 1.0)
