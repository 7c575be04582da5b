"""Table and pictures of what was measured: `python -m policies.report` (recipes/ on the path)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from policies.evidence import RESULTS
from policies.pictures import pictures
from policies.run_lines import RunLines
from policies.tables import tables

COMMAND = "make policies"


def write_report(results: Path) -> list[Path]:
    """table.md and the pictures, beside the results; their paths.

    Raises:
        UsageError: a line is not one of these measurements.
    """
    runs = RunLines(results)
    made = f"Made by `{COMMAND}` from `{results.name}`; what it means: `docs/policies.md`."
    head = f"# Policies\n\n{made}\n\n"
    written = {"table.md": (head + tables(runs)).encode(), **pictures(runs)}
    for name, content in written.items():
        (results.parent / name).write_bytes(content)
    return [results.parent / name for name in written]


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    for path in write_report(parser.parse_args(arguments).results):
        print(path)


if __name__ == "__main__":
    main()
