"""What a review looks at in the index, and how many questions wait: light, since the start of a session asks for it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..formats.entry import same_key
from ..index.filters import Filter
from ..index.index import Index, ask
from ..recall.retention import Judged, judged, last_accessed, unread_paths
from ..store import access_log
from ..store.workspace import Workspace

RULES = ("constraint", "preference")


def waiting_count(workspace: Workspace) -> int:
    """Count the questions that need a yes or no; memories that are only new do not.

    Read from the index alone, since a session waits for it: a flag that a merge brought back counts until it is asked.
    """
    rows, _ = ask(workspace, review_rows)
    slots = {row["id"]: (same_key(row["key"]), row["project"]) if row["key"] else row["id"] for row in rows}
    flagged = {
        frozenset((row["id"], other))
        for row in rows
        for other in row["verdicts"]
        if other in slots and slots[other] != slots[row["id"]]
    }
    filling = sum(count * (count - 1) // 2 for count in Counter(slots.values()).values())
    return len(flagged) + filling + len(faded_rules(workspace, rows)) + len(workspace.inbox)


def review_rows(index: Index) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the active entries, newest first, and the files that cannot be read with their reasons."""
    index.refresh()
    problems = index.problems()
    unread = unread_paths(index.workspace, [problem.path for problem in problems])
    passed_over = unread | {
        problem.path
        for problem in problems
        if problem.left_out and index.workspace.layout.kind_of(problem.path) == "entry"
    }
    faults = [
        (problem.path, f"line {problem.line}: {problem.reason}") for problem in problems if problem.path in passed_over
    ]
    return index.list_entries(Filter(), "entries.created_at desc, path"), faults


def faded_rules(workspace: Workspace, rows: Sequence[Mapping[str, Any]]) -> list[Judged]:
    """Return the rules below the threshold of decay that it spares."""
    rules = [row for row in rows if row["type"] in RULES]
    counts = access_log.counts(workspace, last_accessed(rules))
    threshold = workspace.settings["decay.threshold"]
    return [
        rule
        for rule in judged(rules, workspace.now, workspace.settings, counts)
        if rule.verdict == "spare" and rule.score < threshold and not rule.pinned
    ]
