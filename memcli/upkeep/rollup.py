"""Replace the old episodes of a month by one summary.

A workspace gains an episode or more per conversation, and none of them fades. After some months
they crowd out other hits, so one memory of type summary takes their place. Their files stay, and
`mem restore` brings one back.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from ..formats.dates import parse_time
from ..formats.entry import Entry, format_entry
from ..formats.frontmatter import get_body
from ..formats.ids import build_id, build_slug
from ..formats.text import shorten
from ..index.index import IndexedEntry, open_index
from ..reconcile.changes import supersede
from ..store.commit import Append, Commit, Replace, commit_one
from ..store.workspace import Workspace

OLD_DAYS = 90
FEWEST = 5  # fewer episodes of a month crowd out nothing
EXCERPT = 300  # characters of an episode in a summary without a language model
LONGEST_PROMPT = 60_000  # characters
PROMPT = """\
Summarize these notes about conversations of one month. Keep every decision, name, number and date.
Write one line per topic, starting with "- ". Write nothing else.

"""


class Month(NamedTuple):
    """The old episodes of one month, project and owner, the earliest first."""

    name: str  # 2026-08
    project: str
    owner: str
    episodes: list[IndexedEntry]


def find_old_months(workspace: Workspace) -> list[Month]:
    """Return the months whose episodes are all old, and too many to leave."""
    if not workspace.is_trusted:
        return []
    latest = workspace.now - timedelta(days=OLD_DAYS)
    groups: dict[tuple[str, str, str], list[IndexedEntry]] = defaultdict(list)
    for entry in open_index(workspace).list_managed_entries():
        said = parse_time(entry.created_at)
        # What the user wrote is left alone.
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


def roll_up_all(workspace: Workspace, months: Sequence[Month]) -> None:
    for month in months:
        roll_up(workspace, month)


def roll_up(workspace: Workspace, month: Month) -> Commit:
    """Write the summary of a month, and mark its episodes as superseded by it."""
    from ..llm.client import ask, is_configured

    index = open_index(workspace, refresh_first=False)
    texts = [get_body(index.read_text(entry.path) or "") for entry in month.episodes]
    days = [entry.created_at[:10] for entry in month.episodes]
    if is_configured(workspace):
        notes = "\n\n".join(f"[{day}] {text}" for day, text in zip(days, texts, strict=True))
        body = ask(workspace, PROMPT + notes[:LONGEST_PROMPT]).strip()
    else:
        lines = [
            f"- {day}: {shorten(text, EXCERPT)}" for day, text in zip(days, texts, strict=True)
        ]
        body = "\n".join(lines)
    return save_summary(workspace, month, body)


def save_summary(workspace: Workspace, month: Month, body: str) -> Commit:
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
