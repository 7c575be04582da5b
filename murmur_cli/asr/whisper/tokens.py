"""Whisper's special tokens and its text, from the model's own files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from murmur_cli.errors import ModelError, UsageError

TIMESTAMP_STEP_S = 0.02
"""Whisper's timestamps count in steps of 20 ms."""

TOKENIZER_FILE = "tokenizer.json"
FACTS_FILE = "generation_config.json"
BEFORE = "<|startofprev|>"
"""Opens the text that is said to come before the audio."""

MAX_CONTEXT_TOKENS = 220
"""With these, the prompt's own and an answer of full length a row has all 448 positions."""


@dataclass(frozen=True, slots=True)
class WhisperTokens:
    """Ids of one Whisper vocabulary.

    Attributes:
        start, end: start of transcript, end of text.
        no_speech: the token whose probability after `start` says that nobody speaks.
        timestamp_begin: id of <|0.00|>; all ids from here on are timestamps.
        languages: code -> id; empty for English-only models.
        tasks: 'transcribe', 'translate' -> id; empty for English-only models.
        suppressed: ids never decoded as text.
        max_initial_timestamp: highest step of the first timestamp.
        alignment_heads: (layer, head) pairs whose cross-attention follows the audio.
    """

    start: int
    end: int
    no_speech: int
    timestamp_begin: int
    languages: dict[str, int]
    tasks: dict[str, int]
    suppressed: tuple[int, ...]
    max_initial_timestamp: int
    alignment_heads: tuple[tuple[int, int], ...]
    tokenizer: Tokenizer

    @property
    def is_multilingual(self) -> bool:
        """Whether the model knows languages and tasks."""
        return bool(self.languages)

    def prompt(self, language: str | None, task: str, context: str = "") -> tuple[int, ...]:
        """Start of transcript, language and task; timestamps are on.

        `context` stands before it, as if it had been said: names and terms in it are the
        likelier spellings.

        Raises:
            UsageError: the model does not know the language or the task, or the context is too
                long.
        """
        return (*self._said_before(context), *self._opening(language, task))

    def _said_before(self, context: str) -> tuple[int, ...]:
        text = " ".join(context.split())
        if not text:
            return ()
        opening = self.tokenizer.token_to_id(BEFORE)
        if opening is None:
            raise UsageError(f"--prompt: this model takes none, it has no token {BEFORE}")
        ids = self.tokenizer.encode(" " + text, add_special_tokens=False).ids
        if len(ids) > MAX_CONTEXT_TOKENS:
            raise UsageError(
                f"--prompt and --hotwords-file: {len(ids)} tokens, Whisper takes at most "
                f"{MAX_CONTEXT_TOKENS}; leave out what is least likely to be said"
            )
        return (opening, *ids)

    def _opening(self, language: str | None, task: str) -> tuple[int, ...]:
        if not self.is_multilingual:
            if language not in (None, "en") or task != "transcribe":
                raise UsageError(
                    "this model is English only; choose a multilingual one, e.g. whisper-base"
                )
            return (self.start,)
        if language not in self.languages:
            known = " ".join(sorted(self.languages))
            raise UsageError(f"--language {language}: unknown to this model; known: {known}")
        return (self.start, self.languages[language], self.tasks[task])

    def is_timestamp(self, token: int) -> bool:
        """Whether a token is a time."""
        return token >= self.timestamp_begin

    def seconds(self, token: int) -> float:
        """Time of a timestamp token within its window."""
        return (token - self.timestamp_begin) * TIMESTAMP_STEP_S

    def decode(self, tokens: list[int]) -> str:
        """Text of text tokens; an unfinished character shows as U+FFFD."""
        text: str = self.tokenizer.decode(tokens, skip_special_tokens=False)
        return text


def load_tokens(folder: Path) -> WhisperTokens:
    """Read tokenizer.json and generation_config.json of a Whisper folder.

    Raises:
        ModelError: a file is missing or is not Whisper's.
    """
    for name in (TOKENIZER_FILE, FACTS_FILE):
        if not (folder / name).is_file():
            raise ModelError(f"model folder {folder}: {name} is missing")
    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    except Exception as error:  # tokenizers raises bare Exception on a damaged file
        raise ModelError(f"model folder {folder}: cannot read {TOKENIZER_FILE}: {error}") from None
    try:
        return _from_facts(tokenizer, json.loads((folder / FACTS_FILE).read_text(encoding="utf-8")))
    except KeyError as error:
        raise ModelError(
            f"model folder {folder}: {FACTS_FILE} has no {error}; "
            "it is not a Whisper model or an outdated export"
        ) from None
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelError(f"model folder {folder}: cannot read {FACTS_FILE}: {error}") from None


def _from_facts(tokenizer: Tokenizer, facts: dict[str, Any]) -> WhisperTokens:
    no_timestamps = int(facts["no_timestamps_token_id"])
    end = facts["eos_token_id"]
    end = int(end[0] if isinstance(end, list) else end)
    languages = {key.strip("<|>"): int(value) for key, value in facts.get("lang_to_id", {}).items()}
    heads = facts["alignment_heads"]
    if not heads:
        raise ValueError("alignment_heads is empty; without them words have no times")
    # Everything between end of text and the timestamps is special: never text.
    specials = range(end + 1, no_timestamps + 1)
    return WhisperTokens(
        start=int(facts["decoder_start_token_id"]),
        end=end,
        # OpenAI's vocabularies place it just before <|notimestamps|>.
        no_speech=no_timestamps - 1,
        timestamp_begin=no_timestamps + 1,
        languages=languages if facts.get("is_multilingual", bool(languages)) else {},
        tasks={key: int(value) for key, value in facts.get("task_to_id", {}).items()},
        suppressed=tuple(sorted({*(facts.get("suppress_tokens") or ()), *specials})),
        max_initial_timestamp=int(facts.get("max_initial_timestamp_index") or 50),
        alignment_heads=tuple((int(layer), int(head)) for layer, head in heads),
        tokenizer=tokenizer,
    )
