"""Peak resident memory of this process, as Linux counts it; imports nothing of ours."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

PROCESS = Path("/proc/self")


def reset_peak() -> bool:
    """Begin to count anew from what is resident now; False where the system cannot."""
    try:
        (PROCESS / "clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def peak_bytes() -> int:
    """Most that was resident since the last reset, or since the process began without one."""
    try:
        for line in (PROCESS / "status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
