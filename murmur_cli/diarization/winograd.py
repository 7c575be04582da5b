"""The matrices of Winograd's convolution F(4, 3): four outputs of three taps with six products.

For inputs d (6,) and taps g (3,), the four outputs are OUTPUT @ ((TAPS @ g) * (INPUT @ d)),
where a direct convolution takes twelve products. Points 0, 1, -1, 2, -2 and infinity; the error
stays within a few float32 roundings. Source: A. Lavin, S. Gray, "Fast algorithms for
convolutional neural networks" (arXiv:1509.09308).
"""

from __future__ import annotations

OUTPUTS = 4
POINTS = 6

INPUT = (
    (4.0, 0.0, -5.0, 0.0, 1.0, 0.0),
    (0.0, -4.0, -4.0, 1.0, 1.0, 0.0),
    (0.0, 4.0, -4.0, -1.0, 1.0, 0.0),
    (0.0, -2.0, -1.0, 2.0, 1.0, 0.0),
    (0.0, 2.0, -1.0, -2.0, 1.0, 0.0),
    (0.0, 4.0, 0.0, -5.0, 0.0, 1.0),
)

TAPS = (
    (1 / 4, 0.0, 0.0),
    (-1 / 6, -1 / 6, -1 / 6),
    (-1 / 6, 1 / 6, -1 / 6),
    (1 / 24, 1 / 12, 1 / 6),
    (1 / 24, -1 / 12, 1 / 6),
    (0.0, 0.0, 1.0),
)

OUTPUT = (
    (1.0, 1.0, 1.0, 1.0, 1.0, 0.0),
    (0.0, 1.0, -1.0, 2.0, -2.0, 0.0),
    (0.0, 1.0, 1.0, 4.0, 4.0, 0.0),
    (0.0, 1.0, -1.0, 8.0, -8.0, 1.0),
)
