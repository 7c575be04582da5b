"""`pytest tests/golden --refresh-golden` rewrites the expected files; review the diff."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--refresh-golden",
        action="store_true",
        help="write the expected files of tests/golden anew instead of comparing with them",
    )
