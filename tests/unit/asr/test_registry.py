from __future__ import annotations

import subprocess
import sys

import pytest

from murmur_cli.asr.registry import check_eviction
from murmur_cli.engine.policies.registry import POLICIES
from murmur_cli.errors import UsageError
from murmur_cli.settings import TranscribeSettings


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "streaming"])
def test_check_when_policy_is_known_then_accepted(name: str) -> None:
    check_eviction(TranscribeSettings(evict=name))


@pytest.mark.parametrize(
    ("evict", "options", "message"),
    [
        ("speach", {}, "unknown policy .did you mean speech"),
        ("none", {"window": "3"}, "has no such option"),
        ("both", {"window": "3"}, "write speech_window or output_window"),
        ("output", {"window": "many"}, "not a value of type int"),
        ("output", {"window": "0"}, "give 1 or more"),
        ("streaming", {}, "no order of recency; use output, speech or align"),
    ],
)
def test_check_when_wrong_then_usage_error(
    evict: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        check_eviction(TranscribeSettings(evict=evict, evict_options=options))


def test_check_when_run_then_no_torch_is_imported() -> None:
    code = (
        "import sys; from murmur_cli.asr.registry import check_eviction; "
        "from murmur_cli.settings import TranscribeSettings; "
        "check_eviction(TranscribeSettings(evict='both')); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
