"""The rule by which a file counts as unchanged. It imports nothing: the action hook uses it too."""

# A file changed this shortly before it was read may change again with the same stat.
RACY_NANOSECONDS = 20_000_000
COARSE_NANOSECONDS = 2_000_000_000  # file systems that store whole seconds


def is_settled(stat: tuple[int, int, int, int], noted: int) -> bool:
    """Return whether a file cannot have changed with the same stat since it was noted."""
    newest = max(stat[0], stat[1])
    margin = COARSE_NANOSECONDS if newest % 1_000_000_000 == 0 else RACY_NANOSECONDS
    return newest + margin < noted
