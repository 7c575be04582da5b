"""JSON whose numbers stay text, so that an id that looks like one keeps all its digits."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from murmur_cli.errors import RecordingError


def parse_json(text: str) -> Any:
    """The document, every number as the text it was written as.

    Raises:
        RecordingError: not JSON, or a NaN or Infinity in it.
    """
    try:
        return json.loads(text, parse_float=str, parse_int=str, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise RecordingError(f"not JSON: line {error.lineno}, {error.msg}") from None
    except RecursionError:
        raise RecordingError("not readable as JSON: nested too deeply") from None


def _refuse(name: str) -> NoReturn:
    raise RecordingError(f"not JSON: {name} is no number")
