"""Arithmetic of the encoder: numbers by hand, products against float64."""

import pytest
import torch
from torch import nn

from murmur_cli.asr.whisper import encoder_arithmetic
from murmur_cli.asr.whisper.encoder_arithmetic import (
    ALLOWED,
    EncoderArithmetic,
    SplitLinear,
    apply_arithmetic,
    bfloat16_products,
    choose_arithmetic,
    split_bfloat16,
)
from murmur_cli.settings import Precision
from support.tiny_whisper import tiny_whisper

FLOAT32, SPLIT = EncoderArithmetic.FLOAT32, EncoderArithmetic.SPLIT_BFLOAT16
BFLOAT16 = EncoderArithmetic.BFLOAT16


def _linear(inputs: int, outputs: int) -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(inputs, outputs)


def test_split_of_one_and_an_eighth_of_its_last_bit_gives_both_parts() -> None:
    # bfloat16 has 8 bits of mantissa: the next number after 1 is 1 + 2^-7.
    high, low = split_bfloat16(torch.tensor([1 + 2.0**-10, -3.0, 1 + 2.0**-20]))
    assert high.tolist() == [1.0, -3.0, 1.0]
    assert low.tolist() == [2.0**-10, 0.0, 2.0**-20]


def test_split_linear_holds_only_numbers_that_bfloat16_has() -> None:
    weight = SplitLinear(_linear(64, 8))._weight
    assert torch.equal(weight, weight.bfloat16().float())


@torch.inference_mode()
def test_split_linear_is_within_two_to_the_minus_14_of_float64() -> None:
    linear = _linear(512, 64)
    inputs = torch.randn(2, 30, 512)
    expected = inputs.double() @ linear.weight.double().T + linear.bias.double()
    scale = inputs.double().abs() @ linear.weight.double().abs().T
    error = (SplitLinear(linear)(inputs).double() - expected).abs()
    assert (error <= 2.0**-14 * scale).all()
    # One bfloat16 product alone is far outside of that.
    rough = inputs.bfloat16().double() @ linear.weight.bfloat16().double().T + linear.bias.double()
    assert not ((rough - expected).abs() <= 2.0**-14 * scale).all()


def test_products_setting_is_as_before_after_an_error() -> None:
    before = torch.backends.mkldnn.matmul.fp32_precision
    seen = []

    def fail_inside() -> None:
        with bfloat16_products():
            seen.append(torch.backends.mkldnn.matmul.fp32_precision)
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fail_inside()
    assert seen == ["bf16"]
    assert torch.backends.mkldnn.matmul.fp32_precision == before


def test_float32_is_never_replaced_and_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encoder_arithmetic, "_product_s", lambda *_: pytest.fail("measured"))
    assert choose_arithmetic(Precision.FLOAT32, _linear(8, 8)) is FLOAT32


@pytest.mark.parametrize(
    ("precision", "seconds", "expected"),
    [
        (Precision.EXACT, {FLOAT32: 12.0, SPLIT: 9.9}, SPLIT),
        (Precision.EXACT, {FLOAT32: 12.0, SPLIT: 10.1}, FLOAT32),
        (Precision.FAST, {FLOAT32: 12.0, SPLIT: 4.0, BFLOAT16: 3.4}, SPLIT),
        (Precision.FAST, {FLOAT32: 12.0, SPLIT: 4.0, BFLOAT16: 3.3}, BFLOAT16),
    ],
)
def test_choice_is_the_fastest_allowed_by_a_clear_margin(
    monkeypatch: pytest.MonkeyPatch,
    precision: Precision,
    seconds: dict[EncoderArithmetic, float],
    expected: EncoderArithmetic,
) -> None:
    monkeypatch.setattr(encoder_arithmetic, "_has_instructions", lambda kind: True)
    monkeypatch.setattr(encoder_arithmetic, "_product_s", lambda layer, kind: seconds[kind])
    assert choose_arithmetic(precision, _linear(8, 8)) is expected


def test_formats_without_instructions_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[EncoderArithmetic] = []
    monkeypatch.setattr(
        encoder_arithmetic, "_has_instructions", lambda kind: kind in (FLOAT32, BFLOAT16)
    )
    monkeypatch.setattr(
        encoder_arithmetic, "_product_s", lambda layer, kind: tried.append(kind) or 1.0
    )
    assert choose_arithmetic(Precision.FAST, _linear(8, 8)) is FLOAT32
    assert tried == [FLOAT32, BFLOAT16]


def test_every_precision_allows_what_the_stricter_one_allows() -> None:
    assert set(ALLOWED[Precision.FLOAT32]) < set(ALLOWED[Precision.EXACT])
    assert set(ALLOWED[Precision.EXACT]) < set(ALLOWED[Precision.FAST])
    assert all(allowed[0] is FLOAT32 for allowed in ALLOWED.values())


@pytest.mark.parametrize(
    ("arithmetic", "tolerance"), [(FLOAT32, 0.0), (SPLIT, 1e-3), (BFLOAT16, 0.2)]
)
@torch.inference_mode()
def test_encoder_in_each_arithmetic_is_close_to_float32(
    arithmetic: EncoderArithmetic, tolerance: float
) -> None:
    encoder = tiny_whisper().model.encoder
    features = torch.randn(1, encoder.config.num_mel_bins, 2 * encoder.config.max_source_positions)
    expected = encoder(features).last_hidden_state
    apply_arithmetic(encoder, arithmetic)
    dtype = next(encoder.parameters()).dtype
    states = encoder(features.to(dtype)).last_hidden_state.float()
    assert (states - expected).abs().max() <= tolerance * expected.abs().max()


@torch.inference_mode()
def test_measuring_a_real_product_takes_every_candidate() -> None:
    layer = _linear(32, 128)
    for kind in EncoderArithmetic:
        assert encoder_arithmetic._product_s(layer, kind) > 0
