"""Windows whose decoder runs away, and speakers who really repeat themselves, through the engine.

Each speaker's words are known (`SpokenScript`), so that what a cut costs can be counted.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from murmur_cli.asr.whisper.request_shape import WHISPER_GUARD
from murmur_cli.asr.whisper.timestamp_rules import TimestampRules
from murmur_cli.asr.whisper.window_task import MAX_REQUESTS, MAX_RETRIES, WindowTask
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.policies.base import EvictionPolicy
from murmur_cli.engine.policies.keep_all import KeepAll
from murmur_cli.types import Flag, SampleSpan, Window
from support.spoken_script import Runaway, Said, SpokenScript, silent_samples, speech, word_tokens

NONE = EvictionPolicy("none", KeepAll(), KeepAll())
STORY = [f"w{number}" for number in range(60)]


def transcribe(
    said: list[Said],
    *spans: tuple[float, float],
    runaway: Runaway | None = None,
    extra: tuple[str, ...] = (),
) -> tuple[WindowTask, SpokenScript]:
    """The task of one window that hears these spans of speech (all of it, if none is given)."""
    tokens = word_tokens([*(word.text for word in said), *extra])
    parts = spans or ((said[0].start_s, said[-1].end_s),)
    pieces = tuple(SampleSpan(round(a * 16_000), round(b * 16_000)) for a, b in parts)
    window = Window(SampleSpan(pieces[0].start, pieces[-1].end), pieces, pieces)
    prompt = tokens.prompt("en", "transcribe")
    samples = silent_samples(parts[-1][1])
    task = WindowTask("w", 0, samples, window, "en", prompt, text_language="en")
    script = SpokenScript(tokens, said, runaway)
    engine = DecodeEngine(script, NONE, TimestampRules(tokens), 2, WHISPER_GUARD)
    engine.submit([task.first_request()])
    while engine.busy:
        for finished in engine.step():
            follow_up = task.take(finished, tokens)
            if follow_up is not None:
                engine.submit([follow_up])
    engine.close()
    return task, script


def texts(task: WindowTask) -> list[str]:
    return [word.text for stretch in task.heard for word in stretch.words]


COUNTED = tuple(f"n{number}" for number in range(400))
SENTENCE = ("this", "is", "the", "same", "old", "line", "again", "number")
RUNAWAYS: dict[str, tuple[Callable[[int], list[str]], bool]] = {
    "single token": (lambda n: ["oh"], False),
    "phrase": (lambda n: ["oh", "yes", "it", "is"], False),
    "sentence": (lambda n: list(SENTENCE), False),
    "sentence with times": (lambda n: list(SENTENCE), True),
    "alternating": (
        lambda n: ["oh", "yes", "it", "is"] if n % 2 else ["so", "we", "said", "once", "more"],
        False,
    ),
    "growing": (lambda n: list(COUNTED[: n + 1]), False),
    "counter": (lambda n: [*SENTENCE, COUNTED[n]], False),
    "counter with times": (lambda n: [*SENTENCE, COUNTED[n]], True),
    "one word changes": (lambda n: [*SENTENCE[: n % 8], COUNTED[n], *SENTENCE[n % 8 + 1 :]], False),
}
EXTRA = ("oh", "yes", "it", "is", "so", "we", "said", "once", "more", *SENTENCE, *COUNTED)


@pytest.mark.parametrize("kind", RUNAWAYS)
def test_runaway_when_fresh_context_heals_then_it_costs_no_more_than_its_own_seconds(
    kind: str,
) -> None:
    occurrence, is_timed = RUNAWAYS[kind]
    said = speech(STORY, 1.0, 0.4)
    runaway = Runaway(9.0, occurrence, is_timed=is_timed)
    task, _ = transcribe(said, runaway=runaway, extra=EXTRA)
    heard = texts(task)
    # Word 20 begins at 9 s: all before it, and all that begin more than a second later.
    assert heard[:20] == STORY[:20]
    assert heard[-(60 - 23) :] == STORY[23:]
    # At most what was said in the first two occurrences is invented.
    invented = [word for word in heard if word not in STORY]
    assert len(invented) <= 2 * len(SENTENCE) + 2
    assert task.loops == 1
    assert Flag.LOOP in task.flags
    assert task.requests == 2
    assert task.tokens <= 20 + 230 + 60


@pytest.mark.parametrize("kind", RUNAWAYS)
def test_runaway_when_nothing_heals_it_then_bounded_on_record_and_the_next_speech_is_heard(
    kind: str,
) -> None:
    occurrence, is_timed = RUNAWAYS[kind]
    said = [*speech(STORY[:20], 0.0, 0.4), *speech(STORY[20:40], 10.0, 0.4)]
    # Whatever begins before 9 s is lost from 2 s on; what begins later is heard.
    runaway = Runaway(2.0, occurrence, until_s=9.0, is_timed=is_timed)
    task, _ = transcribe(said, (0.0, 8.0), (10.0, 18.0), runaway=runaway, extra=EXTRA)
    assert texts(task)[:5] == STORY[:5]
    assert texts(task)[-20:] == STORY[20:40]
    assert Flag.INCOMPLETE in task.flags
    assert task.untranscribed
    assert all(span.end_s <= 8.0 for span in task.untranscribed)
    assert task.requests <= MAX_REQUESTS + MAX_RETRIES


COUNT = ["one", "two", "three"]
REFRAIN = [f"r{number}" for number in range(10)]
SPOKEN: dict[str, tuple[list[str], float]] = {
    "yeah x3": (["yeah"] * 3, 0.3),
    "yeah x60": (["yeah"] * 60, 0.3),
    "one two three x16": (COUNT * 16, 0.5),
    "refrain x4": (REFRAIN * 4, 0.4),
    "refrain x7": (REFRAIN * 7, 0.3),
    "pages": ([word for n in range(30) for word in ("page", f"n{n}")], 0.4),
    "growing list": ([word for n in range(12) for word in (*SENTENCE[:5], f"n{n}")], 0.35),
    "song that adds": ([word for n in range(1, 12) for word in REFRAIN[:n]], 0.35),
}


@pytest.mark.parametrize("kind", SPOKEN)
def test_repetition_when_spoken_then_every_word_of_it_survives(kind: str) -> None:
    words, word_s = SPOKEN[kind]
    passage = speech(words, 2.0, word_s)
    after = speech(["and", "that", "was", "all"], passage[-1].end_s, 0.4)
    said = [*speech(["now", "listen", "to", "this"], 0.4, 0.4), *passage, *after]
    assert said[-1].end_s <= 30.0
    task, _ = transcribe(said)
    assert texts(task) == [word.text for word in said]
    assert task.untranscribed == []
    assert task.rejected == []
    # Their times are those of the speech, within the alignment's few hundredths.
    heard = [word for stretch in task.heard for word in stretch.words]
    assert all(
        abs(word.span.start_s - truth.start_s) < 0.15
        for word, truth in zip(heard, said, strict=True)
    )


def test_repetition_when_long_enough_for_the_guard_then_cut_and_brought_back() -> None:
    # Both sides in one: the guard does fire on real speech, and nothing is lost by it.
    said = speech(["yeah"] * 60, 0.0, 0.3)
    task, _ = transcribe(said)
    assert task.loops >= 1
    assert set(task.flags) <= {Flag.LOOP, Flag.REPETITIVE}
    assert texts(task) == ["yeah"] * 60
