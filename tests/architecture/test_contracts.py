import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_imports_when_linted_then_every_contract_is_kept() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    if not linter.exists():
        pytest.skip("import-linter is not installed beside this python: pip install -e '.[dev]'")
    run = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_kernels_folder_when_root_is_on_the_path_then_it_is_no_package_of_that_name() -> None:
    # transformers asks find_spec("kernels"), the name of a distribution of its own.
    code = "import importlib.util as u; s = u.find_spec('kernels'); print(s and s.origin or '')"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    origin = run.stdout.strip()
    assert origin in ("", "namespace") or "site-packages" in origin
    assert importlib.util.find_spec("murmur_kernels") is not None
