"""A Whisper over a folder of recordings with references: windows, answers, errors."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import WhisperForConditionalGeneration
from transformers.utils import logging as transformers_logging

from murmur_cli.asr.base import Job
from murmur_cli.asr.whisper.decoder import PreparedWindow, WhisperDecoder, WindowSource
from murmur_cli.asr.whisper.half_weight_linear import half_weights, use_half_weights
from murmur_cli.asr.whisper.request_shape import WHISPER_PACKING, WHISPER_RATES
from murmur_cli.asr.whisper.timestamp_rules import TimestampRules
from murmur_cli.asr.whisper.tokens import WhisperTokens, load_tokens
from murmur_cli.asr.whisper.window_task import MAX_NEW_TOKENS
from murmur_cli.bench.bench_audio import BenchAudio, Spoken, read_bench_audio
from murmur_cli.bench.scoring import Errors, normalised, word_errors
from murmur_cli.chunking.plan import plan_chunks
from murmur_cli.engine.attention import attention_path
from murmur_cli.engine.model_adapter import TokenRule
from murmur_cli.engine.policies.base import RequestRates
from murmur_cli.engine.request import Finished, Request
from murmur_cli.engine.speech_index import SpeechIndex
from murmur_cli.errors import UsageError
from murmur_cli.models.choice import choose_model, prepare
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import Samples
from murmur_cli.vad.silero import SileroVad
from policies.run_lines import Line
from policies.subject import Head

LANGUAGE = "en"
BUDGETS: tuple[int, ...] = (256, 128, 64, 512, 1024)
MIN_WORDS = 20
"""Recordings with fewer words of reference are left out of pooled errors: laughter and noise."""

AUDIO_SUFFIXES = (".flac", ".wav")


class EncoderStates:
    """What the encoder made of windows, on disk: no policy changes it, and it is most of a run.

    Args:
        folder: of one model; made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def of(self, audio: Samples, encode: Callable[[], torch.Tensor]) -> torch.Tensor:
        """States (entries, width) of a window's audio, encoded if they are not there."""
        path = self._folder / f"{hashlib.sha256(audio.tobytes()).hexdigest()}.npy"
        if path.exists():
            return torch.from_numpy(np.load(path))
        states = encode()
        whole = path.with_suffix(".part.npy")
        np.save(whole, states.numpy())
        whole.replace(path)
        return states


class EncodedOnce(WhisperDecoder):
    """A WhisperDecoder that takes encoder states from disk if they are there."""

    def __init__(self, states: EncoderStates, model: Any, tokens: WhisperTokens) -> None:
        config = model.config
        head_dim = config.d_model // config.decoder_attention_heads
        # As the product holds it on this processor (`asr/whisper/loading.py`).
        path = attention_path(torch.device("cpu"), torch.float16, head_dim)
        speech_dtype = torch.float16 if path == "compiled" else torch.float32
        super().__init__(model, tokens, speech_dtype=speech_dtype)
        self._states = states

    @property
    def index(self) -> SpeechIndex | None:
        """Of the policy that is decoding, if it has one."""
        return self._index

    def prepare(self, source: WindowSource) -> PreparedWindow:
        """The states of a window."""
        audio = source.audio
        return PreparedWindow(encoded=self._states.of(audio, lambda: self.encode([audio])[0]))


@dataclass(frozen=True, slots=True)
class HeardRecording:
    """A recording with a reference. `job` holds the windows with speech."""

    name: str
    job: Job
    spoken: tuple[Spoken, ...]

    @property
    def counts(self) -> bool:
        """Whether enough is said for an error rate."""
        return sum(len(normalised(one.text).split()) for one in self.spoken) >= MIN_WORDS


