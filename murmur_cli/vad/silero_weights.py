"""Weights of the network that the PyPI package silero-vad ships.

They are read from `silero_vad.jit`, the model that the package itself runs: the safetensors
file beside it holds the weights of another release. The package is found but not imported, for
importing it sets the number of threads of the whole process to one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from murmur_cli.errors import ModelError
from murmur_cli.types import ModelIdentity

if TYPE_CHECKING:
    from torch import Tensor

PACKAGE = "silero-vad"
MODULE = "silero_vad"

SOURCE_PREFIX = "_model."
"""The model for 16 kHz; the file holds one for 8 kHz beside it."""

SOURCE_NAMES = {
    "stft.forward_basis_buffer": "stft.weight",
    **{
        f"encoder.{index}.reparam_conv.{kind}": f"conv{index + 1}.{kind}"
        for index in range(4)
        for kind in ("weight", "bias")
    },
    **{
        f"decoder.rnn.{kind}": f"lstm.{kind}_l0"
        for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    },
    "decoder.decoder.2.weight": "output.weight",
    "decoder.decoder.2.bias": "output.bias",
}
"""Names in the package's model -> names in `SileroNetwork`."""


def silero_model_path() -> Path:
    """The package's own model.

    Raises:
        ModelError: the package is not installed, or lacks the file.
    """
    spec = importlib.util.find_spec(MODULE)
    if spec is None or spec.origin is None:
        raise ModelError(f"package {PACKAGE} is missing; install it with: pip install {PACKAGE}")
    path = Path(spec.origin).parent / "data" / "silero_vad.jit"
    if not path.is_file():
        raise ModelError(f"{path} is missing; reinstall it with: pip install -I {PACKAGE}")
    return path


def silero_identity() -> ModelIdentity:
    """Release and hash of the weights.

    Raises:
        ModelError: as `silero_model_path`.
    """
    digest = hashlib.sha256(silero_model_path().read_bytes()).hexdigest()
    return ModelIdentity(PACKAGE, f"PyPI {PACKAGE} {version(PACKAGE)}", digest, "MIT")


def read_silero_weights() -> dict[str, Tensor]:
    """Weights by their names in `SileroNetwork`, float32 on the CPU.

    Raises:
        ModelError: the package or its model is missing, damaged, or of another layout.
    """
    import torch

    path = silero_model_path()
    try:
        with warnings.catch_warnings():
            # The format is deprecated; the package ships no other with these weights.
            warnings.simplefilter("ignore")
            model = torch.jit.load(str(path), map_location="cpu")  # type: ignore[no-untyped-call] # torch leaves it untyped
            tensors = model.state_dict()
    except RuntimeError as error:
        raise ModelError(f"{path} is damaged; reinstall it: pip install -I {PACKAGE}") from error
    try:
        return {name: tensors[SOURCE_PREFIX + source] for source, name in SOURCE_NAMES.items()}
    except KeyError as error:
        raise ModelError(
            f"{path}: tensor {error} is not in it; this release of {PACKAGE}"
            f" ({version(PACKAGE)}) has another network, known is 6.x"
        ) from error
