from murmur_cli.writers import text
from support.factories import make_segment, make_transcript


def test_render_when_speaker_stays_then_one_paragraph():
    transcript = make_transcript(
        [
            make_segment("Good morning.", 12.9, 14, "SPEAKER_00"),
            make_segment("How are you?", 14.5, 16, "SPEAKER_00"),
            make_segment("Fine.", 16, 17, "SPEAKER_01"),
            make_segment("Static", 18, 19),
        ]
    )
    assert text.render(transcript) == (
        "[00:00:12] SPEAKER_00: Good morning. How are you?\n"
        "\n"
        "[00:00:16] SPEAKER_01: Fine.\n"
        "\n"
        "[00:00:18] Static\n"
    )


def test_render_when_pause_is_long_or_paragraph_has_grown_then_new_paragraph():
    transcript = make_transcript(
        [
            make_segment("a", 0, 1, "A"),
            make_segment("b", 6.1, 7, "A"),
            make_segment("c", 8, 70, "A"),
            make_segment("d", 70, 71, "A"),
        ],
        duration_s=80,
    )
    assert [line for line in text.render(transcript).splitlines() if line] == [
        "[00:00:00] A: a",
        "[00:00:06] A: b c",
        "[00:01:10] A: d",
    ]


def test_render_when_no_words_then_empty():
    assert text.render(make_transcript()) == ""
