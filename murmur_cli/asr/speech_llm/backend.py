"""A SpeechLLM as a recogniser: chunks of all recordings decoded as one batch."""

from __future__ import annotations

from murmur_cli.asr.speech_llm.anchors import AnchorRecogniser
from murmur_cli.asr.speech_llm.decoder import SpeechLlmDecoder
from murmur_cli.asr.speech_llm.family import SpeechLlm
from murmur_cli.asr.speech_llm.session import SpeechLlmOptions, SpeechLlmSession
from murmur_cli.engine.policies.base import EvictionPolicy
from murmur_cli.engine.policies.retrieval import check_heads
from murmur_cli.progress import ProgressHook
from murmur_cli.types import ModelIdentity


class SpeechLlmBackend:
    """The AsrBackend for any family of `families.registry`.

    anchors: what finds them, for a policy that groups speech by them.
    """

    def __init__(
        self,
        family: SpeechLlm,
        identity: ModelIdentity,
        policy: EvictionPolicy,
        options: SpeechLlmOptions,
        anchors: AnchorRecogniser | None = None,
        *,
        offloads: bool = False,
    ) -> None:
        self._family = family
        self._identity = identity
        self._policy = policy
        self._options = options
        self._anchors = anchors
        self._decoder = SpeechLlmDecoder(
            family, options.max_audio_s, watch=options.watch, offloads=offloads
        )
        check_heads(policy, self.kv_heads)

    @property
    def identity(self) -> ModelIdentity:
        """Which weights answer."""
        return self._identity

    @property
    def precision(self) -> str:
        """Number format of the arithmetic, such as 'bfloat16'."""
        return self._decoder.precision

    @property
    def decoder(self) -> SpeechLlmDecoder:
        """The engine's adapter, for measuring the engine without a recording's way through it."""
        return self._decoder

    @property
    def kv_heads(self) -> tuple[int, ...]:
        """KV heads of each layer; 0 for layers without an index of the speech."""
        return tuple(kind.indexed_heads for kind in self._family.layers)

    def with_policy(self, policy: EvictionPolicy) -> SpeechLlmBackend:
        """The same weights under another policy; sessions of one of them may be open."""
        return SpeechLlmBackend(self._family, self._identity, policy, self._options)

    @property
    def packing(self) -> None:
        """A chunk is one request."""
        return None

    @property
    def names_speakers(self) -> bool:
        """Whether the model says who speaks."""
        return self._family.traits.carries_speakers

    def open_session(self, progress: ProgressHook) -> SpeechLlmSession:
        """Begin to recognise; one session at a time, as it owns the decoder's arenas."""
        return SpeechLlmSession(
            self._decoder,
            self._family,
            self._identity.name,
            self._policy,
            self._options,
            progress,
            self._anchors,
        )
