"""A random Whisper over a real recording: what is asked, what is kept, how errors are counted."""

from __future__ import annotations

from pathlib import Path

import pytest
import soundfile
import torch

from murmur_cli.errors import UsageError
from murmur_cli.sweeps.grid import PolicySetting
from policies.frontier import frontier
from policies.grid import FULL, policy_of
from policies.subject import greedy
from policies.transcripts import transcripts
from policies.whisper_subject import EncoderStates, WhisperSubject
from support.tiny_folder import write_tiny_folder

SAID = "one two three four five six seven eight nine ten " * 2


@pytest.fixture(scope="module")
def folder(sample_wav: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording as long as the model's window, one of laughter, and the model."""
    folder = tmp_path_factory.mktemp("policies")
    samples, rate = soundfile.read(sample_wav)
    part = samples[7 * rate : round(8.8 * rate)]
    for name, text in (("talk", SAID), ("laughter", "ha ha")):
        soundfile.write(folder / f"{name}.wav", part, rate)
        (folder / f"{name}.stm").write_text(f"{name} 1 ann 0.0 1.8 {text}\n")
    write_tiny_folder(folder / "model")
    return folder


@pytest.fixture(scope="module")
def subject(folder: Path) -> WhisperSubject:
    return WhisperSubject(str(folder / "model"), folder, folder / "states")


def test_requests_when_a_recording_has_few_words_then_none_of_it(subject: WhisperSubject) -> None:
    assert {request.key.split()[0] for request in subject.requests} == {"talk"}


def test_answers_when_heads_are_watched_then_the_same_tokens(subject: WhisperSubject) -> None:
    policy = policy_of(FULL, subject.rates)
    plain = greedy(subject, policy).done
    watched = greedy(subject, policy, all_heads=True).done
    assert [one.tokens for one in plain] == [one.tokens for one in watched]
    assert watched[0].attention is not None
    assert watched[0].attention.shape[1] == len(subject.heads)


def test_errors_when_texts_are_known_then_by_hand(subject: WhisperSubject) -> None:
    # Of twenty words one is wrong, one too many: against the other text two are changed.
    text = SAID.replace("two", "too", 1) + "more"
    found = subject.judge_texts({"talk": text}, {"talk": SAID})
    assert (found["errors"], found["length"]) == (2, 20)
    assert (found["changed"], found["full_length"]) == (2, 20)
    assert found["rates"] == {"talk": 10.0}
    assert found["texts"] == {}


def test_text_when_more_is_wrong_than_was_said_then_kept(subject: WhisperSubject) -> None:
    looped = "yeah " * 30
    assert subject.judge_texts({"talk": looped}, {"talk": SAID})["texts"] == {"talk": looped}


def test_session_when_the_policy_covers_everything_then_nothing_changes(
    subject: WhisperSubject,
) -> None:
    full = transcripts(subject, policy_of(FULL, subject.rates), None)
    whole = PolicySetting("quest", (("budget", "4000"),))
    found = transcripts(subject, policy_of(whole, subject.rates), full["texts"])
    assert found["changed"] == 0
    assert found["errors"] == full["errors"]


def test_frontier_when_decoded_then_nodes_share_out_all_entries(subject: WhisperSubject) -> None:
    done = greedy(subject, policy_of(FULL, subject.rates)).done
    tokens = [list(one.tokens) for one in done]
    small = PolicySetting("c3", (("budget", "20"),))
    found = frontier(subject, {"tokens": tokens}, "talk", small)
    assert [look["step"] for look in found["looks"]][:2] == [1, 10]
    for look in found["looks"]:
        # Of the tiny model's 100 entries seven nodes are made, of 16 each on average.
        assert look["nodes"] == 7
        assert look["in_largest"] == 100
        assert look["largest"] >= 16


def test_states_when_on_disk_then_not_encoded_again(tmp_path: Path) -> None:
    calls = []

    def encode() -> torch.Tensor:
        calls.append(1)
        return torch.ones(3, 2)

    audio = torch.arange(4.0).numpy()
    for _ in range(2):
        found = EncoderStates(tmp_path / "new").of(audio, encode)
        assert torch.equal(found, torch.ones(3, 2))
    assert len(calls) == 1


def test_folder_when_without_references_then_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="beside it"):
        WhisperSubject("whisper-base", tmp_path, tmp_path)
