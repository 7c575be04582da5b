"""Files are built here byte by byte from the description of the layout."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.errors import ModelError
from murmur_cli.models.ctranslate2_file import parse_ctranslate2
from support.ctranslate2_bytes import model_bytes, tensor_record, text

WEIGHT = np.arange(6, dtype=np.float16).reshape(2, 3)
SWITCH = np.array(3, dtype=np.int8)
SMALL = model_bytes({"a/weight": WEIGHT, "a/switch": SWITCH}, {"b/weight": "a/weight"})


def test_parse_when_file_is_whole_then_names_shapes_values_and_aliases_are_read() -> None:
    model = parse_ctranslate2(SMALL, "small")
    assert (model.version, model.specification, model.revision) == (6, "WhisperSpec", 3)
    assert list(model.tensors) == ["a/weight", "a/switch"]
    assert model.tensors["a/weight"].dtype == np.float16
    assert model.tensors["a/weight"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert model.tensors["a/switch"].shape == ()
    assert model.tensors["a/switch"].item() == 3
    assert model.aliases == {"b/weight": "a/weight"}


def test_parse_when_bytes_are_literal_then_layout_is_the_documented_one() -> None:
    data = (
        b"\x06\0\0\0"  # version
        b"\x02\0S\0"  # specification 'S'
        b"\x01\0\0\0"  # revision
        b"\x01\0\0\0"  # one tensor
        b"\x02\0w\0"  # name 'w'
        b"\x01\x02\0\0\0"  # rank 1, two elements
        b"\x02\x04\0\0\0"  # int16, 4 bytes
        b"\x01\0\xff\xff"  # 1, -1
        b"\0\0\0\0"  # no aliases
    )
    assert parse_ctranslate2(data, "w").tensors["w"].tolist() == [1, -1]


@settings(deadline=None, max_examples=50)
@given(cut=st.integers(0, len(SMALL) - 1))
def test_parse_when_file_is_cut_anywhere_then_error_names_it(cut: int) -> None:
    with pytest.raises(ModelError, match="small"):
        parse_ctranslate2(SMALL[:cut], "small")


@settings(deadline=None, max_examples=50)
@given(position=st.integers(0, len(SMALL) - 1), value=st.integers(0, 255))
def test_parse_when_a_byte_is_changed_then_only_model_errors_come(
    position: int, value: int
) -> None:
    damaged = SMALL[:position] + bytes([value]) + SMALL[position + 1 :]
    try:
        parse_ctranslate2(damaged, "small")
    except ModelError:
        return


def _one_record(record: bytes) -> bytes:
    return struct.pack("<I", 6) + text("S") + struct.pack("<II", 1, 1) + record + bytes(4)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (SMALL + b"\0", "1 bytes follow the end"),
        (model_bytes({}, version=3), "version 3"),
        (model_bytes({"a": WEIGHT}, {"b": "c"}), "alias b of c"),
        (model_bytes({"a": WEIGHT}, {"a": "a"}), "alias a of a"),
        (_one_record(text("w") + b"\x01\x02\0\0\0" + b"\x05\x04\0\0\0" + bytes(4)), "type 5"),
        (_one_record(text("w") + b"\x01\x02\0\0\0" + b"\x02\x05\0\0\0" + bytes(5)), "have 5 bytes"),
        (_one_record(text("w") + b"\xff" + bytes(2000)), "rank 255"),
        (_one_record(b"\x01\0w" + bytes(20)), "no end"),
        (_one_record(b"\x02\0\xff\0" + bytes(20)), "not text"),
        (
            struct.pack("<I", 6)
            + text("S")
            + struct.pack("<II", 1, 2)
            + tensor_record("w", SWITCH) * 2
            + bytes(4),
            "twice",
        ),
    ],
)
def test_parse_when_file_is_damaged_then_error_says_how(data: bytes, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        parse_ctranslate2(data, "file")
