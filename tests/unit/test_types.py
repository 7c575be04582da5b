import pytest

from murmur_cli.types import (
    Chunk,
    KvUsage,
    SampleSpan,
    Segment,
    TimeSpan,
    Window,
    Word,
    join_words,
)
from support.factories import make_segment, make_transcript, make_word


def test_sample_span_when_asked_then_length_and_seconds() -> None:
    span = SampleSpan(16_000, 40_000)
    assert span.length == 24_000
    assert span.time == TimeSpan(1.0, 2.5)


@pytest.mark.parametrize(("start", "end"), [(5, 5), (6, 5), (-1, 5)])
def test_sample_span_when_empty_or_negative_then_refused(start: int, end: int) -> None:
    with pytest.raises(AssertionError):
        SampleSpan(start, end)


def test_time_span_when_it_has_no_length_then_allowed_but_not_backwards() -> None:
    assert TimeSpan(2.0, 2.0).duration_s == 0.0
    with pytest.raises(AssertionError):
        TimeSpan(2.0, 1.0)


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ((0.0004, 0.0016), (0.0, 0.002)),
        ((1.0005, 2.4995), (1.001, 2.5)),
        ((1.0001, 1.0002), (1.0, 1.001)),
        ((-0.2, 0.1), (0.0, 0.1)),
    ],
)
def test_time_span_when_in_whole_ms_then_rounded_once_and_never_empty(
    span: tuple[float, float], expected: tuple[float, float]
) -> None:
    rounded = TimeSpan(*span).in_whole_ms
    assert rounded == TimeSpan(*expected)
    assert rounded.in_whole_ms == rounded


@pytest.mark.parametrize(
    ("left", "right", "overlap_s", "gap_s"),
    [
        ((0, 4), (3, 6), 1.0, 0.0),
        ((0, 4), (1, 2), 1.0, 0.0),
        ((0, 4), (4, 6), 0.0, 0.0),
        ((0, 4), (5.5, 6), 0.0, 1.5),
    ],
)
def test_time_spans_when_compared_then_overlap_and_gap_whichever_is_first(
    left: tuple[float, float], right: tuple[float, float], overlap_s: float, gap_s: float
) -> None:
    first, second = TimeSpan(*left), TimeSpan(*right)
    for one, other in ((first, second), (second, first)):
        assert one.overlap_s(other) == overlap_s
        assert one.gap_s(other) == gap_s


def test_time_span_when_asked_for_its_middle_then_half_way() -> None:
    assert TimeSpan(1.0, 4.0).middle_s == 2.5


def test_join_when_script_sets_no_space_then_none_and_never_at_the_start() -> None:
    def word(text: str, *, space: bool) -> Word:
        return make_word(text, 0, 1, space_before=space)

    assert join_words([word("a", space=True), word("b", space=True)]) == "a b"
    assert join_words((word("今", space=False), word("天", space=False))) == "今天"
    assert join_words([word("well", space=True), word("-known", space=False)]) == "well-known"
    assert join_words([]) == ""


def test_segment_when_asked_for_its_text_then_its_words_are_joined() -> None:
    words = (make_word("So,", 0, 1), make_word("yes.", 1, 2))
    assert Segment(TimeSpan(0, 2), words, 0).text == "So, yes."


def test_chunk_when_asked_for_speech_then_that_of_all_windows_in_order() -> None:
    spans = [SampleSpan(start, start + 5) for start in (0, 10, 20)]
    windows = (
        Window(SampleSpan(0, 15), (spans[0], spans[1]), (SampleSpan(0, 15),)),
        Window(spans[2], (spans[2],), (spans[2],)),
    )
    assert Chunk(0, SampleSpan(0, 25), windows).speech == tuple(spans)


def test_kv_usage_when_added_then_each_field_is_summed() -> None:
    assert KvUsage(1, 2, 3, 4, 5, 6) + KvUsage(10, 20, 30, 40, 50, 60) == KvUsage(
        11, 22, 33, 44, 55, 66
    )
    assert sum([KvUsage(1), KvUsage(2)], KvUsage()) == KvUsage(3)


def test_transcript_when_asked_for_words_then_those_of_the_segments_in_order() -> None:
    transcript = make_transcript(
        [make_segment("one two", 0, 2, "SPEAKER_00"), make_segment("three", 1, 2, "SPEAKER_01")]
    )
    assert [word.text for word in transcript.words] == ["one", "two", "three"]
