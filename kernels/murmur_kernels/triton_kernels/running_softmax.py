"""Device code of a softmax whose terms come tile by tile, for all query heads of a group."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _product(a, b, acc, WIDE: tl.constexpr):
    """acc + a @ b, summed in float32; in tensor cores where both are of one half type."""
    if WIDE or a.dtype != b.dtype:
        a = a.to(tl.float32)
        b = b.to(tl.float32)
    return tl.dot(a, b, acc, input_precision="ieee")


@triton.jit
def dots(q, k, GROUPED: tl.constexpr, WIDE: tl.constexpr):
    """(heads, terms) dot products."""
    if GROUPED:
        zeros = tl.zeros((q.shape[0], k.shape[0]), tl.float32)
        found = _product(q, tl.trans(k), zeros, WIDE)
    else:
        found = tl.sum(k.to(tl.float32) * q.to(tl.float32), 1)[None, :]
    return found


@triton.jit
def add_weighted(share, v, mix, GROUPED: tl.constexpr, WIDE: tl.constexpr):
    """mix (heads, dim) plus vectors (terms, dim), each by its share (heads, terms)."""
    if GROUPED:
        mix = _product(share, v, mix, WIDE)
    else:
        mix += tl.sum(tl.trans(share.to(tl.float32)) * v.to(tl.float32), 0)[None, :]
    return mix


@triton.jit
def finite(top):
    """The highest score as what is subtracted; without a score above -inf that is nothing."""
    return tl.where(top == -float("inf"), 0.0, top)


@triton.jit
def add_terms(q, score, v, top, weight, mix, GROUPED: tl.constexpr, WIDE: tl.constexpr):
    """Terms joined to the softmax so far: highest score, sum of weights, weighted values."""
    new_top = tl.maximum(top, tl.max(score, 1))
    share = tl.exp(score - finite(new_top)[:, None])
    faded = tl.exp(top - finite(new_top))
    weight = weight * faded + tl.sum(share, 1)
    mix = mix * faded[:, None]
    narrow = share.to(v.dtype) if GROUPED and q.dtype == v.dtype else share
    return new_top, weight, add_weighted(narrow, v, mix, GROUPED, WIDE)


@triton.jit
def mean_and_lse(mix, weight, top):
    """Without a term zero and -inf; a weight that is not a number stays one."""
    some = tl.where(weight == 0.0, 1.0, weight)
    return mix / some[:, None], tl.where(weight == 0.0, -float("inf"), top + tl.log(some))
