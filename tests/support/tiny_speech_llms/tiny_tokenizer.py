"""A byte-level tokenizer without merges: any text, one token for each byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PAD, BOS, END = 0, 1, 2
FIRST_BYTE = 3
AUDIO, AUDIO_BEGIN, AUDIO_END = 259, 260, 261
VOCABULARY = 264


def tiny_tokenizer(special: Sequence[str], roles: Mapping[str, str] | None = None) -> Any:
    """A PreTrainedTokenizerFast: padding, begin, end, 256 bytes, then the special tokens.

    special: names of AUDIO, AUDIO_BEGIN, AUDIO_END and at most two more.
    roles: attributes by which a processor finds some of them, such as `audio_token`.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    texts = ["<pad>", "<bos>", "<end>", *sorted(pre_tokenizers.ByteLevel.alphabet()), *special]
    assert len(texts) <= VOCABULARY, special
    inner = Tokenizer(models.BPE(vocab={text: at for at, text in enumerate(texts)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token="<end>",
        extra_special_tokens=list(special),
        model_specific_special_tokens=dict(roles or {}),
    )
