"""Draws README's picture: what a run on the packaged sample prints, as it is.

Usage: python docs/picture.py SAMPLE.wav (see `make picture`).
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 100
PICTURE = Path(__file__).parent / "sample_run.svg"


def main(sample: Path) -> None:
    """Run murmur on the sample and export its output as SVG."""
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / sample.name
        link.symlink_to(sample)
        shown = f"murmur transcribe {sample.name} --show"
        murmur = Path(sys.executable).parent / "murmur"
        run = subprocess.run(
            [str(murmur), *shown.split()[1:]],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text(f"$ {shown}", style="bold"))
    console.print(Text(run.stdout.rstrip()))
    console.print()
    console.print(Text(run.stderr.rstrip(), style="green"))
    # Rich names a web font; the picture must look the same without a network.
    drawing = re.sub(r"@font-face \{.*?\}\n", "", console.export_svg(title="murmur"), flags=re.S)
    PICTURE.write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
