"""A SpeechLLM's folder -> a backend that is ready to transcribe."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers.utils import logging as transformers_logging

from murmur_cli.asr.library_error import reason_of
from murmur_cli.asr.speech_llm.anchor_loading import load_anchor_recogniser
from murmur_cli.asr.speech_llm.backend import SpeechLlmBackend
from murmur_cli.asr.speech_llm.families.registry import family_of
from murmur_cli.asr.speech_llm.family import Ask, PromptTokens, SpeechLlm
from murmur_cli.asr.speech_llm.session import SpeechLlmOptions
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.engine.policies.voxzip import VoxZip
from murmur_cli.errors import ModelError, MurmurError, UsageError
from murmur_cli.settings import Precision
from murmur_cli.types import ModelIdentity


def load_speech_llm(
    folder: Path,
    model_type: str,
    identity: ModelIdentity,
    *,
    device: str,
    evict: str,
    evict_options: dict[str, str],
    options: SpeechLlmOptions,
    precision: Precision = Precision.EXACT,
    kv_offload: bool = False,
) -> SpeechLlmBackend:
    """Load a SpeechLLM from a local folder that transformers wrote; nothing is fetched.

    Weights are bfloat16, as they are published, unless the precision is float32.

    Raises:
        ModelError: the folder does not hold a model of that type that transformers can read, or
            a package that the model needs is missing.
        UsageError: the policy or its options are wrong, or the model lacks what is asked, or
            positions for so long a chunk.
    """
    family_type = family_of(model_type)
    traits = family_type.traits
    check_ask(model_type, options)
    policy = build_policy(evict, evict_options, traits.rates(options.max_audio_s))
    dtype = torch.float32 if precision is Precision.FLOAT32 else torch.bfloat16
    # The console is ours: a bar of the library's own would break into it.
    transformers_logging.disable_progress_bar()
    try:
        family = family_type.load(folder, dtype=dtype, device_map=device)
        _check_model(family)
        # A folder without its chat template loads, but nothing can be asked.
        prompt = family.prompt(Ask(1.0, options.language, options.task, options.context))
    except MurmurError:
        raise
    except ImportError as error:
        raise ModelError(f"{traits.label} needs a package that is not there: {error}") from None
    except Exception as error:
        # Libraries raise all sorts of errors over files that hold something else than they should.
        raise _cannot_load(folder, traits.label, error) from error
    rule = policy.speech
    anchors = None
    if isinstance(rule, VoxZip) and rule.groups_speech:
        anchors = load_anchor_recogniser(rule, device, options.language)
    backend = SpeechLlmBackend(family, identity, policy, options, anchors, offloads=kv_offload)
    _check_positions(backend, prompt, options)
    return backend


def _check_model(family: SpeechLlm) -> None:
    """What a library loads without a word, and nothing can be decoded with.

    Raises:
        ValueError: there are no layers, tokens of audio that are not in the vocabulary, or no
            token to end with; the encoder makes other entries than its configuration says.
        RuntimeError: the encoder does not take the features.
    """
    if not family.text_model.layers:
        raise ValueError("its text model has no layers")
    size = int(family.text_config.vocab_size)
    for token in family.forbidden_tokens:
        if not isinstance(token, int) or not 0 <= token < size:
            raise ValueError(f"its token of audio {token} is none of {size} tokens")
    if not any(isinstance(token, int) and 0 <= token < size for token in family.end_tokens):
        raise ValueError("it has no token that ends an answer")
    second = torch.zeros(family.traits.sample_rate_hz)
    with torch.inference_mode():
        encoded = family.encode(family.features(second))
    width = family.model.get_input_embeddings().weight.shape[1]
    expected = (family.speech_entries(len(second)), width)
    if tuple(encoded.shape) != expected:
        raise ValueError(f"a second of audio is {tuple(encoded.shape)}, where {expected} is due")


def _check_positions(
    backend: SpeechLlmBackend, prompt: PromptTokens, options: SpeechLlmOptions
) -> None:
    decoder = backend.decoder
    if decoder.max_entries <= len(prompt.before) + len(prompt.after):
        raise UsageError(
            f"--chunk {options.max_audio_s:g}: {decoder.max_speech_entries} speech entries and the "
            f"prompt are more than the model has positions; give a shorter chunk"
        )


def check_ask(model_type: str, options: SpeechLlmOptions) -> None:
    """Reject what the family cannot do; loads no weights.

    Raises:
        UsageError: no such task, no place for context, no way to name the language, or audio
            longer than the model is meant for.
    """
    traits = family_of(model_type).traits
    if options.task not in traits.tasks:
        raise UsageError(f"--task {options.task}: {traits.label} knows {', '.join(traits.tasks)}")
    if options.context and not traits.takes_context:
        raise UsageError(f"--prompt, --hotwords-file: {traits.label} takes no context")
    if options.language is not None and not traits.takes_language:
        raise UsageError(
            f"--language {options.language}: {traits.label} finds the language itself; leave it out"
        )
    if options.max_audio_s > traits.max_chunk_s:
        raise UsageError(
            f"--chunk {options.max_audio_s:g}: {traits.label} is meant for at most "
            f"{traits.max_chunk_s:g} seconds"
        )


def kv_heads_in(folder: Path, model_type: str) -> tuple[int, ...]:
    """`SpeechLlmBackend.kv_heads` of a model in a folder, from its configuration alone.

    Raises:
        ModelError: the configuration does not describe such a model.
    """
    family_type = family_of(model_type)
    try:
        layers = family_type.layers_of(family_type.read_text_config(folder))
    except Exception as error:
        raise _cannot_load(folder, family_type.traits.label, error) from error
    return tuple(kind.indexed_heads for kind in layers)


def _cannot_load(folder: Path, label: str, error: Exception) -> ModelError:
    return ModelError(f"model folder {folder}: cannot load as {label}: {reason_of(error)}")
