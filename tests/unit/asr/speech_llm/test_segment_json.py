"""Outputs as models write them, whole and damaged; every expectation is written by hand."""

from __future__ import annotations

import pytest

from murmur_cli.asr.speech_llm.family import SpokenOutput, SpokenSegment
from murmur_cli.asr.speech_llm.segment_json import read_segments

FIRST = '{"Start":0.0,"End":7.56,"Speaker":0,"Content":"Good morning."}'
SECOND = '{"Start":7.9,"End":9.0,"Speaker":1,"Content":"Hi."}'
GOOD_MORNING = SpokenSegment("Good morning.", 0.0, 7.56, 0)
HI = SpokenSegment("Hi.", 7.9, 9.0, 1)


def read(text: str) -> SpokenOutput:
    return read_segments(text, is_cut=False)


def the_segment(text: str) -> SpokenSegment:
    """The only segment of an output that is whole."""
    output = read(text)
    assert output.is_whole, output
    (segment,) = output.segments
    return segment


def with_content(raw: str) -> str:
    return f'[{{"Start":1,"End":2,"Speaker":0,"Content":{raw}}}]'


# --- whole outputs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"[{FIRST},{SECOND}]",
        f"assistant\n[{FIRST},{SECOND}]\n",
        f"assistant[{FIRST},{SECOND}]",
        f"```json\n[{FIRST},\n {SECOND}]\n```",
        f"assistant\n```json\n[{FIRST},{SECOND}]\n```\n",
        f"{FIRST}\n{SECOND}\n",
        f"[{FIRST}]\n[{SECOND}]",
        f"[{FIRST}]\nassistant\n[{SECOND}]",
        f"[[{FIRST}],[{SECOND}]]",
        f"[[{FIRST},{SECOND}]",
        f"[{FIRST}{SECOND}]",
        f"[{FIRST},,{SECOND},]",
        f"[{FIRST}}},{{{SECOND}}}]]",
        f"[{FIRST}],{SECOND}]",
    ],
)
def test_list_when_around_it_only_marks_are_odd_then_all_is_read(text: str) -> None:
    assert read(text) == SpokenOutput((GOOD_MORNING, HI))


@pytest.mark.parametrize(
    "text",
    [
        '[{"Start":7.9 "End":9.0 "Speaker":1 "Content":"Hi."}]',
        '[{"Start":7.9,"End":9.0,"Speaker":1,"Content":"Hi.",}]',
        '[{"Content":"Hi.","Speaker":1,"End":9.0,"Start":7.9}]',
        '[{"Content":"Hi." "Speaker":1 "End":9.0 "Start":7.9}]',
        "[{'Start': 7.9, 'End': 9.0, 'Speaker': 1, 'Content': 'Hi.'}]",
        "[{“Start”:7.9,“End”:9.0,“Speaker”:1,“Content”:“Hi.”}]",
        '[{Start: 7.9, End: 9.0, Speaker: 1, Content: "Hi."}]',
        '[{"start time":7.9,"end time":9.0,"speaker_id":1,"text":"Hi."}]',
        '[{"Start time":"7.9","End time":"9.0","Speaker ID":"1","content":"Hi."}]',
        '[{"START_TIME":7.9,"endTime":9,"Speaker":"Speaker 1","Transcript":"Hi."}]',
        '[{\n\t"Start" : 7.9 ,\n\t"End" : 9.0 ,\n\t"Speaker" : 1 ,\n\t"Content" : "Hi."\n}\n]',
        '[{"Start":7.9,"End":9.0,"Speaker":1,"Content":"Hi."]',
        '["Start":7.9,"End":9.0,"Speaker":1,"Content":"Hi."}]',
    ],
)
def test_segment_when_written_otherwise_then_read_the_same(text: str) -> None:
    assert the_segment(text) == HI


@pytest.mark.parametrize("join", ["", ",", '"', '"}', '",', '"},', '"}, {', '\\"},{', "},{", " {"])
def test_segments_when_marks_between_them_are_missing_then_both_are_read(join: str) -> None:
    start = FIRST.removesuffix('"}')
    output = read(f"[{start}{join}{SECOND.removeprefix('{')}]")
    assert output == SpokenOutput((GOOD_MORNING, HI))


@pytest.mark.parametrize("text", ["", "  \n", "assistant\n", "[]", "assistant\n[]\n", "[[]]"])
def test_output_when_nothing_was_said_then_whole_without_segments(text: str) -> None:
    assert read(text) == SpokenOutput(())


