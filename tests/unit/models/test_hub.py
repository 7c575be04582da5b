"""The hub itself is out of reach in tests; its errors are raised by a stand-in for the download."""

from pathlib import Path

import pytest
from huggingface_hub.errors import (
    GatedRepoError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)

from murmur_cli.errors import ModelError
from murmur_cli.models.hub import cached_snapshot, pull


def _http_error(kind: type[Exception]) -> Exception:
    # The response is an object of the hub's HTTP client, which differs between versions; the
    # error's class is all that `pull` looks at.
    return kind.__new__(kind)


def _offline() -> Exception:
    error = LocalEntryNotFoundError("not cached")
    error.__cause__ = OfflineModeIsEnabled("offline")
    return error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            _http_error(GatedRepoError),
            "is gated: accept its terms on .*/owner/name, then set HF_TOKEN",
        ),
        (_http_error(RepositoryNotFoundError), "is not on the hub, or it is private"),
        (HFValidationError("bad"), "is not a name of the model hub"),
        (LocalEntryNotFoundError("no network"), "the model hub cannot be reached"),
        (TimeoutError(), "the model hub cannot be reached"),
        (OfflineModeIsEnabled("offline"), "HF_HUB_OFFLINE is set"),
        (_offline(), "HF_HUB_OFFLINE is set"),
    ],
)
def test_pull_when_hub_refuses_then_error_says_why_and_keeps_the_token(
    monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")

    def refuse(repository: str) -> str:
        raise error

    with pytest.raises(ModelError, match=message) as caught:
        pull("owner/name", download=refuse)
    assert "hf_secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_pull_when_hub_gives_then_folder_comes(tmp_path: Path) -> None:
    assert pull("owner/name", download=lambda repository: str(tmp_path)) == tmp_path


def test_cached_when_repository_is_unknown_then_none() -> None:
    assert cached_snapshot("murmur-tests/no-such-model") is None


def test_cached_when_name_is_not_one_then_error() -> None:
    with pytest.raises(ModelError, match="not a name of the model hub"):
        cached_snapshot("no spaces/allowed here")