class WhisperSubject:
    """The model, and what it is asked: every window of every recording once.

    Args:
        model: a name of the catalogue.
        folder: NAME.flac or NAME.wav with NAME.stm beside it.
        states: folder for the encoder's states.

    Raises:
        UsageError: there is no such pair.
        ModelError: the model is not there.
        RecordingError: a file cannot be read.
    """

    def __init__(self, model: str, folder: Path, states: Path) -> None:
        audio = read_bench_audio(_with_reference(folder))
        self.recordings = tuple(_heard(one) for one in audio)
        self.name = model
        self.rates: RequestRates = WHISPER_RATES
        self.heads_are_shared = False
        self.budgets = BUDGETS
        found = prepare(choose_model(model, "cpu"))
        self.tokens = load_tokens(found.path)
        transformers_logging.disable_progress_bar()
        self._model = WhisperForConditionalGeneration.from_pretrained(
            found.path, dtype=torch.float32, local_files_only=True, attn_implementation="sdpa"
        ).eval()
        use_half_weights(self._model.model.decoder)
        self._model.proj_out = half_weights(self._model.proj_out)
        config = self._model.config
        self.heads: tuple[Head, ...] = tuple(
            (layer, head)
            for layer in range(config.decoder_layers)
            for head in range(config.decoder_attention_heads)
        )
        self._states = EncoderStates(states / found.identity.sha256)
        digest = hashlib.sha256(found.identity.sha256.encode())
        for one in audio:
            digest.update(one.samples.tobytes())
            digest.update(repr(one.spoken).encode())
        self.content_sha256 = digest.hexdigest()

    def adapter(self, *, all_heads: bool = False) -> EncodedOnce:
        """A decoder over the one model; the encoder runs once for all of them."""
        tokens = replace(self.tokens, alignment_heads=self.heads) if all_heads else self.tokens
        return EncodedOnce(self._states, self._model, tokens)

    @property
    def rule(self) -> TokenRule:
        """Whisper's own, for timestamps."""
        return TimestampRules(self.tokens)

    @property
    def requests(self) -> list[Request]:
        """One for each window, in order of recordings."""
        prompt = self.tokens.prompt(LANGUAGE, "transcribe")
        return [
            Request(
                key=f"{recording.name} window {number}",
                source=WindowSource(recording.job.samples, window.pieces),
                prompt=prompt,
                audio_s=sum(piece.length for piece in window.pieces) / SAMPLE_RATE_HZ,
                max_new_tokens=MAX_NEW_TOKENS,
            )
            for recording in self.recordings
            if recording.counts
            for number, window in enumerate(_windows(recording.job))
        ]

    def judge(self, done: Sequence[Finished], full: Line | None) -> Line:
        """Word errors, pooled and by recording."""
        return self.judge_texts(self.texts_of(done), None if full is None else full["texts"])

    def texts_of(self, done: Sequence[Finished]) -> dict[str, str]:
        """Name of a recording -> text of its windows."""
        texts: dict[str, list[str]] = {one.name: [] for one in self.recordings if one.counts}
        for one in done:
            text = self.tokens.decode(
                [token for token in one.tokens if not self.tokens.is_timestamp(token)]
            )
            texts[one.request.key.rsplit(" window ", 1)[0]].append(text)
        return {name: " ".join(" ".join(parts).split()) for name, parts in texts.items()}

    def judge_texts(self, texts: dict[str, str], full: dict[str, str] | None) -> Line:
        """Figures of one setting. `texts` and `full` by recording.

        The text of a recording is kept where more words are wrong than were said, and all of
        them where nothing is compared with: that is full attention.
        """
        errors, changes, rates, lengths, kept = Errors(), Errors(), {}, {}, {}
        for recording in self.recordings:
            if not recording.counts:
                continue
            found = _as_spoken(texts[recording.name])
            one = word_errors(recording.spoken, found)
            errors += one
            rates[recording.name] = round(one.percent or 0.0, 1)
            lengths[recording.name] = int(one.length)
            if full is not None:
                changes += word_errors(_as_spoken(full[recording.name]), found)
            if full is None or (one.percent or 0.0) > 100:
                kept[recording.name] = texts[recording.name]
        return {
            "errors": int(errors.errors),
            "length": int(errors.length),
            "changed": int(changes.errors),
            "full_length": int(changes.length),
            "rates": rates,
            "lengths": lengths,
            "texts": kept,
        }


def _as_spoken(text: str) -> list[Spoken]:
    return [Spoken(0.0, 0.0, "", text)]


def _windows(job: Job) -> list[Any]:
    return [window for chunk in job.chunks for window in chunk.windows]


def _with_reference(folder: Path) -> list[Path]:
    found = sorted(
        path
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.suffix in AUDIO_SUFFIXES and path.with_suffix(".stm").is_file()
    )
    if not found:
        raise UsageError(f"folder {folder.name}: no NAME.flac or NAME.wav with NAME.stm beside it")
    return found


def _heard(audio: BenchAudio) -> HeardRecording:
    speech = SileroVad().detect(audio.samples)
    plan = plan_chunks(speech, audio.samples, max_chunk_s=None, packing=WHISPER_PACKING)
    return HeardRecording(
        audio.name, Job(audio.name, audio.samples, plan.chunks), audio.spoken or ()
    )
