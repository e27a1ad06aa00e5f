"""Do the maintenance that is due in a workspace, one step after another, for cron and hooks.

Each step is a command of its own in the undo log. A step that fails does not stop the others. One
step replaces the old episodes of a month by one summary: a workspace gains an episode or more per
conversation, none of them fades, and after some months they crowd out other hits.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from ..consolidate.compaction import find_long_page, shorten_due
from ..consolidate.queue import consolidate_due, find_due_conversations
from ..errors import MemError
from ..formats import (
    Entry,
    build_id,
    build_slug,
    count_noun,
    format_entry,
    get_body,
    parse_time,
    shorten,
)
from ..index import IndexedEntry, get_index, open_index, remove_leftovers, scan_workspace
from ..reconcile import (
    delete_inbox,
    find_old_inbox,
    find_pending_purges,
    find_repeats,
    merge_repeats,
    supersede,
)
from ..store import (
    Append,
    Commit,
    Replace,
    Workspace,
    commit,
    commit_one,
    hold_lock,
    prune_log,
)
from .lifecycle import (
    find_due_fading,
    find_due_promotions,
    find_outdated_lines,
    mark_faded,
    promote_due,
    update_lines,
)

OLD_DAYS = 90
FEWEST = 5  # fewer episodes of a month crowd out nothing
EXCERPT = 300  # characters of an episode in a summary without a language model
LONGEST_PROMPT = 60_000  # characters
PROMPT = """\
Summarize these notes about conversations of one month. Keep every decision, name, number and date.
Write one line per topic, starting with "- ". Write nothing else.

"""


class Step(NamedTuple):
    """Something that is due now and then."""

    name: str
    noun: str  # of an item that is due
    text: str  # what the step did with the items
    find: Callable[[Workspace], Sequence[Any]]
    run: Callable[[Workspace, Sequence[Any]], object]  # may return a text instead of `text`
    # A workspace that git shares changes only by a command that somebody typed.
    is_for_shared: bool = False


@dataclass
class StepResult:
    """The outcome of a step that was due."""

    step: str
    text: str
    count: int = 0
    error: Exception | None = None


class Month(NamedTuple):
    """The old episodes of one month, project and owner, the earliest first."""

    name: str  # 2026-08
    project: str
    owner: str
    episodes: list[IndexedEntry]


def tend(workspace: Workspace, *, dry_run: bool = False) -> list[StepResult]:
    """Do every step that is due. Each compares before it writes, so two processes do no harm."""
    results = []
    for step in STEPS:
        if workspace.is_shared and not step.is_for_shared:
            continue
        count = 0
        try:
            items = step.find(workspace)
            count = len(items)
            if not count:
                continue
            text = f"{step.name}: {count_noun(count, step.noun)}"
            if not dry_run:
                done = step.run(workspace, items)
                text = done if isinstance(done, str) else f"{text} {step.text}"
            results.append(StepResult(step.name, text, count))
        except (MemError, OSError) as error:
            results.append(StepResult(step.name, str(error), count, error))
    if not dry_run:
        # The log can wait for the next time.
        with suppress(MemError, OSError), hold_lock(workspace) as log_folder:
            if log_folder is not None:
                prune_log(workspace, log_folder)
    return results


def find_old_months(workspace: Workspace) -> list[Month]:
    """Return the months whose episodes are all old, and too many to leave."""
    if not workspace.is_trusted:
        return []
    latest = workspace.now - timedelta(days=OLD_DAYS)
    groups: dict[tuple[str, str, str], list[IndexedEntry]] = defaultdict(list)
    for entry in open_index(workspace).list_managed_entries():
        said = parse_time(entry.created_at)
        # Episodes that the user wrote stay.
        is_learned = entry.type == "episode" and entry.source != "user" and not entry.pinned
        if is_learned and said is not None:
            month = said.astimezone(workspace.zone).strftime("%Y-%m")
            groups[(month, entry.project, entry.owner)].append(entry)
    months = [
        Month(*key, sorted(episodes, key=lambda entry: entry.created_at))
        for key, episodes in sorted(groups.items())
    ]
    # A month is complete if even its last episode is old.
    before = latest.astimezone(workspace.zone).strftime("%Y-%m")
    return [month for month in months if month.name < before and len(month.episodes) >= FEWEST]


def roll_up_months(workspace: Workspace, months: Sequence[Month]) -> None:
    for month in months:
        save_summary(workspace, month, summarize_month(workspace, month))


def summarize_month(workspace: Workspace, month: Month) -> str:
    from ..llm.client import ask, is_configured

    # The search for old months has just read the files.
    index = get_index(workspace)
    dated = [
        (entry.created_at[:10], get_body(index.read_text(entry.path) or ""))
        for entry in month.episodes
    ]
    if is_configured(workspace):
        notes = "\n\n".join(f"[{day}] {text}" for day, text in dated)
        return ask(workspace, PROMPT + notes[:LONGEST_PROMPT]).strip()
    return "\n".join(f"- {day}: {shorten(text, EXCERPT)}" for day, text in dated)


def save_summary(workspace: Workspace, month: Month, body: str) -> Commit:
    """Save the summary of a month, which supersedes its episodes."""
    episodes = month.episodes
    title = " ".join(part for part in ("Summary of", month.project, month.name) if part)
    # No summary is trusted more than the least trusted of its episodes.
    weakest = min(episodes, key=lambda entry: entry.trust)
    entry = Entry(
        id=build_id("mem", workspace.now, workspace.context.noise),
        body=body,
        type="summary",
        title=title,
        project=month.project,
        owner=month.owner,
        source=weakest.source,
        trust=weakest.trust,
        # Dated by when it was said, as every memory is.
        created_at=episodes[-1].created_at,
        updated_at=workspace.stamp,
        sources=tuple(episode.id for episode in episodes),
    )
    folder = f"{workspace.entries_folder}{month.name}/"
    path = f"{folder}{build_slug(title)}-{entry.id[-6:]}.md"
    changes: list[Replace | Append] = [Replace(path, None, format_entry(entry))]
    for episode in episodes:
        changes += supersede(workspace, episode, entry.id, title)
    return commit_one(workspace, "rollup", changes, summary=title, actor="hook")


def purge(workspace: Workspace, _: Sequence[str]) -> None:
    commit(workspace, "tend", [])  # deletes what another machine purged


# In this order, because conversations bring memories that later steps promote, and lines are added
# to MEMORY.md before it is shortened.
STEPS = (
    Step("purge", "memory", "deleted, as on another machine", find_pending_purges, purge, True),
    Step(
        "repeats",
        "memory",
        "merged with the same words",
        lambda workspace: find_repeats(open_index(workspace)),
        merge_repeats,
    ),
    Step("consolidate", "conversation", "", find_due_conversations, consolidate_due),
    Step("page", "line", "of MEMORY.md updated", find_outdated_lines, update_lines),
    Step("decay", "memory", "faded", find_due_fading, partial(mark_faded, actor="hook")),
    Step("promote", "memory", "promoted to MEMORY.md", find_due_promotions, promote_due),
    Step("rollup", "month", "of episodes summarized", find_old_months, roll_up_months),
    Step("shorten", "page", "", find_long_page, shorten_due),
    Step("inbox", "memory", "deleted from the inbox after 90 days", find_old_inbox, delete_inbox),
    Step(
        "leftovers",
        "temporary file",
        "of killed commands deleted",
        lambda workspace: scan_workspace(workspace).leftovers,
        lambda workspace, _: remove_leftovers(workspace),
        True,
    ),
)
