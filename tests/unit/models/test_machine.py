from pathlib import Path

from murmur_cli.models.machine import instruction_sets, memory_limit_mb, package_version


def test_instruction_sets_when_flags_are_listed_then_the_known_ones_in_order(
    tmp_path: Path,
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu amx_tile avx avx2 avx512f\n")
    assert instruction_sets(cpuinfo) == ("avx2", "avx512f", "amx_tile")


def test_instruction_sets_when_system_does_not_say_then_none(tmp_path: Path) -> None:
    assert instruction_sets(tmp_path / "absent") is None


def test_memory_limit_when_number_then_megabytes_and_max_is_none(tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    limit.write_text("8000000000\n")
    assert memory_limit_mb(limit) == 8_000
    limit.write_text("max\n")
    assert memory_limit_mb(limit) is None
    assert memory_limit_mb(tmp_path / "absent") is None


def test_package_version_when_absent_then_none() -> None:
    assert package_version("murmur-no-such-distribution") is None
    assert package_version("pytest") is not None
