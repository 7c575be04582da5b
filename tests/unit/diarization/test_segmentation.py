from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.diarization.frame_grid import plan_windows
from murmur_cli.diarization.segmentation import Segmenter
from murmur_cli.models.weights import packaged_file
from murmur_cli.types import SampleSpan

pytestmark = pytest.mark.embedded


def test_segment_when_windows_share_filters_then_equal_to_windows_alone(sample_wav: Path) -> None:
    samples, _ = soundfile.read(sample_wav, dtype="float32")
    segmenter = Segmenter(packaged_file("segmentation-3.0").path)
    span = SampleSpan(1_000, len(samples))
    grid = plan_windows(span, 5.0)
    whole = segmenter.segment(samples, grid, (span,))
    # Speech at both ends only: two windows far apart, each filtered by itself.
    ends = (SampleSpan(1_000, 1_100), SampleSpan(len(samples) - 100, len(samples)))
    apart = segmenter.segment(samples, grid, ends)
    assert len(grid.window_starts) == 5
    np.testing.assert_allclose(apart.probability[0], whole.probability[0], atol=1e-4)
    np.testing.assert_allclose(apart.probability[-1], whole.probability[-1], atol=1e-4)
    assert not apart.active[1:-1].any()
    assert whole.active[1:-1].any()
