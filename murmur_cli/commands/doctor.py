"""`murmur doctor`: what this machine has, and which models a run would use and why."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Annotated

import typer

from murmur_cli.commands.console import stdout_console
from murmur_cli.commands.table import print_table
from murmur_cli.errors import ExitCode, MurmurError
from murmur_cli.models.cache_folder import cache_folder, is_writable
from murmur_cli.models.choice import choose_model, prepare
from murmur_cli.models.device import resolve_device
from murmur_cli.models.hub import hub_cache
from murmur_cli.models.machine import MachineFacts, read_machine
from murmur_cli.models.weights import PACKAGED_FILES, packaged_file


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """One model that a default run needs; `problem` is None if it is there and intact."""

    name: str
    use: str
    source: str
    problem: str | None


def doctor_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show this machine, the decoders, the cache and the models that a run would use.

    The weights are checked whole; the embedded recogniser is converted if that was not done
    yet. Exit code 4 if a model of the default run cannot be used.
    """
    facts = read_machine()
    device = resolve_device("auto")
    folder = cache_folder()
    caches = {
        "cache": f"{folder} ({'writable' if is_writable(folder) else 'NOT writable'})",
        "hub cache": str(hub_cache()),
    }
    checks = check_models(device)
    if as_json:
        _print_json(facts, device, caches, checks)
    else:
        _print_tables(facts, device, caches, checks)
    if any(check.problem for check in checks):
        raise typer.Exit(ExitCode.MODEL_MISSING)


def check_models(device: str) -> tuple[ModelCheck, ...]:
    """The recogniser of `--model auto` and the speaker networks, each checked whole."""
    return (_check_recogniser(device), *(_check_packaged(name) for name in PACKAGED_FILES))


def _check_recogniser(device: str) -> ModelCheck:
    try:
        choice = choose_model("auto", device)
        identity = prepare(choice).identity
    except MurmurError as error:
        return ModelCheck("auto", "recogniser", "", str(error))
    return ModelCheck(choice.name, f"recogniser: {choice.reason}", identity.source, None)


def _check_packaged(name: str) -> ModelCheck:
    try:
        identity = packaged_file(name).identity
    except MurmurError as error:
        return ModelCheck(name, "every run", "", str(error))
    return ModelCheck(name, "every run", identity.source, None)


def _print_json(
    facts: MachineFacts, device: str, caches: dict[str, str], checks: tuple[ModelCheck, ...]
) -> None:
    report = {
        "machine": dataclasses.asdict(facts),
        "device": device,
        **caches,
        "models": [dataclasses.asdict(check) for check in checks],
    }
    typer.echo(json.dumps(report, indent=2, ensure_ascii=False))


def _print_tables(
    facts: MachineFacts, device: str, caches: dict[str, str], checks: tuple[ModelCheck, ...]
) -> None:
    console = stdout_console()
    rows = [*_machine_rows(facts), ("device of --device auto", device), *caches.items()]
    print_table(console, ("machine", ""), rows)
    console.print()
    versions = [(name, version or "not installed") for name, version in facts.packages.items()]
    print_table(console, ("package", "version"), versions)
    console.print()
    models = [(check.name, check.problem or "ok", check.use, check.source) for check in checks]
    print_table(console, ("model", "state", "used for", "from"), models)


def _machine_rows(facts: MachineFacts) -> list[tuple[str, str]]:
    sets = "unknown" if facts.instruction_sets is None else " ".join(facts.instruction_sets)
    memory = "unknown" if facts.memory_mb is None else f"{facts.memory_mb} MB"
    if facts.memory_limit_mb is not None:
        memory += f", limited to {facts.memory_limit_mb} MB"
    rows = [
        ("system", facts.system),
        ("python", facts.python),
        ("CPU cores", str(facts.cpu_cores)),
        ("instruction sets", f"{sets or 'none of note'} (torch uses {facts.torch_capability})"),
        ("memory", memory),
    ]
    rows += [
        (f"cuda:{card.index}", f"{card.name}, {card.memory_mb} MB, capability {card.capability}")
        for card in facts.cuda_devices
    ]
    if not facts.cuda_devices:
        rows.append(("CUDA devices", "none"))
    rows += [
        (f"decoder {name}", version or "does not load") for name, version in facts.decoders.items()
    ]
    return rows
