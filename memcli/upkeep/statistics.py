"""Numbers about a workspace."""

import json
import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median
from typing import Any

from ..formats import format_time
from ..index import Index
from ..recall import FOLDER
from ..reconcile import find_questions, list_inbox
from ..store import Workspace
from .check import find_known_problems
from .lifecycle import find_fading

# Ages in days, and their names.
AGES = ((7, "this week"), (30, "this month"), (90, "3 months"), (365, "a year"))
OLDER = "older"
MONTHS = 6
MOST_USED = 3

Counts = dict[str, int]


@dataclass
class Statistics:
    """Counts of the contents of a workspace."""

    files: Counts = field(default_factory=dict)  # by kind
    statuses: Counts = field(default_factory=dict)  # of entries
    types: Counts = field(default_factory=dict)  # of active entries, as the next ones
    sources: Counts = field(default_factory=dict)
    ages: Counts = field(default_factory=dict)
    growth: Counts = field(default_factory=dict)  # new entries of the last months
    texts: int = 0
    not_embedded: int = 0
    problems: int = 0
    bytes: int = 0


@dataclass
class Pending:
    """How many memories need a person's decision."""

    inbox: int = 0
    conflicts: int = 0
    fading: int = 0
    questions: int = 0  # of `mem review`: the inbox, conflicts, and two numbers for one thing


@dataclass
class Usage:
    """How the memories were used on this machine."""

    shown: int = 0  # how often memories were shown, in total
    never_shown: int = 0  # active memories
    most_shown: list[dict[str, Any]] = field(default_factory=list)
    sessions: int = 0  # agent sessions whose tokens were counted, in all workspaces
    tokens_per_session: int = 0  # median


def count_everything(index: Index) -> Statistics:
    """Return the numbers of an index that is in step with the files."""

    # Each table is small compared with reading the files, so nothing is cached.
    def count(statement: str, values: tuple[str, ...] = ()) -> Counts:
        return dict(index.run(statement, values).fetchall())

    def count_active(column: str) -> Counts:
        return count(
            f"select {column}, count(*) from entries where status = 'active'"
            " group by 1 order by 2 desc, 1"
        )

    texts, not_embedded, size = index.run(
        "select count(*), count(*) - count(vector), (select coalesce(sum(size), 0) from files)"
        " from chunks"
    ).fetchone()
    now = index.workspace.now
    # Thirty days for each month, because the exact day does not matter for a chart.
    first_month = format_time(now - timedelta(days=30 * (MONTHS - 1)))[:7]
    return Statistics(
        files=count("select kind, count(*) from files group by kind order by kind"),
        statuses=count("select status, count(*) from entries group by status order by status"),
        types=count_active("type"),
        sources=count_active("source"),
        ages=count_ages(index),
        growth=count(
            "select substr(created_at, 1, 7), count(*) from entries where created_at >= ?"
            " group by 1 order by 1",
            (first_month,),
        ),
        texts=texts,
        not_embedded=not_embedded,
        problems=len(list(find_known_problems(index))),
        bytes=size,
    )


def count_ages(index: Index) -> Counts:
    """Return how many active memories are at most so old, each counted once."""
    limits = [
        (format_time(index.workspace.now - timedelta(days=days)), name) for days, name in AGES
    ]
    # Stored times sort as texts.
    ages = Counter(
        next((name for limit, name in limits if created_at >= limit), OLDER)
        for (created_at,) in index.run("select created_at from entries where status = 'active'")
    )
    return {name: ages[name] for _, name in (*AGES, (0, OLDER)) if name in ages}


def count_pending(index: Index) -> Pending:
    """Return how many memories need a decision."""
    conflicts = index.run(
        "select count(*) from entries where status = 'active' and conflicts_with <> '[]'"
    ).fetchone()[0]
    return Pending(
        len(list_inbox(index.workspace)),
        conflicts,
        len(find_fading(index.workspace)),
        len(find_questions(index)),
    )


def count_usage(index: Index) -> Usage:
    """Return how often memories were shown on this machine."""
    counts = index.workspace.machine.read_access_counts()
    active = dict(index.run("select id, summary from entries where status = 'active'").fetchall())
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    tokens = read_shown_tokens(index.workspace)
    return Usage(
        shown=sum(counts.values()),
        never_shown=sum(entry_id not in counts for entry_id in active),
        most_shown=[
            {"id": entry_id, "text": active[entry_id], "count": count}
            for entry_id, count in ranked
            if entry_id in active
        ][:MOST_USED],
        sessions=len(tokens),
        tokens_per_session=round(median(tokens)) if tokens else 0,
    )


def read_shown_tokens(workspace: Workspace) -> list[int]:
    """Return the tokens that each recent agent session was shown, in all workspaces."""
    state_folder = workspace.context.state_folder
    tokens = []
    with suppress(OSError):
        for file in os.scandir(f"{state_folder}/{FOLDER}"):
            with (
                # Another process may be writing the file, and any program can put a list there.
                suppress(OSError, ValueError, AttributeError),
                open(file, encoding="utf-8") as text,
            ):
                number = json.load(text).get("tokens")
                if isinstance(number, int):
                    tokens.append(number)
    return tokens
