"""How many threads the numeric libraries run: numpy one, the others as many as asked for or as there are cores.

To be imported before numpy is.
"""

import os

# numpy's BLAS reads this when it is first imported. With threads of its own that takes 40 to 60 ms longer, and a scan
# of 10,000 rows on a busy machine 8 ms instead of 0.6: the threads wait for each other, and memory is the limit.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def usable(wanted: int = 0) -> int:
    """Give the number of threads wanted, or one for each core this process may run on when none is named."""
    if wanted > 0:
        return wanted
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
