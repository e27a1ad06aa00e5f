"""mem tags: list tags with counts."""

from ..api import open_all
from ..context import Context
from ..index.index import open_index
from .render import Result

FIELDS = ("tag", "count")


def run_tags(context: Context) -> Result:
    """List the tags of active memories, the most frequent first."""
    counts: dict[str, int] = {}
    for workspace in open_all(context):
        for tag, count in open_index(workspace).count_tags().items():
            counts[tag] = counts.get(tag, 0) + count
    pairs = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    lines = [f"{count:5}  {tag}" for tag, count in pairs]
    data = {"tags": [{"tag": tag, "count": count} for tag, count in pairs]}
    return Result(data, lines, pairs, nothing="No tags.")
