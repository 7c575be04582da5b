"""A choice that leaves nothing out."""

from __future__ import annotations

import torch

from murmur_cli.engine.speech_index import HeadSelection, SpeechRows


def whole_speech(rows: SpeechRows, kv_heads: int) -> HeadSelection:
    """Every entry of the rows' speech, in one range for each KV head."""
    ends = rows.first_entries + rows.entries
    spans = torch.stack((rows.first_entries, ends), dim=1)[:, None, None]
    return HeadSelection(
        entries_read=rows.entries.float(),
        head_ranges=spans.expand(-1, kv_heads, -1, -1).contiguous(),
        num_head_ranges=torch.ones(
            len(rows.slots), kv_heads, dtype=torch.int32, device=rows.device
        ),
    )
