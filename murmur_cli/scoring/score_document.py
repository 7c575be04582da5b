"""The scoreboard as plain values: the JSON document and the rows of the CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

from murmur_cli import __version__
from murmur_cli.scoring.counts import Counts, TimeCounts, WordCounts
from murmur_cli.scoring.scoreboard import Scoreboard
from murmur_cli.scoring.session_score import SessionScore

SCHEMA_VERSION = "1.0"
CSV_HEADER = (
    *("scope", "session", "standing", "speaker", "hypothesis_speaker"),
    *("metric", "percent", "errors", "length"),
    *("insertions", "deletions", "substitutions", "missed_s", "false_alarm_s", "confusion_s"),
    "method",
)


def score_json(board: Scoreboard) -> str:
    """The document of docs/score.md as strict JSON."""
    return json.dumps(_document(board), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def score_csv(board: Scoreboard) -> str:
    """One row for each metric of each session, speaker of a session, speaker, and of the pool."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CSV_HEADER, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(_rows(board))
    return text.getvalue()


def _document(board: Scoreboard) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "versions": {
            "murmur": __version__,
            "meeteval": version("meeteval"),
            "pyannote.metrics": version("pyannote.metrics"),
        },
        "normalizer": {
            "name": board.normalizer.name,
            "description": board.normalizer.description,
        },
        "collar_s": board.settings.collar_s,
        "der_collar_s": board.settings.der_collar_s,
        "skip_overlap": board.settings.skip_overlap,
        "pooled": {
            "sessions": len(board.counted),
            "of": len(board.sessions),
            "metrics": {name: _counts(counts) for name, counts in board.pooled().items()},
        },
        "sessions": [_session(session) for session in board.sessions],
        "speakers": [
            {
                "speaker": total.speaker,
                "sessions": total.sessions,
                "cpwer": _counts(total.cpwer),
                "tcpwer": _counts(total.tcpwer),
            }
            for total in board.speakers()
        ],
        "without_reference": list(board.without_reference),
    }


def _session(session: SessionScore) -> dict[str, Any]:
    reference, hypothesis = session.pair.reference, session.pair.hypothesis
    return {
        "session_id": session.session_id,
        "standing": session.standing,
        "note": session.pair.note,
        "region": session.region,
        "words_from": [reference.words_from, hypothesis and hypothesis.words_from],
        "turns_from": [reference.turns_from, hypothesis and hypothesis.turns_from],
        "speakers": [session.speakers, session.found_speakers],
        "metrics": {
            name: _counts(counts)
            | ({"method": session.words[name].method} if name in session.words else {})
            for name, counts in session.counts.items()
        },
        "pairs": {
            name: [
                {"reference": pair.reference, "hypothesis": pair.hypothesis, **_counts(pair.counts)}
                for pair in session.words[name].speakers
            ]
            for name in ("cpwer", "tcpwer")
            if name in session.words
        },
    }


def _counts(counts: Counts) -> dict[str, Any]:
    """Percent first, then what it is made of."""
    percent = None if counts.percent is None else round(counts.percent, 4)
    if isinstance(counts, WordCounts):
        return {
            "percent": percent,
            "errors": counts.errors,
            "length": counts.length,
            "insertions": counts.insertions,
            "deletions": counts.deletions,
            "substitutions": counts.substitutions,
        }
    if isinstance(counts, TimeCounts):
        return {
            "percent": percent,
            "errors": round(counts.errors_s, 3),
            "length": round(counts.total_s, 3),
            "missed_s": round(counts.missed_s, 3),
            "false_alarm_s": round(counts.false_alarm_s, 3),
            "confusion_s": round(counts.confusion_s, 3),
        }
    return {"percent": percent, "errors": round(counts.errors, 6), "length": counts.speakers}


def _rows(board: Scoreboard) -> Iterator[dict[str, Any]]:
    for session in board.sessions:
        head = {"session": session.session_id, "standing": session.standing}
        if not session.counts:
            yield {"scope": "session", **head}
        for name, counts in session.counts.items():
            method = session.words[name].method if name in session.words else ""
            yield {"scope": "session", **head, **_row(name, counts), "method": method}
        for name, score in session.words.items():
            for pair in score.speakers:
                yield {
                    "scope": "pair",
                    **head,
                    "speaker": pair.reference or "",
                    "hypothesis_speaker": pair.hypothesis or "",
                    **_row(name, pair.counts),
                }
    for total in board.speakers():
        for name, counts in (("cpwer", total.cpwer), ("tcpwer", total.tcpwer)):
            yield {"scope": "speaker", "speaker": total.speaker or "", **_row(name, counts)}
    for name, counts in board.pooled().items():
        yield {"scope": "pooled", **_row(name, counts)}


def _row(metric: str, counts: Counts) -> Mapping[str, Any]:
    values = {key: "" if value is None else value for key, value in _counts(counts).items()}
    return {"metric": metric, **values}
