"""What Whisper's requests look like; known before any weights are loaded."""

from murmur_cli.engine.loop_guard import LoopGuard
from murmur_cli.engine.policies.base import RequestRates
from murmur_cli.types import PackingRule

WHISPER_RATES = RequestRates(
    speech_entries_per_s=50.0,
    # Fast speech with its timestamps; at a usual rate the left edge could pass the reader.
    output_tokens_per_s=7.0,
    request_s=30.0,
    speech_is_causal=False,
    has_alignment_heads=True,
    # Its decoder rests 20 to 40 % of its attention on the last entries, padding or not.
    tail_sinks=128,
)

WHISPER_PACKING = PackingRule(max_window_s=30.0, max_span_s=60.0, max_gap_s=1.0)

WHISPER_GUARD = LoopGuard(max_tokens_per_s=20.0)
"""Speech at twice its speed gave 8 tokens a second with its timestamps, the fastest that was
measured; scripts that take three tokens for a character may have twice as many. Above that, and
the free tokens of the guard, it is no speech."""
