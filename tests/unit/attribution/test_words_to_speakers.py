from dataclasses import replace

from murmur_cli.attribution.words_to_speakers import attribute
from murmur_cli.types import Flag, StitchDecision
from support.factories import make_chunk_transcript, make_segment, make_timeline, make_word


def _texts(segments):
    return [(segment.speaker, segment.text) for segment in segments]


def test_attribute_when_speaker_changes_inside_segment_then_splits_there():
    # Words of 1 s each; A talks until 2, B from 2.
    chunk = make_chunk_transcript([make_segment("one two three four", 0, 4)])
    segments = attribute([chunk], make_timeline((0, 2, "A"), (2, 4, "B")), 4.0)
    assert _texts(segments) == [("A", "one two"), ("B", "three four")]
    assert [(s.span.start_s, s.span.end_s) for s in segments] == [(0, 2), (2, 4)]
    assert all(word.speaker == s.speaker for s in segments for word in s.words)


def test_attribute_when_pause_is_long_then_splits():
    words = [make_word("one", 0, 1), make_word("two", 2.0, 2.5), make_word("three", 3.6, 4)]
    chunk = make_chunk_transcript([make_segment("", 0, 4, words=words)])
    assert _texts(attribute([chunk], None, 4.0)) == [(None, "one two"), (None, "three")]


def test_attribute_when_recogniser_ends_a_sentence_then_splits():
    chunk = make_chunk_transcript(
        [
            make_segment("Yes, he said", 0, 1),
            make_segment('it is "late."', 1, 2),
            make_segment("Mr. Smith", 2, 3),
        ]
    )
    assert _texts(attribute([chunk], None, 3.0)) == [
        (None, 'Yes, he said it is "late."'),
        (None, "Mr. Smith"),
    ]


def test_attribute_when_two_chunks_then_each_segment_has_one_chunk():
    chunks = [
        make_chunk_transcript([make_segment("three four", 2, 4, chunk_index=1)], 1),
        make_chunk_transcript([make_segment("one two", 0, 2)], 0),
    ]
    segments = attribute(chunks, make_timeline((0, 4, "A")), 4.0)
    assert [(s.chunk_index, s.text) for s in segments] == [(0, "one two"), (1, "three four")]


def test_attribute_when_no_timeline_then_same_words_without_speakers():
    chunk = make_chunk_transcript([make_segment("one two three four", 0, 4)])
    with_turns = attribute([chunk], make_timeline((0, 1.5, "A"), (1.5, 4, "B")), 4.0)
    without = attribute([chunk], None, 4.0)
    words = [[(w.text, w.span) for s in made for w in s.words] for made in (with_turns, without)]
    assert words[0] == words[1]
    assert {s.speaker for s in without} == {None}


def test_attribute_when_timeline_has_no_turns_then_speakers_are_unknown():
    chunk = make_chunk_transcript([make_segment("one two", 0, 2)])
    assert _texts(attribute([chunk], make_timeline(), 2.0)) == [(None, "one two")]


def test_attribute_when_no_words_then_empty():
    assert attribute([], None, 0.0) == ()
    assert attribute([make_chunk_transcript()], make_timeline((0, 1, "A")), 1.0) == ()


def test_attribute_when_time_is_out_of_range_then_flagged_beside_the_other_flags():
    chunk = make_chunk_transcript([make_segment("one two", 28, 32, flags=(Flag.LOW_CONFIDENCE,))])
    (segment,) = attribute([chunk], None, 30.0)
    assert segment.flags == (Flag.LOW_CONFIDENCE, Flag.TIME_OUT_OF_RANGE)
    assert segment.span.end_s == 30.0


def test_attribute_when_language_changes_then_splits():
    chunk = make_chunk_transcript(
        [make_segment("one two", 0, 2, language="en"), make_segment("drei", 2, 3, language="de")]
    )
    assert [s.language for s in attribute([chunk], None, 3.0)] == ["en", "de"]


def test_attribute_when_word_is_far_from_every_turn_then_kept_without_speaker():
    words = [make_word("one", 0, 1), make_word("two", 30, 31)]
    chunk = make_chunk_transcript([make_segment("", 0, 31, words=words)])
    segments = attribute([chunk], make_timeline((0, 1, "A")), 40.0)
    assert _texts(segments) == [("A", "one"), (None, "two")]


def _decided(timeline, *labels):
    """The timeline with a decision for each (chunk, local speaker, label)."""
    decisions = tuple(
        StitchDecision(chunk, local, label, 1.0, None, None, None, None)
        for chunk, local, label in labels
    )
    return replace(timeline, decisions=decisions)


def test_attribute_when_recogniser_names_speakers_then_they_keep_their_words_where_turns_overlap():
    chunk = make_chunk_transcript(
        [
            make_segment("one two three four", 0, 4, local_speaker=0),
            make_segment("five six", 1, 3, local_speaker=1),
        ]
    )
    timeline = _decided(make_timeline((0, 4, "A"), (1, 3, "B")), (0, 0, "A"), (0, 1, "B"))
    segments = attribute([chunk], timeline, 4.0)
    words = {(word.text, word.speaker) for segment in segments for word in segment.words}
    assert words == {
        *((text, "A") for text in ("one", "two", "three", "four")),
        *((text, "B") for text in ("five", "six")),
    }


def test_attribute_when_local_numbers_recur_in_another_chunk_then_by_the_decision_of_each():
    chunks = [
        make_chunk_transcript([make_segment("one", 0, 1, local_speaker=0)], 0),
        make_chunk_transcript([make_segment("two", 2, 3, local_speaker=0, chunk_index=1)], 1),
    ]
    timeline = _decided(make_timeline((0, 1, "A"), (2, 3, "B")), (0, 0, "A"), (1, 0, "B"))
    assert _texts(attribute(chunks, timeline, 3.0)) == [("A", "one"), ("B", "two")]


def test_attribute_when_some_words_are_named_then_the_others_go_by_time():
    chunk = make_chunk_transcript(
        [
            make_segment("one", 0, 1, local_speaker=3),
            make_segment("two", 1, 2),
            make_segment("three", 2, 3, local_speaker=9),  # nobody decided on it
        ]
    )
    timeline = _decided(make_timeline((0, 1, "A"), (1, 3, "B")), (0, 3, "A"))
    assert _texts(attribute([chunk], timeline, 3.0)) == [("A", "one"), ("B", "two three")]
