"""A network of width 4 with one layer a side, every number different."""

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from murmur_cli.errors import ModelError
from murmur_cli.models.ctranslate2_file import CTranslate2Model
from murmur_cli.models.whisper_names import count_heads, count_layers, whisper_tensors

WIDTH = 4
ALIASES = {"decoder/projection/weight": "decoder/embeddings/weight"}


def _layer_shapes(side: str) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}

    def linear(name: str, rows: int, columns: int) -> None:
        shapes[f"{name}/weight"], shapes[f"{name}/bias"] = (rows, columns), (rows,)

    norms = ["self_attention", "ffn"] + (["attention"] if side == "decoder" else [])
    for name in norms:
        shapes[f"{name}/layer_norm/gamma"] = shapes[f"{name}/layer_norm/beta"] = (WIDTH,)
    linear("self_attention/linear_0", 3 * WIDTH, WIDTH)
    linear("self_attention/linear_1", WIDTH, WIDTH)
    linear("ffn/linear_0", 4 * WIDTH, WIDTH)
    linear("ffn/linear_1", WIDTH, 4 * WIDTH)
    if side == "decoder":
        linear("attention/linear_0", WIDTH, WIDTH)
        linear("attention/linear_1", 2 * WIDTH, WIDTH)
        linear("attention/linear_2", WIDTH, WIDTH)
    return {f"{side}/layer_0/{name}": shape for name, shape in shapes.items()}


def _tensors() -> dict[str, npt.NDArray[np.generic]]:
    shapes: dict[str, tuple[int, ...]] = {
        "encoder/conv1/weight": (WIDTH, 3, 3),
        "encoder/conv1/bias": (WIDTH,),
        "encoder/conv2/weight": (WIDTH, WIDTH, 3),
        "encoder/conv2/bias": (WIDTH,),
        "encoder/position_encodings/encodings": (4, WIDTH),
        "decoder/position_encodings/encodings": (5, WIDTH),
        "decoder/embeddings/weight": (7, WIDTH),
    }
    for side in ("encoder", "decoder"):
        shapes[f"{side}/layer_norm/gamma"] = shapes[f"{side}/layer_norm/beta"] = (WIDTH,)
        shapes |= _layer_shapes(side)
    count = itertools.count(1)
    tensors: dict[str, npt.NDArray[np.generic]] = {}
    for name, shape in shapes.items():
        numbers = np.array([next(count) for _ in range(int(np.prod(shape)))], np.float16)
        tensors[name] = numbers.reshape(shape)
    for name in ("encoder/layer_0/self_attention", "decoder/layer_0/self_attention"):
        tensors[f"{name}/linear_0/bias"][WIDTH : 2 * WIDTH] = 0  # the key has no bias
    tensors["decoder/layer_0/attention/linear_1/bias"][:WIDTH] = 0
    for side in ("encoder", "decoder"):
        tensors[f"{side}/num_heads"] = np.array(1, np.int16)
    tensors["decoder/pre_norm"] = np.array(1, np.int8)
    return tensors


def _model(tensors: dict[str, npt.NDArray[np.generic]]) -> CTranslate2Model:
    return CTranslate2Model(6, "WhisperSpec", 3, tensors, dict(ALIASES))


def test_names_when_network_is_whole_then_joined_projections_are_split() -> None:
    tensors = _tensors()
    named = whisper_tensors(_model(tensors), "net")
    joined = tensors["decoder/layer_0/self_attention/linear_0/weight"]
    attention = "model.decoder.layers.0.self_attn"
    assert np.array_equal(named[f"{attention}.q_proj.weight"], joined[0:4])
    assert np.array_equal(named[f"{attention}.k_proj.weight"], joined[4:8])
    assert np.array_equal(named[f"{attention}.v_proj.weight"], joined[8:12])
    bias = tensors["decoder/layer_0/self_attention/linear_0/bias"]
    assert np.array_equal(named[f"{attention}.q_proj.bias"], bias[0:4])
    assert np.array_equal(named[f"{attention}.v_proj.bias"], bias[8:12])
    assert f"{attention}.k_proj.bias" not in named
    cross = tensors["decoder/layer_0/attention/linear_1/weight"]
    assert np.array_equal(named["model.decoder.layers.0.encoder_attn.k_proj.weight"], cross[0:4])
    assert np.array_equal(named["model.decoder.layers.0.encoder_attn.v_proj.weight"], cross[4:8])


def test_names_when_network_is_whole_then_they_are_those_of_transformers() -> None:
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        vocab_size=7, d_model=WIDTH, num_mel_bins=3, max_source_positions=4,
        max_target_positions=5, encoder_layers=1, decoder_layers=1, encoder_attention_heads=1,
        decoder_attention_heads=1, encoder_ffn_dim=16, decoder_ffn_dim=16, pad_token_id=0,
        bos_token_id=0, eos_token_id=0, decoder_start_token_id=1, begin_suppress_tokens=None,
    )  # fmt: skip
    expected = {
        name: tuple(tensor.shape)
        for name, tensor in WhisperForConditionalGeneration(config).state_dict().items()
        if name != "proj_out.weight"  # tied to the embedding
    }
    named = whisper_tensors(_model(_tensors()), "net")
    assert {name: tensor.shape for name, tensor in named.items()} == expected


def test_counts_when_one_layer_a_side_then_one_layer_and_one_head() -> None:
    model = _model(_tensors())
    assert [count_layers(model, side) for side in ("encoder", "decoder")] == [1, 1]
    assert [count_heads(model, side) for side in ("encoder", "decoder")] == [1, 1]


def _changed(name: str, value: npt.NDArray[np.generic] | None) -> CTranslate2Model:
    tensors = _tensors()
    if value is None:
        del tensors[name]
    else:
        tensors[name] = value
    return _model(tensors)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("decoder/layer_0/self_attention/linear_0/bias", np.ones(12, np.float16), "not zero"),
        ("decoder/layer_0/attention/linear_1/bias", np.ones(8, np.float16), "not zero"),
        ("decoder/layer_0/attention/linear_1/weight", np.ones((12, 4), np.float16), "12 rows"),
        ("encoder/conv1/bias", np.ones(4, np.int8), "only float16"),
        ("encoder/conv1/bias", None, "encoder/conv1/bias is missing"),
        ("encoder/num_heads", None, "encoder/num_heads is missing"),
        ("encoder/extra", np.ones(2, np.float16), "encoder/extra"),
        ("decoder/pre_norm", np.array(0, np.int8), "decoder/pre_norm is 0"),
    ],
)
def test_names_when_a_tensor_is_wrong_then_error_names_it(
    name: str, value: npt.NDArray[np.generic] | None, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        whisper_tensors(_changed(name, value), "net")


@pytest.mark.parametrize(
    ("specification", "revision", "aliases", "message"),
    [
        ("TransformerSpec", 3, ALIASES, "TransformerSpec"),
        ("WhisperSpec", 2, ALIASES, "revision 2"),
        ("WhisperSpec", 3, {}, "not tied"),
    ],
)
def test_names_when_file_is_of_another_kind_then_error_says_so(
    specification: str, revision: int, aliases: dict[str, str], message: str
) -> None:
    model = CTranslate2Model(6, specification, revision, _tensors(), aliases)
    with pytest.raises(ModelError, match=message):
        whisper_tensors(model, "net")