# --- texts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (r'"a \"b\" c"', 'a "b" c'),
        ('"a "b" c"', 'a "b" c'),
        ('""Go," he said"', '"Go," he said'),
        ('"he said "go""', 'he said "go"'),
        (
            '"he said "go", and "no", [left], {so}, so: yes"',
            'he said "go", and "no", [left], {so}, so: yes',
        ),
        ('"raw\nnew\tline"', "raw\nnew\tline"),
        (r'"a\nb\tc\\d\/e"', "a\nb\tc\\d/e"),
        (r'"\u00e9 \ud83d\ude00 \\u0041"', "é 😀 \\u0041"),
        (r'"\ud83d alone"', "\N{REPLACEMENT CHARACTER} alone"),
        (r'"C:\dir \u12 \x"', r"C:\dir \u12 \x"),
        ("'it's fine'", "it's fine"),
        ("“so “he” said”", "so “he” said"),
        (r'"{\"Start\":1,\"Content\":\"x\"}, {"', '{"Start":1,"Content":"x"}, {'),
        ('"start: now, end: then"', "start: now, end: then"),
        ('""', ""),
        ("null", ""),
        ("42", "42"),
        ('Hi there"', "Hi there"),
        ('"你好，“世界”。"', "你好，“世界”。"),
        ('"a] b[ c} d{ e"', "a] b[ c} d{ e"),
    ],
)
def test_content_when_read_then_its_text(raw: str, text: str) -> None:
    assert the_segment(with_content(raw)) == SpokenSegment(text, 1.0, 2.0, 0)


@pytest.mark.parametrize(
    "tag",
    ["[Silence]", "[Noise]", "[Unintelligible Speech]", " [Music]. ", "[Music] [Noise]", "[音乐]"],
)
def test_content_when_nothing_but_a_tag_then_an_event(tag: str) -> None:
    expected = SpokenSegment(tag, 1.0, 2.0, 0, is_event=True)
    assert the_segment(with_content(f'"{tag}"')) == expected


@pytest.mark.parametrize("text", ["so [Laughter] yes", "[Music] hello", "[]", "(Silence)", "[a"])
def test_content_when_a_tag_is_beside_words_then_speech(text: str) -> None:
    assert not the_segment(with_content(f'"{text}"')).is_event


def test_event_when_it_names_no_speaker_then_none() -> None:
    text = (
        '[{"Start":0,"End":1,"Content":"[Silence]"},'
        '{"Start":1,"End":2,"Speaker":"N/A","Content":"[Environmental Sounds]"}]'
    )
    assert read(text) == SpokenOutput(
        (
            SpokenSegment("[Silence]", 0.0, 1.0, None, is_event=True),
            SpokenSegment("[Environmental Sounds]", 1.0, 2.0, None, is_event=True),
        )
    )


# --- times and speakers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "time_s"),
    [
        ("12.5", 12.5),
        ("12", 12.0),
        ('"12.5"', 12.5),
        ('"12,5"', 12.5),
        ("12,5", 12.5),
        ('"12.5s"', 12.5),
        ("1.25e1", 12.5),
        ('"0:01:02.5"', 62.5),
        ('"00:01:02,5"', 62.5),
        ("01:02.5", 62.5),
        ('"1:00:00"', 3600.0),
        ("86400", 86400.0),
        ("86400.5", None),
        ("1e999", None),
        ("NaN", None),
        ('"nan"', None),
        ("-Infinity", None),
        ("-1.0", None),
        ("null", None),
        ("None", None),
        ('""', None),
        ('"N/A"', None),
    ],
)
def test_time_when_read_then_seconds_or_none(raw: str, time_s: float | None) -> None:
    segment = the_segment(f'[{{"Start":{raw},"End":{raw},"Speaker":3,"Content":"x"}}]')
    assert segment == SpokenSegment("x", time_s, time_s, 3)


@pytest.mark.parametrize(
    ("raw", "speaker"),
    [
        ("0", 0),
        ("12", 12),
        ("1.0", 1),
        ('"1"', 1),
        ('"Speaker 1"', 1),
        ('"SPEAKER_01"', 1),
        ('"spk2"', 2),
        ("null", None),
        ('"N/A"', None),
        ("-1", None),
    ],
)
def test_speaker_when_read_then_number_or_none(raw: str, speaker: int | None) -> None:
    segment = the_segment(f'[{{"Start":1,"End":2,"Speaker":{raw},"Content":"x"}}]')
    assert segment == SpokenSegment("x", 1.0, 2.0, speaker)


def test_keys_when_missing_then_none() -> None:
    assert the_segment('[{"Content":"x"}]') == SpokenSegment("x")


@pytest.mark.parametrize(
    ("frame", "unreadable"),
    [
        ('"Start":soon', "soon"),
        ('"Start":"1:2:3:4"', "1:2:3:4"),
        ('"Start":' + "9" * 41, "9" * 41),
        ('"Speaker":"Anna"', "Anna"),
        ('"Mood":"glad"', '"Mood":"glad"'),
        ('"Speaker":0 what', "0 what"),
        ('"Speaker":"0" what', '0" what'),
    ],
)
def test_frame_when_not_understood_then_text_is_kept_and_the_rest_recorded(
    frame: str, unreadable: str
) -> None:
    output = read(f'[{{{frame},"Content":"x"}}]')
    assert output == SpokenOutput((SpokenSegment("x"),), is_whole=False, unreadable=unreadable)


