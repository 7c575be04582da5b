"""Which backend answers for a chosen model, before its weights are loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from murmur_cli.asr.base import AsrBackend
from murmur_cli.asr.whisper.request_shape import WHISPER_PACKING, WHISPER_RATES
from murmur_cli.engine.policies.base import EvictionPolicy, RequestRates
from murmur_cli.engine.policies.kv_budget import AUTO, KvBudget
from murmur_cli.engine.policies.registry import (
    BUDGET,
    RETRIEVAL,
    build_policy,
    check_policy_name,
    check_takes_budget,
)
from murmur_cli.engine.policies.retrieval import check_offload, retrieval_of
from murmur_cli.engine.policies.voxzip import VoxZip
from murmur_cli.errors import UsageError
from murmur_cli.models.choice import ModelChoice, prepare
from murmur_cli.models.device import BALANCED, resolve_device
from murmur_cli.progress import ProgressHook
from murmur_cli.settings import TranscribeSettings, WordTiming
from murmur_cli.types import PackingRule

if TYPE_CHECKING:
    from murmur_cli.asr.speech_llm.session import SpeechLlmOptions


WATCH = {WordTiming.AUTO: None, WordTiming.ATTENTION: True, WordTiming.SPREAD: False}
"""`SpeechLlmOptions.watch` for each source of words' times."""


@dataclass(frozen=True, slots=True)
class Recogniser:
    """A backend to be: how it wants its windows, and how to load it (seconds, heavy imports)."""

    packing: PackingRule | None
    load: Callable[[], AsrBackend]


def check_evict(settings: TranscribeSettings) -> None:
    """Reject a policy that no model has; anything else that is wrong shows with the model.

    Raises:
        UsageError: there is no policy of that name, or it has no budget to measure.
    """
    check_policy_name(settings.evict)
    if settings.kv_budget == AUTO:
        check_takes_budget(settings.evict, AUTO)


def longest_chunk_s(choice: ModelChoice, settings: TranscribeSettings) -> float | None:
    """The ceiling of chunks for a model: what is set, or less if the model is meant for less."""
    if choice.is_whisper:
        return settings.chunk_s
    from murmur_cli.asr.speech_llm.families.registry import family_of

    limit_s = family_of(choice.model_type).traits.max_chunk_s
    return limit_s if settings.longest_chunk_s > limit_s else settings.chunk_s


def check_request(choice: ModelChoice, settings: TranscribeSettings) -> None:
    """Reject what the chosen model cannot do, before audio is read and weights are loaded.

    An embedded model that was never converted is asked for language and task when it loads.

    Raises:
        UsageError: the policy or its options are wrong for this model, budgets by head are
            another's, or it lacks the language, the task, or a place for context.
        ModelError: the files that say so are missing or unreadable, or the model whose words
            VoxZip groups speech by cannot be had.
    """
    check_evict(settings)
    policy = build_policy(settings.evict, settings.policy_options, _rates(choice, settings))
    if settings.kv_offload:
        check_offload(policy)
    if choice.is_whisper and settings.word_times is WordTiming.SPREAD:
        raise UsageError("--word-times spread: Whisper's words get their times from its attention")
    if choice.is_whisper and settings.device == BALANCED:
        raise UsageError("--device balanced: a Whisper fits on one device; name one")
    if not choice.is_whisper:
        from murmur_cli.asr.speech_llm.loading import check_ask

        check_ask(choice.model_type, _speech_llm_options(settings))
    _check_heads(choice, policy)
    if choice.is_whisper:
        _check_whisper_ask(choice, settings.language, settings.task, settings.context)
    else:
        _check_anchors(policy, settings)


def _check_heads(choice: ModelChoice, policy: EvictionPolicy) -> None:
    """Reject budgets by head that are another model's."""
    rule = retrieval_of(policy)
    if rule is not None and rule.budget.by_head is not None:
        _check_budget(choice, rule.budget)


def _check_budget(choice: ModelChoice, budget: KvBudget) -> None:
    """Reject shares of other heads than the model's files tell of, if they are there."""
    if not choice.location.is_dir():
        return
    if choice.is_whisper:
        from murmur_cli.asr.whisper.kv_heads import whisper_kv_heads

        budget.check_heads(whisper_kv_heads(choice.location))
    else:
        from murmur_cli.asr.speech_llm.loading import kv_heads_in

        budget.check_heads(kv_heads_in(choice.location, choice.model_type))


def _check_whisper_ask(
    choice: ModelChoice, language: str | None, task: str = "transcribe", context: str = ""
) -> None:
    asks_nothing = language is None and task == "transcribe" and not context
    if asks_nothing or not choice.location.is_dir():
        return
    from murmur_cli.asr.whisper.tokens import load_tokens

    tokens = load_tokens(choice.location)
    any_language = language or next(iter(tokens.languages), None)
    tokens.prompt(any_language, task, context)


def _check_anchors(policy: EvictionPolicy, settings: TranscribeSettings) -> None:
    """Reject a recogniser of anchors that is not there, is no Whisper or lacks the language."""
    rule = policy.speech
    if not isinstance(rule, VoxZip) or not rule.groups_speech:
        return
    from murmur_cli.asr.speech_llm.anchor_loading import choose_anchor_model

    device = settings.devices[0] if settings.devices else resolve_device(settings.device)
    anchors = choose_anchor_model(rule, device)
    try:
        _check_whisper_ask(anchors, settings.language)
    except UsageError as error:
        raise UsageError(f"--evict-opt anchor_model={rule.anchor_model}: {error}") from error


