"""A thread beside the main one, in which torch computes without helpers of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable


def start_side_thread(work: Callable[[], None], name: str, *, daemon: bool) -> threading.Thread:
    """Start `work` in a thread that torch may use one core of.

    A second thread that ran torch with several keeps OpenMP workers waiting, and with more
    workers than cores OpenMP sleeps at every barrier of the main thread (measured on two cores:
    recognition 24 s instead of 20).
    """
    import torch

    # Asked for first: a thread's count is settled by the first use, from the last count that any
    # thread has set. So it is also set back, for the caller and for threads to come.
    threads = torch.get_num_threads()
    limited = threading.Event()

    def run() -> None:
        torch.set_num_threads(1)
        # The thread's first use, while the last count set is still this one.
        settled = torch.get_num_threads()
        assert settled == 1, settled
        limited.set()
        work()

    thread = threading.Thread(target=run, name=name, daemon=daemon)
    thread.start()
    limited.wait()
    torch.set_num_threads(threads)
    return thread
