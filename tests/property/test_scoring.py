"""Scoring on random talk: bounds, other ways to the same number, and what files give back."""

from __future__ import annotations

import json
from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.errors import RecordingError
from murmur_cli.scoring.alignment import aligned_lines
from murmur_cli.scoring.counts import WordCounts
from murmur_cli.scoring.edit_distance import counts_of, edits, timed_edits
from murmur_cli.scoring.formats import ctm, rttm, seglst, stm, transcript_json
from murmur_cli.scoring.formats.registry import FORMATS, Read
from murmur_cli.scoring.meeteval_log import quiet_meeteval
from murmur_cli.scoring.normalizers.registry import make_normalizer
from murmur_cli.scoring.pairing import Pair, Standing
from murmur_cli.scoring.segment_assignment import di_cp_score, greedy_counts, orc_score
from murmur_cli.scoring.session_score import Expected, SessionScore, score_session
from murmur_cli.scoring.settings import ScoreSettings
from murmur_cli.scoring.speaker_pairing import best_pairing, cp_score, tcp_score
from murmur_cli.scoring.streams import Stream, by_speaker
from murmur_cli.scoring.streams import seglst as as_seglst
from murmur_cli.writers.registry import WRITERS
from support.factories import make_segment, make_transcript, make_turn
from support.spoken import material, stream

PROFILE = settings(deadline=None, max_examples=50, print_blob=True)

# Few words, so that matches happen; no two utterances of a speaker at one time.
_texts = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(" ".join)


@st.composite
def talks(draw: st.DrawFn, most_speakers: int = 4) -> Stream:
    """Utterances one after the other, by some speakers."""
    said = draw(st.lists(st.tuples(st.integers(0, most_speakers - 1), _texts), max_size=6))
    return stream(
        *((f"s{who}", 3.0 * at, 3.0 * at + 2, text) for at, (who, text) in enumerate(said))
    )


@PROFILE
@given(talks(), talks())
def test_own_pairing_when_every_order_is_tried_then_none_is_better(
    reference: Stream, found: Stream
) -> None:
    references, hypotheses = by_speaker(reference), by_speaker(found)
    size = max(len(references), len(hypotheses))
    rows = [*references.values(), *[()] * (size - len(references))]
    columns = [*hypotheses.values(), *[()] * (size - len(hypotheses))]
    best = min(
        sum(edits(row, column).errors for row, column in zip(rows, order, strict=True))
        for order in permutations(columns)
    )
    pairs = best_pairing(references, hypotheses, edits) if size else []
    errors = sum(
        edits(references.get(one or "", ()), hypotheses.get(other or "", ())).errors
        for one, other in pairs
    )
    assert errors == best == cp_score(reference, found).counts.errors


@PROFILE
@given(talks(), talks(), st.sampled_from([0.0, 2.0, 5.0]))
def test_own_timed_pairing_when_meeteval_can_do_it_then_the_same_errors(
    reference: Stream, found: Stream, collar_s: float
) -> None:
    references, hypotheses = by_speaker(reference), by_speaker(found)
    with quiet_meeteval():
        theirs = tcp_score(reference, found, collar_s).counts
        if not references or not hypotheses:
            return
        pairs = best_pairing(references, hypotheses, lambda a, b: timed_edits(a, b, collar_s))
        ours = sum(
            (
                timed_edits(
                    references.get(one or "", ()), hypotheses.get(other or "", ()), collar_s
                )
                for one, other in pairs
            ),
            WordCounts(),
        )
    assert (ours.errors, ours.length) == (theirs.errors, theirs.length)


@PROFILE
@given(talks(), talks())
def test_metrics_when_compared_then_their_order_is_that_of_their_freedom(
    reference: Stream, found: Stream
) -> None:
    with quiet_meeteval():
        cp = cp_score(reference, found).counts
        assert orc_score(reference, found).counts.errors <= cp.errors
        assert di_cp_score(reference, found).counts.errors <= cp.errors
        assert cp.errors <= tcp_score(reference, found, 5.0).counts.errors
    assert cp.length == sum(len(one.words) for one in reference)


@PROFILE
@given(talks(), talks())
def test_greedy_search_when_meeteval_has_no_limit_in_the_way_then_the_same_errors(
    reference: Stream, found: Stream
) -> None:
    from meeteval.wer.wer.orc import greedy_orc_word_error_rate

    if not reference or not found:
        return
    theirs = counts_of(greedy_orc_word_error_rate(as_seglst(reference), as_seglst(found)))
    ours = greedy_counts(reference, found)
    assert (ours.errors, ours.length) == (theirs.errors, theirs.length)


