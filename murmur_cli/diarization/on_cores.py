"""Independent pieces of work on all cores that torch may use, one core for each.

The networks here are many small operations: with torch's own threads inside each of them the
cores wait for one another (two cores: 1.5 times one); side by side they do not. And no result
depends on the number of cores.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from murmur_cli.side_thread import start_side_thread

Job = TypeVar("Job")
Found = TypeVar("Found")


def on_cores(work: Callable[[Job], Found], jobs: Sequence[Job]) -> list[Found]:
    """`work` of each job, in the order of the jobs; each runs with one thread of torch.

    The first error of a job is raised, after the jobs that had begun by then have ended.
    """
    import torch

    found: dict[int, Found] = {}
    errors: list[BaseException] = []
    waiting = iter(range(len(jobs)))
    lock = threading.Lock()

    def take() -> int | None:
        with lock:
            return None if errors else next(waiting, None)

    def run() -> None:
        while (index := take()) is not None:
            try:
                found[index] = work(jobs[index])
            except BaseException as error:
                errors.append(error)

    threads = [
        start_side_thread(run, "diarization", daemon=True)
        for _ in range(min(torch.get_num_threads(), len(jobs)))
    ]
    try:
        for thread in threads:
            thread.join()
    except BaseException as interrupted:
        errors.append(interrupted)
        raise
    if errors:
        raise errors[0]
    return [found[index] for index in range(len(jobs))]
