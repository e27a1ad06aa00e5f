"""The rule by which a file counts as unchanged.

It imports no other module of mem, because the action hook uses it too.
"""

import os
from collections.abc import Sequence

# A file changed this shortly before it was read may change again with the same stat.
RACY_NANOSECONDS = 20_000_000
COARSE_NANOSECONDS = 2_000_000_000  # file systems that store whole seconds


def is_settled(stat: tuple[int, int, int, int], noted: int) -> bool:
    """Return whether a file cannot have changed with the same stat since it was noted."""
    newest = max(stat[0], stat[1])
    margin = COARSE_NANOSECONDS if newest % 1_000_000_000 == 0 else RACY_NANOSECONDS
    return newest + margin < noted


def is_same_file(path: str, noted: Sequence[int]) -> bool:
    """Return whether a file has not changed since the index read it.

    `noted` is the time before it was read, and its stat.
    """
    try:
        status = os.lstat(path)
    except OSError:
        return False
    stat = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
    return stat == tuple(noted[1:]) and is_settled(stat, noted[0])