def _score(reference: Stream, found: Stream) -> SessionScore:
    sides = [
        material("s", [(one.speaker, *_times(one), " ".join(one.words)) for one in side])
        for side in (reference, found)
    ]
    return score_session(
        Pair(sides[0], sides[1], Standing.SCORED),
        make_normalizer("none"),
        ScoreSettings(),
        Expected(words=True, turns=False),
    )


def _times(one: object) -> tuple[float, float]:
    span = one.span  # type: ignore[attr-defined]
    return span.start_s, span.end_s


@PROFILE
@given(talks(), talks())
def test_aligned_view_when_its_errors_are_counted_then_they_are_tcpwers(
    reference: Stream, found: Stream
) -> None:
    with quiet_meeteval():
        session = _score(reference, found)
        words = [word for line in aligned_lines(session, 5.0) for word in line.words]
    counts = session.words["tcpwer"].counts
    assert sum(not word.is_right for word in words) == counts.errors
    assert sum(word.reference is None for word in words) == counts.insertions
    assert sum(word.hypothesis is None for word in words) == counts.deletions
    said = sorted(word.reference for word in words if word.reference is not None)
    assert said == sorted(word for one in reference for word in one.words)


@PROFILE
@given(talks(), talks())
def test_pairs_of_speakers_when_added_up_then_they_are_the_metric(
    reference: Stream, found: Stream
) -> None:
    with quiet_meeteval():
        session = _score(reference, found)
    for name in ("cpwer", "tcpwer"):
        score = session.words[name]
        assert sum((pair.counts for pair in score.speakers), WordCounts()) == score.counts


_KEYS = [
    "schema_version",
    "session_id",
    "segments",
    "turns",
    "text",
    "words",
    "speaker",
    "start_s",
    "end_s",
]
_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*_KEYS, "start_time", "end_time"]), inner, max_size=6)
    ),
    max_leaves=12,
)
_TOKENS = [
    "SPEAKER",
    "s",
    "1",
    "0.5",
    "-1",
    "nan",
    "1e308",
    "<NA>",
    ";",
    "WEBVTT",
    "-->",
    "00:00:01,000",
    "<v",
    ">",
]
_lines = st.lists(
    st.sampled_from([*_TOKENS, "00:00:01.0 --> 00:00:02.0", "\n", "\n\n", "\u2028"])
    | st.text(max_size=3),
    max_size=30,
).map(" ".join)


def _refusal(read: Read, text: str) -> str | None:
    try:
        content = read(text, "stem")
    except RecordingError as error:
        return str(error)
    assert content.utterances is not None or content.turns is not None
    return None


@PROFILE
@given(_lines | _json.map(json.dumps))
def test_readers_when_text_is_anything_then_content_or_one_plain_refusal(text: str) -> None:
    for one in FORMATS:
        reason = _refusal(one.read, text)
        assert reason is None or reason.strip()


_names = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8
).filter(lambda name: bool(name.strip()))


@PROFILE
@given(_names, _names, st.integers(0, 10**7), st.integers(1, 10**5))
def test_files_when_written_by_murmur_then_scoring_reads_the_same(
    session_id: str, speaker: str, start_ms: int, length_ms: int
) -> None:
    start_s, end_s = start_ms / 1000, (start_ms + length_ms) / 1000
    transcript = make_transcript(
        [make_segment("so it is", start_s, end_s, speaker=speaker)],
        turns=(make_turn(start_s, end_s, speaker),),
        session_id=session_id,
        duration_s=end_s,
    )

    def written(name: str) -> str:
        return WRITERS[name].render(transcript)

    texts = {
        "stm": stm.read(written("stm"), "x"),
        "seglst": seglst.read(written("seglst"), "x"),
        "json": transcript_json.read(written("json"), "x"),
    }
    for name, content in texts.items():
        (one,) = (content.utterances or {})[session_id]
        assert (name, one.text, one.speaker) == (name, "so it is", speaker)
        assert (round(one.span.start_s * 1000), round(one.span.end_s * 1000)) == (
            start_ms,
            start_ms + length_ms,
        )
    words = (ctm.read(written("ctm"), "x").utterances or {})[session_id]
    assert [word.text for word in words] == ["so", "it", "is"]
    for content in (rttm.read(written("rttm"), "x"), texts["json"]):
        (turn,) = (content.turns or {})[session_id]
        assert turn.speaker == speaker
        assert round(turn.span.end_s * 1000) == start_ms + length_ms