# --- damage -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rest",
    [
        '{"Sta',
        '{"Start":9',
        '{"Start":9.1,"End":12.',
        '{"Start":9.1,"End":12.0,"Speaker":1,"Content":"and th',
        '{"Start":9.1,"End":12.0,"Speaker":1,"Content":"and th\\',
        '{"Start":9.1,"End":12.0,"Speaker":1,"Content":"and \\u00',
        '{"Start":9.1,"End":12.0,"Speaker":1,"Content":"and th"',
        '{"Content":"and th","Start":9.1,"En',
    ],
)
@pytest.mark.parametrize("is_cut", [False, True])
def test_list_when_cut_in_a_segment_then_that_is_unreadable(rest: str, is_cut: bool) -> None:
    output = read_segments(f"assistant\n[{FIRST},{SECOND},{rest}", is_cut=is_cut)
    assert output == SpokenOutput((GOOD_MORNING, HI), is_whole=False, unreadable=rest)


@pytest.mark.parametrize("end", ["", ",", ",{", ',{"'])
def test_list_when_cut_between_segments_then_not_whole(end: str) -> None:
    assert read(f"[{FIRST}{end}") == SpokenOutput((GOOD_MORNING,), is_whole=False)


def test_list_when_closed_but_output_did_not_end_then_not_whole() -> None:
    assert read_segments(f"[{FIRST}]", is_cut=True) == SpokenOutput((GOOD_MORNING,), is_whole=False)


@pytest.mark.parametrize(
    ("text", "unreadable"),
    [
        (f"Here it is: [{FIRST},{SECOND}]", "Here it is: ["),
        (f"[{FIRST}, um, {SECOND}]", "um"),
        (f"[{FIRST},{SECOND}] The end.", "] The end."),
        (
            f'[{FIRST},{{"Start":1,"End":2,"Speaker":0}},{SECOND}]',
            '{"Start":1,"End":2,"Speaker":0}',
        ),
        (f'[{FIRST},{{"Start":1,"End":2,{SECOND}]', '{"Start":1,"End":2,'),
        (f'{{"segments":[{FIRST},{SECOND}]}}', '{"segments":'),
    ],
)
def test_text_when_in_no_segment_then_recorded(text: str, unreadable: str) -> None:
    output = read(text)
    assert output.segments == (GOOD_MORNING, HI)
    assert not output.is_whole
    assert output.unreadable == unreadable.rstrip(",")


def test_content_when_a_list_of_texts_then_nothing_is_lost() -> None:
    output = read('[{"Start":1,"Content":["a","b"]}]')
    assert output == SpokenOutput(
        (), is_whole=False, unreadable='{"Start":1,"Content":\n["a","b"]}]'
    )


def test_loop_when_cut_then_segments_before_it_are_kept() -> None:
    loop = '{"Start":7.56,"End":300,"Speaker":0,"Content":"no, ' + "no, " * 2000
    output = read_segments(f"[{FIRST},{loop}", is_cut=True)
    assert output.segments == (GOOD_MORNING,)
    assert output.unreadable == loop.rstrip(" ,")


# --- no list ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Good morning.\n", "Good morning."),
        ("assistant\nGood morning.", "Good morning."),
        ("assistant professor", "assistant professor"),
        ("```\nGood morning.\n```", "Good morning."),
        ("[Music] he said {so}: 1", "[Music] he said {so}: 1"),
    ],
)
def test_output_when_plain_text_then_one_segment(text: str, plain: str) -> None:
    assert read(text) == SpokenOutput((SpokenSegment(plain),))


def test_output_when_only_a_tag_then_an_event() -> None:
    assert the_segment("[Silence]") == SpokenSegment("[Silence]", is_event=True)


def test_output_when_plain_text_is_cut_then_unreadable() -> None:
    output = read_segments("assistant\nGood mor", is_cut=True)
    assert output == SpokenOutput((), is_whole=False, unreadable="Good mor")


@pytest.mark.parametrize("text", ['[{"Sta', '{"', "[{", '[{"a b c'])
def test_output_when_cut_in_its_first_key_then_no_plain_text(text: str) -> None:
    output = read(text)
    assert (output.segments, output.is_whole) == ((), False)


@pytest.mark.parametrize(
    "piece", ['{"', '{"Start":', '{"Content":"', '"]', '" ,', "\\", '{"Content":"a" ', "[[", "{ "]
)
def test_garbage_when_long_then_read_and_not_whole(piece: str) -> None:
    output = read_segments("[" + piece * 5_000, is_cut=True)
    assert not output.is_whole
