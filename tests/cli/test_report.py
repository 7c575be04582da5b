"""The line that a recording leaves, from what became of it."""

from __future__ import annotations

from murmur_cli.commands.report import _kv_read, _summary
from murmur_cli.types import ChunkPlan, Flag, KvUsage
from support.factories import make_chunk, make_chunk_transcript, make_segment, make_transcript


def _line(*loops: int) -> str:
    chunks = tuple(make_chunk(60.0 * at, 60.0 * at + 60.0, at) for at in range(len(loops)))
    return _summary(
        make_transcript(
            [make_segment("so it is", 1.0, 2.0)],
            duration_s=60.0 * len(loops),
            plan=ChunkPlan(chunks, 300.0, "as set"),
            chunks=tuple(
                make_chunk_transcript(index=at, loops=number, flags=(Flag.LOOP,) if number else ())
                for at, number in enumerate(loops)
            ),
        )
    )


def test_summary_when_loops_were_cut_then_their_number_over_all_chunks() -> None:
    assert ", 3 loops cut, flags: loop" in _line(2, 0, 1)
    assert ", 1 loop cut, flags: loop" in _line(1)


def test_summary_when_no_loop_was_cut_then_it_says_nothing_of_them() -> None:
    assert "loop" not in _line(0, 0)


def test_kv_line_when_half_the_speech_was_read_then_bytes_and_shares() -> None:
    usage = KvUsage(10, 500, 1000, 80, 80, 20_000_000)
    assert _kv_read(usage) == (
        "KV read 20.0 MB, 2.0 MB a token, 50 % of speech entries, "
        "100 % of prompt and output entries"
    )
