"""Times as the file formats write them. Each time is rounded once, to whole milliseconds."""

from murmur_cli.timebase import to_milliseconds
from murmur_cli.types import TimeSpan


def span_ms(span: TimeSpan) -> tuple[int, int]:
    """Start and end in whole milliseconds: start >= 0, end > start."""
    start_ms = max(0, to_milliseconds(span.start_s))
    return start_ms, max(start_ms + 1, to_milliseconds(span.end_s))


def clock(time_ms: int, decimal_mark: str) -> str:
    """`HH:MM:SS,mmm` with the given decimal mark; hours take more digits beyond 99."""
    seconds, milliseconds = divmod(time_ms, 1000)
    return f"{whole_clock(seconds)}{decimal_mark}{milliseconds:03d}"


def whole_clock(seconds: int) -> str:
    """`HH:MM:SS`; hours take more digits beyond 99."""
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02d}:{minute:02d}:{second:02d}"


def decimal_seconds(time_ms: int) -> str:
    """Seconds with three decimals, exact: 1500 -> `1.500`."""
    return f"{time_ms // 1000}.{time_ms % 1000:03d}"
