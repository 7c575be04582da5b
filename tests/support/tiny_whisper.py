"""A random Whisper of two layers with a byte vocabulary: every part of the real one, in no time.

0..255     bytes            260, 261  <|translate|> <|transcribe|>
256        <|endoftext|>    262       <|nospeech|>
257        start            263       <|notimestamps|>
258, 259   <|en|> <|de|>    264..     <|0.00|>, <|0.02|>, … one for each encoder entry and one
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from murmur_cli.asr.whisper.tokens import WhisperTokens
from murmur_cli.types import Samples

END, START, ENGLISH, GERMAN, TRANSLATE, TRANSCRIBE, NO_SPEECH, NO_TIMES = range(256, 264)
TIMES_BEGIN = 264
ENTRIES = 100
"""Encoder entries: windows of 2 s."""

POSITIONS = 64
VOCABULARY = TIMES_BEGIN + ENTRIES + 1
GAINS = {"q_proj": 2.0, "k_proj": 2.0, "encoder_attn.out_proj": 3.0, "out_proj": 2.0}
"""Standard deviation of a layer's output for inputs of deviation 1, by part of its name."""

PROMPT = (START, ENGLISH, TRANSCRIBE)


def byte_tokenizer() -> Tokenizer:
    """Byte-level vocabulary without merges, then Whisper's special tokens; ids as above."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet(), key=_byte_of)
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    names = ["endoftext", "startoftranscript", "en", "de", "translate", "transcribe", "nospeech"]
    names += ["notimestamps", *(f"{step * 0.02:.2f}" for step in range(ENTRIES + 1))]
    tokenizer.add_special_tokens([AddedToken(f"<|{name}|>", special=True) for name in names])
    return tokenizer


def _byte_of(character: str) -> int:
    """Byte that a character of the byte-level alphabet stands for.

    Printable Latin-1 characters stand for themselves, the rest in order from U+0100 on.
    """
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    code = ord(character)
    return code if code < 256 else others[code - 256]


def tiny_tokens(*, multilingual: bool = True, end: int = END) -> WhisperTokens:
    """The tokens of the tiny model; all attention heads of its second layer are probes."""
    return WhisperTokens(
        start=START,
        end=end,
        no_speech=NO_SPEECH,
        timestamp_begin=TIMES_BEGIN,
        languages={"en": ENGLISH, "de": GERMAN} if multilingual else {},
        tasks={"translate": TRANSLATE, "transcribe": TRANSCRIBE} if multilingual else {},
        suppressed=tuple(range(END + 1, TIMES_BEGIN)),
        max_initial_timestamp=50,
        alignment_heads=((1, 0), (1, 2)),
        tokenizer=byte_tokenizer(),
    )


def tiny_whisper(seed: int = 0) -> Any:
    """WhisperForConditionalGeneration with random weights, float32, evaluation mode.

    Weights are scaled so that every layer matters: attention picks out single entries, the
    output differs from window to window and is not one token over and over.
    """
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    torch.manual_seed(seed)
    config = WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        num_mel_bins=16,
        max_source_positions=ENTRIES,
        max_target_positions=POSITIONS,
        decoder_start_token_id=START,
        bos_token_id=END,
        eos_token_id=END,
        pad_token_id=END,
        begin_suppress_tokens=None,
        suppress_tokens=None,
        tie_word_embeddings=False,
    )
    config._attn_implementation = "sdpa"
    model = WhisperForConditionalGeneration(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() >= 2:
                inputs = 1 if "embed" in name else parameter[0].numel()
                gain = next((gain for part, gain in GAINS.items() if part in name), 1.0)
                parameter.normal_(std=gain / math.sqrt(inputs))
    return model.eval()


def chirp(seed: int, duration_s: float = 2.0) -> Samples:
    """Audio whose pitch and loudness wander, different for each seed."""
    random = np.random.default_rng(seed)
    count = round(duration_s * 16_000)
    knots = np.linspace(0, count, 9)
    pitch_hz = np.interp(np.arange(count), knots, random.uniform(100, 3000, 9))
    loudness = np.interp(np.arange(count), knots, random.uniform(0.02, 0.6, 9))
    samples = loudness * np.sin(2 * np.pi * np.cumsum(pitch_hz) / 16_000)
    return (samples + 0.01 * random.standard_normal(count)).astype(np.float32)


class AnyToken:
    """A TokenRule that forbids nothing."""

    @property
    def is_fixed(self) -> bool:
        return False

    def restrict(self, logits: torch.Tensor, outputs: object) -> None:
        """Leave the logits as they are."""

    def is_text(self, token: int) -> bool:
        """Timestamps are not text."""
        return token < TIMES_BEGIN
