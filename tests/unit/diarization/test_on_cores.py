import threading
from collections.abc import Iterator

import pytest
import torch

from murmur_cli.diarization.on_cores import on_cores


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_on_cores_when_jobs_end_in_any_order_then_results_are_in_theirs() -> None:
    second_done = threading.Event()

    def work(job: int) -> int:
        if job == 0:
            assert second_done.wait(10)
        second_done.set()
        return job * job

    assert on_cores(work, range(5)) == [0, 1, 4, 9, 16]


def test_on_cores_when_run_then_one_thread_of_torch_each_and_the_callers_stay() -> None:
    assert on_cores(lambda _: torch.get_num_threads(), range(3)) == [1, 1, 1]
    assert torch.get_num_threads() == 2


def test_on_cores_when_a_job_fails_then_its_error_is_raised_and_no_more_begin() -> None:
    begun = []

    def work(job: int) -> None:
        begun.append(job)
        if job == 0:
            raise ValueError("bad job")
        threading.Event().wait(0.2)

    with pytest.raises(ValueError, match="bad job"):
        on_cores(work, range(50))
    assert len(begun) < 50


def test_on_cores_when_no_jobs_then_nothing() -> None:
    assert on_cores(lambda job: job, []) == []
