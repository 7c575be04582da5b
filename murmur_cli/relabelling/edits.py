"""Changes of the speakers of a document: other names, and several made one."""

from __future__ import annotations

import copy
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from murmur_cli.errors import UsageError
from murmur_cli.relabelling.document import Document
from murmur_cli.speaker_name import clean_name


def parse_renames(values: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """Old label -> new name, of values OLD=NEW; names may hold '='.

    Raises:
        UsageError: not of that form, no such speaker, one twice, or a name that another has.
    """
    renames: dict[str, str] = {}
    for value in values:
        shown = f"--rename {value}"
        cuts = [at for at, char in enumerate(value) if char == "="]
        if not cuts:
            raise UsageError(f"{shown}: write OLD=NEW")
        found = ((at, _label(value[:at], labels)) for at in cuts)
        cut, old = next(((at, label) for at, label in found if label is not None), (0, ""))
        if not cut:
            raise UsageError(f"{shown}: no such speaker; there are {_listed(labels)}")
        if old in renames:
            raise UsageError(f"{shown}: {old} is renamed twice")
        renames[old] = clean_name(value[cut + 1 :], shown)
    after = [renames.get(label, label) for label in labels]
    for name in after:
        if after.count(name) > 1:
            raise UsageError(
                f"--rename: two speakers would be called {name}; --merge makes several one"
            )
    return renames


def parse_merges(values: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """Label -> label that it becomes part of, of values FIRST,OTHER,…; labels may hold commas.

    Raises:
        UsageError: fewer than two, no such speaker, or one twice.
    """
    merges: dict[str, str] = {}
    seen: set[str] = set()
    for value in values:
        found = _labels_in(value, labels)
        if len(found) < 2:
            raise UsageError(f"--merge {value}: name two speakers or more, with commas between")
        for label in found:
            if label in seen:
                raise UsageError(f"--merge {value}: {label} is given twice")
            seen.add(label)
        merges.update(dict.fromkeys(found[1:], found[0]))
    return merges


def edited(document: Document, merges: Mapping[str, str], renames: Mapping[str, str]) -> Document:
    """The document with speakers merged, then renamed; the given one is not changed.

    Renaming alone changes names and nothing else, so that renaming back gives the same bytes.
    """

    def called(label: str) -> str:
        label = merges.get(label, label)
        return renames.get(label, label)

    made = copy.deepcopy(document)
    for row in _rows_with_speaker(made):
        if row["speaker"] is not None:
            row["speaker"] = called(row["speaker"])
    for row in made.get("stitching", []):
        if row["runner_up"] is not None:
            row["runner_up"] = called(row["runner_up"])
            # Who came second, or got a turn, may now be the same person.
            if row["runner_up"] == row["speaker"]:
                row["runner_up"] = row["runner_up_similarity"] = row["margin"] = None
        if "moved" in row:
            row["moved"] = [turn for turn in row["moved"] if turn["speaker"] != row["speaker"]]
    if merges:
        _join_turns(made)
        made["speakers"] = _merged_speakers(made)
    return made


def _rows_with_speaker(document: Document) -> list[dict[str, Any]]:
    segments = document["segments"]
    named = (document.get("enrolment") or {}).get("speakers", [])
    return [
        *document["speakers"],
        *segments,
        *(word for segment in segments for word in segment["words"]),
        *document["turns"],
        *document.get("stitching", []),
        *(turn for row in document.get("stitching", []) for turn in row.get("moved", [])),
        *named,
    ]


def _join_turns(document: Document) -> None:
    """Turns of one speaker that overlap or touch become one."""
    last: dict[str, dict[str, Any]] = {}
    kept = []
    for turn in sorted(document["turns"], key=_by_time):
        before = last.get(turn["speaker"])
        if before is not None and turn["start_s"] <= before["end_s"]:
            before["end_s"] = max(before["end_s"], turn["end_s"])
        else:
            last[turn["speaker"]] = turn
            kept.append(turn)
    document["turns"] = sorted(kept, key=_by_time)


def _by_time(turn: dict[str, Any]) -> tuple[float, float, str]:
    return turn["start_s"], turn["end_s"], turn["speaker"]


def _merged_speakers(document: Document) -> list[dict[str, Any]]:
    """One row for each speaker, in the order of the first row of each, counted anew."""
    rows: dict[str, dict[str, Any]] = {}
    for row in document["speakers"]:
        known = rows.setdefault(row["speaker"], row)
        if known.get("channel") != row.get("channel"):
            known["channel"] = None
    for name, row in rows.items():
        spans = [turn for turn in document["turns"] if turn["speaker"] == name]
        row["speech_s"] = round(sum(turn["end_s"] - turn["start_s"] for turn in spans), 3)
        row["turns"] = len(spans)
        row["words"] = sum(
            word["speaker"] == name for segment in document["segments"] for word in segment["words"]
        )
    return list(rows.values())


def _labels_in(value: str, labels: Sequence[str]) -> list[str]:
    """The labels of a list with commas, the longest that fits at each place."""
    parts, found = value.split(","), []
    while parts:
        taken, label = _first_label(parts, labels)
        if not taken:
            raise UsageError(
                f"--merge {value}: no speaker {parts[0].strip() or 'without a name'}; there are"
                f" {_listed(labels)}"
            )
        found.append(label)
        parts = parts[taken:]
    return found


def _first_label(parts: Sequence[str], labels: Sequence[str]) -> tuple[int, str]:
    for count in range(len(parts), 0, -1):
        label = _label(",".join(parts[:count]), labels)
        if label is not None:
            return count, label
    return 0, ""


def _label(text: str, labels: Sequence[str]) -> str | None:
    """The label that is meant, in whatever form of Unicode it was typed."""
    wanted = unicodedata.normalize("NFC", text.strip())
    return next((label for label in labels if unicodedata.normalize("NFC", label) == wanted), None)


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(labels) if labels else "none"
