"""JSON text that is strict, stable and can be read: one line for each record of plain values."""

from __future__ import annotations

import json
import math
from enum import Enum
from pathlib import PurePath
from typing import Any

_INDENT = " "


def dump(value: Any) -> str:
    """Strict JSON (RFC 8259) of dicts, lists, tuples, numbers, text, None, paths and enums.

    A number that is not finite becomes null. Keys keep their order.

    Raises:
        TypeError: a value of another type.
    """
    return _lay_out(_plain(value), depth=0) + "\n"


def _plain(value: Any) -> Any:
    match value:
        case None | bool():
            return value
        case Enum():
            return _plain(value.value)
        case str() | PurePath():
            return str(value)
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else None
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON: {value!r}")


def _lay_out(value: Any, depth: int) -> str:
    if isinstance(value, dict):
        items = [(f"{_inline(key)}: ", item) for key, item in value.items()]
        brackets = "{}"
    elif isinstance(value, list):
        items = [("", item) for item in value]
        brackets = "[]"
    else:
        return _inline(value)
    if not any(isinstance(item, (dict, list)) and item for _, item in items):
        return _inline(value)
    margin = _INDENT * (depth + 1)
    lines = (f"{margin}{key}{_lay_out(item, depth + 1)}" for key, item in items)
    return f"{brackets[0]}\n" + ",\n".join(lines) + f"\n{_INDENT * depth}{brackets[1]}"


def _inline(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
