"""The weights of pyannote.audio's pipeline in the model hub's cache."""

from __future__ import annotations

from murmur_cli.errors import ModelError
from murmur_cli.models.checksum import sha256_of_bytes_in
from murmur_cli.models.hub import PYANNOTE_PIPELINE, cached_snapshot
from murmur_cli.models.weights import WeightFile
from murmur_cli.types import ModelIdentity

PARTS = (
    "config.yaml",
    "segmentation/pytorch_model.bin",
    "embedding/pytorch_model.bin",
    "plda/plda.npz",
    "plda/xvec_transform.npz",
)
"""Files of the pipeline, in the order in which they are hashed."""

_CURE = (
    f"accept the terms on the page of {PYANNOTE_PIPELINE}, set HF_TOKEN, then run: murmur models "
    "pull pyannote; or use --diarizer embedded"
)


def pyannote_weights() -> WeightFile:
    """Folder of the pipeline with its identity; nothing is fetched.

    Raises:
        ModelError: it is not in the cache, lacks a part, or cannot be read.
    """
    folder = cached_snapshot(PYANNOTE_PIPELINE)
    if folder is None:
        raise ModelError(
            f"--diarizer pyannote: {PYANNOTE_PIPELINE} is not in the hub's cache; {_CURE}"
        )
    paths = tuple(folder / part for part in PARTS)
    for part, path in zip(PARTS, paths, strict=True):
        if not path.is_file():
            raise ModelError(f"--diarizer pyannote: {PYANNOTE_PIPELINE} lacks {part}; {_CURE}")
    try:
        sha256 = sha256_of_bytes_in(paths)
    except OSError as error:
        raise ModelError(
            f"--diarizer pyannote: {folder} cannot be read: {error.strerror}"
        ) from error
    source = f"hub {PYANNOTE_PIPELINE}@{folder.name}"
    return WeightFile(folder, ModelIdentity("pyannote", source, sha256, "CC-BY-4.0"))
