"""Whisper as a recogniser: windows of all recordings decoded as one batch."""

from __future__ import annotations

from dataclasses import replace

from murmur_cli.asr.whisper.decoder import WhisperDecoder
from murmur_cli.asr.whisper.request_shape import WHISPER_PACKING
from murmur_cli.asr.whisper.session import WhisperOptions, WhisperSession
from murmur_cli.asr.whisper.tokens import WhisperTokens
from murmur_cli.engine.policies.base import EvictionPolicy
from murmur_cli.engine.policies.retrieval import check_heads
from murmur_cli.progress import ProgressHook
from murmur_cli.types import ModelIdentity, PackingRule


class WhisperBackend:
    """The AsrBackend for any Whisper model of transformers."""

    def __init__(
        self,
        decoder: WhisperDecoder,
        tokens: WhisperTokens,
        identity: ModelIdentity,
        policy: EvictionPolicy,
        options: WhisperOptions,
    ) -> None:
        self._tokens = tokens
        self._identity = identity
        self._options = options
        self._decoder = decoder
        self._policy = policy
        # Fails now, not after minutes, when the model does not know the language or task, or
        # budgets by head are another model's.
        check_heads(policy, decoder.kv_heads)
        any_language = self._fixed_language or next(iter(tokens.languages), None)
        tokens.prompt(any_language, options.task, options.context)

    @property
    def identity(self) -> ModelIdentity:
        """Which weights answer."""
        return self._identity

    @property
    def precision(self) -> str:
        """Number format of the arithmetic, such as 'float32'."""
        return self._decoder.precision

    @property
    def decoder(self) -> WhisperDecoder:
        """The engine's adapter, for measuring the engine without a recording's way through it."""
        return self._decoder

    @property
    def kv_heads(self) -> tuple[int, ...]:
        """Heads of each decoder layer, all of which attend to speech."""
        return self._decoder.kv_heads

    def with_policy(self, policy: EvictionPolicy) -> WhisperBackend:
        """The same weights under another policy; sessions of one of them may be open."""
        return WhisperBackend(self._decoder, self._tokens, self._identity, policy, self._options)

    @property
    def packing(self) -> PackingRule:
        """Windows of 30 s."""
        return WHISPER_PACKING

    @property
    def names_speakers(self) -> bool:
        """False: Whisper hears words only."""
        return False

    def open_session(self, progress: ProgressHook) -> WhisperSession:
        """Begin to recognise; one session at a time, as it owns the decoder's arenas."""
        options = replace(self._options, language=self._fixed_language)
        return WhisperSession(
            self._decoder, self._tokens, self._identity.name, self._policy, options, progress
        )

    @property
    def _fixed_language(self) -> str | None:
        if not self._tokens.is_multilingual:
            return "en" if self._options.language is None else self._options.language
        return self._options.language
