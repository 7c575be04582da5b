from murmur_cli.writers import srt, vtt
from support.factories import make_segment, make_transcript

_TALK = make_transcript(
    [
        make_segment("Tom & Ann <3 -->", 0.9995, 3, "SPEAKER_00"),
        make_segment("Yes.", 360_000.5, 360_002, "SPEAKER_01"),
    ],
    duration_s=360_010,
)


def test_srt_when_rendered_then_numbered_with_commas_and_final_newline():
    assert srt.render(_TALK) == (
        "1\n00:00:01,000 --> 00:00:03,000\nSPEAKER_00: Tom & Ann <3 -->\n\n"
        "2\n100:00:00,500 --> 100:00:02,000\nSPEAKER_01: Yes.\n\n"
    )


def test_vtt_when_rendered_then_header_dots_and_escapes():
    assert vtt.render(_TALK) == (
        "WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nSPEAKER_00: Tom &amp; Ann &lt;3 --&gt;\n\n"
        "100:00:00.500 --> 100:00:02.000\nSPEAKER_01: Yes.\n\n"
    )


def test_subtitles_when_no_words_then_valid_and_empty():
    assert srt.render(make_transcript()) == ""
    assert vtt.render(make_transcript()) == "WEBVTT\n\n"
