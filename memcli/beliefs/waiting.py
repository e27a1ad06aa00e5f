"""How many memories wait for a person's yes or no: counted from the index alone, since a session waits for it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..formats.entry import same_key
from ..formats.entry_fields import RULE_TYPES
from ..recall.retention import Judged, judged, last_accessed
from ..store import access_log
from ..store.workspace import Workspace


def waiting_count(workspace: Workspace, rows: Sequence[Mapping[str, Any]]) -> int:
    """Count the questions about active entries, given as rows of the index, and what lies in the inbox.

    Memories that are only new need no yes or no. A flag that a merge brought back counts until it is asked.
    """
    slots = {row["id"]: (same_key(row["key"]), row["project"]) if row["key"] else row["id"] for row in rows}
    flagged = {
        frozenset((row["id"], other))
        for row in rows
        for other in row["verdicts"]
        if other in slots and slots[other] != slots[row["id"]]
    }
    same_slot_pairs = sum(count * (count - 1) // 2 for count in Counter(slots.values()).values())
    return len(flagged) + same_slot_pairs + len(faded_rules(workspace, rows)) + len(workspace.inbox)


def faded_rules(workspace: Workspace, rows: Sequence[Mapping[str, Any]]) -> list[Judged]:
    """Return the rules below the threshold of decay that it spares."""
    rules = [row for row in rows if row["type"] in RULE_TYPES]
    counts = access_log.counts(workspace, last_accessed(rules))
    threshold = workspace.settings["decay.threshold"]
    return [
        rule
        for rule in judged(rules, workspace.now, workspace.settings, counts)
        if rule.verdict == "spare" and rule.score < threshold and not rule.pinned
    ]
