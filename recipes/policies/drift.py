"""A window where a weak policy writes more wrong words than were said: where it reads, and what."""

from __future__ import annotations

from typing import Any

import torch

from murmur_cli.asr.whisper.request_shape import WHISPER_RATES
from murmur_cli.engine.attention_focus import glances
from murmur_cli.engine.policies.base import FocusNeed
from murmur_cli.engine.policies.registry import RETRIEVAL
from murmur_cli.engine.policies.retrieval import GroupRule
from murmur_cli.engine.request import Finished
from murmur_cli.sweeps.grid import PolicySetting
from policies.grid import FULL, policy_of
from policies.run_lines import Line, RunLines
from policies.subject import greedy
from policies.whisper_subject import WhisperSubject


def worst(runs: RunLines, model: str) -> tuple[Line, str] | None:
    """The run and the recording with the highest error rate above 100 % under a policy that
    chooses anew at each step.

    Recordings that full attention fails on as badly are left out; None if no other is there.
    """
    lines = runs.of_model(model, "answers")
    full = next((line for line in lines if line["about"]["policy"] == "none"), None)
    if full is None:
        return None
    bad = [
        (rate, number, name)
        for number, line in enumerate(lines)
        if _chooses_anew(line["about"]["policy"])
        for name, rate in line["found"]["rates"].items()
        if rate > 100 >= full["found"]["rates"][name]
    ]
    if not bad:
        return None
    _, number, name = max(bad, key=lambda one: (one[0], -one[1]))
    return lines[number], name


def _chooses_anew(policy: str) -> bool:
    return policy in RETRIEVAL and isinstance(RETRIEVAL[policy](WHISPER_RATES), GroupRule)


def drift(subject: WhisperSubject, about: Line, recording: str) -> dict[str, Any]:
    """Text of the recording under full attention and under the policy, and where each reads.

    A place is that of the alignment heads, in seconds of the window, at every token.
    """
    setting = PolicySetting(about["policy"], tuple(sorted(about["options"].items())))
    found: dict[str, Any] = {"recording": recording, "label": about["label"]}
    found["budget"] = about["budget"]
    requests = [one for one in subject.requests if one.key.startswith(f"{recording} window")]
    for name, each in (("full", FULL), ("own", setting)):
        done = greedy(subject, policy_of(each, subject.rates), requests=requests).done
        found[name] = {
            "text": subject.texts_of(done)[recording],
            "places_s": [place for one in done for place in _places_s(one, subject)],
            "window_s": round(sum(one.request.audio_s for one in done), 2),
            "tokens": sum(len(one.tokens) for one in done),
            "ended": all(str(one.stop) == "end" for one in done),
        }
    return found


def _places_s(done: Finished, subject: WhisperSubject) -> list[float]:
    assert done.attention is not None, "Whisper's adapter records its alignment heads"
    attention = torch.from_numpy(done.attention).float()
    entries = [attention.shape[2]] * len(attention)
    need = FocusNeed(0, subject.rates.tail_sinks)
    seen = glances(attention, entries, need)
    return [round(one.position / subject.rates.speech_entries_per_s, 2) for one in seen]
