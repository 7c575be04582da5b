"""The measurement of a decode step in its tiny form: the script works, whatever its figures say."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[4] / "recipes/bench/decode_step.py"

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("decode_step", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tiny_form_then_a_row_for_each_policy_with_its_bytes(tmp_path: Path) -> None:
    script().main(
        ["--tiny", "--tokens", "8", "--evict", "none,both", "-o", str(tmp_path / "a.json")]
    )
    result = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert [row["evict"] for row in result["rows"]] == ["none", "both"]
    for row in result["rows"]:
        # 4 rows; 2 layers of 2 KV heads of 16 numbers of 4 bytes, keys and values; 40 speech
        # entries, 20 of the prompt and the first of at most 8 output tokens.
        entry = 2 * 2 * 2 * 16 * 4
        assert row["steps"] == 7
        assert 4 * entry * (40 + 20 + 1) <= row["kv_bytes_per_step"] <= 4 * entry * (40 + 20 + 8)
        assert row["floor_ms"] > 0
        assert row["step_ms"] > 0
    assert result["is_tiny"]
    assert result["library_step_ms"] > 0
