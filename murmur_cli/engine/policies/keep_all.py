"""Reads every entry: full attention."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.engine.policies.base import FocusNeed, OutputBound
from murmur_cli.engine.regions import Range, RowView, merge_ranges


@dataclass(frozen=True, slots=True)
class KeepAll:
    """Both regions in full; the reference for every other rule."""

    def select_speech(self, row: RowView) -> tuple[Range, ...]:
        """All entries of the speech region."""
        return merge_ranges((0, row.speech_entries))

    def select_output(self, row: RowView) -> tuple[Range, ...]:
        """All entries of the output region."""
        return merge_ranges((0, row.output_entries))

    @property
    def focus_need(self) -> FocusNeed | None:
        """None."""
        return None

    @property
    def bound(self) -> OutputBound | None:
        """No bound."""
        return None
