"""A thread beside the main one: one core of torch for it, everything as before for others."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from murmur_cli.side_thread import start_side_thread


@pytest.fixture
def three_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(threads)


def _count_in_thread() -> int:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.usefixtures("three_threads")
def test_side_thread_when_started_then_one_core_there_and_as_many_as_before_elsewhere() -> None:
    found: list[int] = []
    thread = start_side_thread(lambda: found.append(torch.get_num_threads()), "t", daemon=True)
    assert torch.get_num_threads() == 3
    assert _count_in_thread() == 3
    thread.join()
    assert found == [1]
    assert (thread.name, thread.daemon) == ("t", True)


@pytest.mark.usefixtures("three_threads")
def test_side_thread_when_torch_is_first_used_late_then_still_one_core() -> None:
    found: list[int] = []
    others_count_is_back = threading.Event()

    def work() -> None:
        others_count_is_back.wait()
        found.append(torch.get_num_threads())

    thread = start_side_thread(work, "t", daemon=True)
    others_count_is_back.set()
    thread.join()
    assert found == [1]
