"""Reading the weight files of the speaker networks without running code from them."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from murmur_cli.errors import ModelError

if TYPE_CHECKING:
    import torch

# What torch's restricted unpickler was seen to raise, or can, on damaged bytes.
_UNREADABLE = (
    OSError,
    RuntimeError,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    struct.error,
    pickle.UnpicklingError,
)
_PYANNOTE_RECORDS = ("Problem", "Resolution", "Specifications")


def load_state(path: Path) -> dict[str, torch.Tensor]:
    """Tensors of a checkpoint by name, on the CPU.

    Takes a plain state dict, or a Lightning checkpoint that holds one under 'state_dict'.
    Only tensors, plain containers and pyannote's three task records are unpickled; the records
    are read as inert stand-ins, so pyannote.audio (seconds to import) is not needed.

    Raises:
        ModelError: the file is missing, damaged, or holds anything else.
    """
    import torch

    stand_ins = [
        (_stand_in(name), f"pyannote.audio.core.task.{name}") for name in _PYANNOTE_RECORDS
    ]
    try:
        with torch.serialization.safe_globals([*stand_ins, torch.torch_version.TorchVersion]):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except _UNREADABLE as error:
        reason = str(error).partition("\n")[0]
        raise ModelError(
            f"weights {path} cannot be read ({reason}); reinstall the package that ships them"
        ) from error
    state: dict[str, torch.Tensor] | None = (
        content.get("state_dict", content) if isinstance(content, dict) else None
    )
    if not state or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ModelError(
            f"weights {path} hold no state dict; reinstall the package that ships them"
        )
    return state


def load_network(network: torch.nn.Module, path: Path) -> None:
    """Fill a network from a checkpoint, name by name, and set it to inference.

    Raises:
        ModelError: as `load_state`, or names or shapes differ from the network's.
    """
    state = load_state(path)
    try:
        network.load_state_dict(state, strict=True)
    except RuntimeError as error:
        name = type(network).__name__
        raise ModelError(
            f"weights {path} are not those of {name}; give the file that belongs to it"
        ) from error
    network.eval().requires_grad_(False)


def _stand_in(name: str) -> type[Any]:
    """A class that accepts whatever a pickle gives it and does nothing."""

    def __init__(self: Any, *values: Any) -> None:
        self.values = values

    def __setstate__(self: Any, state: Any) -> None:
        self.state = state

    return type(name, (), {"__init__": __init__, "__setstate__": __setstate__})
