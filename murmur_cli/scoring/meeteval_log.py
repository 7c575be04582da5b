"""MeetEval's log messages, kept from the screen while it works."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

_LOGGERS = ("preprocess", "time_constrained", "error_rate")


@contextmanager
def quiet_meeteval() -> Iterator[None]:
    """Leave out its warnings, which repeat for every pair of speakers: long words in short
    utterances and overlaps of a speaker with himself change nothing about how we score."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
