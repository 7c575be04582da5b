"""The recommendation by hand: fastest of those about as good as the best."""

from __future__ import annotations

from murmur_cli.sweeps.grid import PolicySetting
from murmur_cli.sweeps.recommendation import recommend
from murmur_cli.sweeps.summary import RecordingResult, SettingSummary, compared_with
from support.sweep_results import chunk_sweep, make_line, make_result, make_setting, make_summary


def test_medians_when_repeats_differ_then_of_each_recording_and_summed() -> None:
    """(1, 2, 9) s has the median 2, (4, 6) s has 5: 7 s; recognition is three quarters, 5.25 s."""
    first = RecordingResult("a", 10.0, tuple(map(make_line, (1.0, 9.0, 2.0))))
    second = RecordingResult("b", 20.0, tuple(map(make_line, (6.0, 4.0))))
    summary = SettingSummary(make_setting(30.0), (first, second))
    assert summary.wall_s == 7.0
    assert summary.stages_s == {"recognition": 5.25, "diarization": 1.75}
    assert summary.audio_s == 30.0
    assert summary.entries_read == 160
    assert summary.share_read == 0.8


def test_recommendation_when_a_shorter_chunk_is_nearly_as_good_then_it_is_taken() -> None:
    """The published figures: 24.92 in 100.8 s against 25.68 in 370.7 s, 27 % of the time."""
    result = chunk_sweep({60.0: (90.0, 300), 300.0: (100.8, 252), None: (370.7, 249)})
    assert result.recommendation is not None
    assert (
        result.recommendation.text
        == "--chunk 300: within 0.3 points of the best tcpWER at 27 % of the time of --chunk full"
    )


def test_recommendation_when_it_is_the_measure_then_it_is_not_compared_with_itself() -> None:
    scored = chunk_sweep({30.0: (200.0, 300), None: (100.0, 245)}).recommendation
    assert scored is not None
    assert scored.text == (
        "--chunk full: within 0.0 points of the best tcpWER, nothing as good is faster"
    )


def test_recommendation_when_only_the_longest_has_its_words_then_nothing_like_it_is_faster() -> (
    None
):
    summaries = [
        make_summary(make_setting(60.0), 20.0, None, differs=300),
        make_summary(make_setting(None), 100.0, None, differs=0),
    ]
    chosen = recommend(summaries, within=0.5, by_size=True)
    assert chosen is not None
    assert chosen.text == "--chunk full: nothing with nearly the same words is faster"


def test_recommendation_when_exactly_at_the_limit_then_it_counts() -> None:
    result = chunk_sweep({30.0: (10.0, 250), None: (100.0, 245)})
    assert result.recommendation is not None
    assert result.recommendation.summary.setting.size.label == "30"


def test_recommendation_when_times_are_alike_then_the_more_accurate() -> None:
    """104 s is within 5 % of 100 s; 106 s is not."""
    result = chunk_sweep({30.0: (100.0, 250), 60.0: (104.0, 248), 300.0: (106.0, 247)})
    assert result.recommendation is not None
    assert result.recommendation.summary.setting.size.label == "60"


def test_recommendation_when_a_setting_failed_then_it_is_not_taken() -> None:
    broken = make_summary(make_setting(30.0), 1.0, 0, failure="no memory")
    whole = make_summary(make_setting(None), 10.0, 250)
    chosen = make_result([broken, whole]).recommendation
    assert chosen is not None
    assert chosen.summary is whole
    assert make_result([broken]).recommendation is None


def test_recommendation_when_the_whole_failed_then_seconds_are_told() -> None:
    broken = make_summary(make_setting(None), 1.0, 0, failure="no memory")
    chosen = make_result([make_summary(make_setting(30.0), 12.0, 250), broken]).recommendation
    assert chosen is not None
    assert chosen.share is None
    assert chosen.text == "--chunk 30: within 0.0 points of the best tcpWER at 12.0 s"


def test_recommendation_when_there_are_no_references_then_agreement_with_the_longest() -> None:
    summaries = [
        make_summary(make_setting(60.0), 20.0, None, differs=30),
        make_summary(make_setting(300.0), 40.0, None, differs=4),
        make_summary(make_setting(None), 100.0, None, differs=0),
    ]
    chosen = recommend(summaries, within=0.5, by_size=True)
    assert chosen is not None
    assert (
        chosen.text == "--chunk 300: 0.4 % of the words differ from --chunk full, "
        "at 40 % of the time of --chunk full"
    )


def test_recommendation_when_policies_are_swept_then_full_attention_is_the_measure() -> None:
    speech = PolicySetting("speech", (("window", "300"),))
    summaries = [
        make_summary(make_setting(300.0), 100.0, 249),
        make_summary(make_setting(300.0, speech), 88.0, 253),
    ]
    chosen = make_result(summaries, by_size=False).recommendation
    assert chosen is not None
    assert (
        chosen.text
        == "--evict speech --evict-opt window=300: within 0.4 points of the best tcpWER "
        "at 88 % of the time of --evict none"
    )


def test_compared_with_when_by_size_then_the_longest_of_the_same_policy() -> None:
    speech = PolicySetting("speech")
    settings = [make_setting(None, speech), make_setting(300.0), make_setting(30.0)]
    assert compared_with(settings[2], settings, by_size=True) == settings[1]
    assert compared_with(settings[0], settings, by_size=True) == settings[0]