def check_takes_head_shares(choice: ModelChoice, settings: TranscribeSettings) -> None:
    """Reject a policy for which there is nothing to calibrate: it takes no budgets by head.

    Raises:
        UsageError: it does not; those that do are named.
    """
    rates = _rates(choice, settings)
    shares = {BUDGET: str(KvBudget(by_head=((0.5, 0.5),)))}
    if not _can_build(settings.evict, shares, rates):
        others = [name for name in RETRIEVAL if _can_build(name, shares, rates)]
        raise UsageError(
            f"--evict {settings.evict}: takes no budgets by head, which are what 'murmur "
            f"calibrate' measures; give one of {', '.join(others)}"
        )


def takes_budget(choice: ModelChoice, settings: TranscribeSettings) -> bool:
    """Whether a budget can be given to the policy with its options; False if these are wrong."""
    some_budget = {**settings.evict_options, BUDGET: str(KvBudget(share=0.5))}
    return _can_build(settings.evict, some_budget, _rates(choice, settings))


def _can_build(policy: str, options: dict[str, str], rates: RequestRates) -> bool:
    try:
        build_policy(policy, options, rates)
    except UsageError:
        return False
    return True


def with_measured_budget(choice: ModelChoice, settings: TranscribeSettings) -> TranscribeSettings:
    """The settings with what '--kv-budget auto' means for a model: its measured shares, as text.

    Raises:
        UsageError: nothing was measured on this model, the recipe has shares of other heads, or
            the policy has no budget.
    """
    if settings.kv_budget != AUTO:
        return settings
    check_evict(settings)
    for measured in settings.kv_shares:
        if measured.model == choice.stored_name:
            budget = KvBudget(by_head=measured.shares)
            try:
                _check_budget(choice, budget)
            except UsageError as error:
                raise UsageError(f"recipe {measured.source}: {error}") from error
            return replace(settings, kv_budget=str(budget))
    known = dict.fromkeys(measured.model for measured in settings.kv_shares)
    there = f" (there are some of {', '.join(known)})" if known else ""
    raise UsageError(
        f"--kv-budget auto: no recipe has budgets of {choice.name}{there}; run 'murmur calibrate "
        f"RECORDING --model {choice.name} --write-recipe NAME', then give --recipe NAME"
    )


def recogniser_for(
    choice: ModelChoice, settings: TranscribeSettings, device: str, progress: ProgressHook
) -> Recogniser:
    """The backend for a model: Whisper's, or that of the SpeechLLM families.

    With `settings.devices` one on each of them, and `device` is not used.
    """
    load_on = _load_whisper if choice.is_whisper else _load_speech_llm
    packing = WHISPER_PACKING if choice.is_whisper else None
    if not settings.devices:
        return Recogniser(packing, lambda: load_on(choice, settings, device, progress))

    def load_all() -> AsrBackend:
        from murmur_cli.asr.device_pool import PooledBackend

        return PooledBackend(
            [load_on(choice, settings, each, progress) for each in settings.devices]
        )

    return Recogniser(packing, load_all)


def _load_whisper(
    choice: ModelChoice, settings: TranscribeSettings, device: str, progress: ProgressHook
) -> AsrBackend:
    from murmur_cli.asr.whisper.loading import load_whisper
    from murmur_cli.asr.whisper.session import WhisperOptions

    folder = prepare(choice, progress)
    return load_whisper(
        folder.path,
        folder.identity,
        device=device,
        precision=settings.precision,
        evict=settings.evict,
        evict_options=settings.policy_options,
        kv_offload=settings.kv_offload,
        options=WhisperOptions(
            settings.language,
            settings.task,
            settings.batch_size,
            settings.context,
            settings.temperature,
        ),
    )


def _load_speech_llm(
    choice: ModelChoice, settings: TranscribeSettings, device: str, progress: ProgressHook
) -> AsrBackend:
    from murmur_cli.asr.speech_llm.loading import load_speech_llm

    folder = prepare(choice, progress)
    return load_speech_llm(
        folder.path,
        choice.model_type,
        folder.identity,
        device=device,
        precision=settings.precision,
        evict=settings.evict,
        evict_options=settings.policy_options,
        kv_offload=settings.kv_offload,
        options=_speech_llm_options(settings),
    )


def _speech_llm_options(settings: TranscribeSettings) -> SpeechLlmOptions:
    from murmur_cli.asr.speech_llm.session import SpeechLlmOptions

    return SpeechLlmOptions(
        settings.language,
        settings.task,
        settings.context,
        settings.batch_size,
        settings.longest_chunk_s,
        settings.temperature,
        WATCH[settings.word_times],
    )


def _rates(choice: ModelChoice, settings: TranscribeSettings) -> RequestRates:
    if choice.is_whisper:
        return WHISPER_RATES
    from murmur_cli.asr.speech_llm.families.registry import family_of

    return family_of(choice.model_type).traits.rates(settings.longest_chunk_s)
