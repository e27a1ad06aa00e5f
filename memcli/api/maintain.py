"""Keep memories in shape: archive what has faded, promote what is confirmed, merge what says the same, tend the rest.

Each function that proposes changes makes them only when it is told to.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import RefusedError, UnavailableError, UsageError
from ..store.entries import require_managed
from .choice import require_source
from .workspace import Surroundings, Workspace, Workspaces, every, locate, recorded

if TYPE_CHECKING:
    from socket import socket

    from ..beliefs.deduplication import DedupReport as DedupReport
    from ..maintenance.decay import DecayReport as DecayReport
    from ..maintenance.promotion import Promotion as Promotion
    from ..maintenance.tend import TendReport as TendReport
    from ..recall.retention import Judged as Judged


@recorded("decay")
def decay(workspace: Workspace, *, apply: bool = False, as_of: str = "", max_fraction: float = 0.25) -> "DecayReport":
    """Judge how far entries have faded; with `apply` archive those that have.

    `as_of` is the day to judge at, such as `2027-11`. Raise RefusedError if more than `max_fraction` of the active
    entries would be archived, decay is switched off, or the workspace is not trusted; UsageError for a wrong argument.
    """
    from ..formats.ids import parse_when
    from ..maintenance import decay as decaying

    if not 0 <= max_fraction <= 1:
        raise UsageError(f"{max_fraction:g} is no share of the entries", "give --max-fraction between 0 and 1")
    moment = parse_when(as_of, workspace.now, workspace.zone) if as_of else workspace.now
    if moment is None:
        raise UsageError(f"as of {as_of!r}: that is no date", "write 2027-11-21 or 2027-11")
    report = decaying.survey(workspace, moment)
    return decaying.decay(workspace, report, max_fraction) if apply else report


def fading(workspace: Workspace, days: int) -> "tuple[list[Judged], list[tuple[Judged, int]]]":
    """Return what has faded, and what will have in so many days if it is left alone, with how many until then."""
    from ..maintenance.decay import outlook

    return outlook(workspace, days)


@recorded("promote")
def promote(
    workspaces: Workspaces,
    names: Sequence[str] = (),
    *,
    auto: bool = False,
    apply: bool = False,
    source: str = "",
    by: str = "observed",
) -> "Promotion":
    """Make the entries named lines of MEMORY.md; with `auto`, propose what is confirmed, and do it with `apply`.

    `names` are ids, unique parts of them or paths. `source` is whose word it is, else what the settings say, else `by`;
    what no person said is promoted for `user` alone. Raise UsageError if there is nothing to promote, RefusedError for
    what cannot be promoted, NotFoundError and AmbiguousError for names.
    """
    from ..maintenance.promotion import promotion

    require_source(source)
    if bool(names) == auto:
        raise UsageError(
            "nothing to promote" if not names else "entries are named, or chosen by mem",
            "name entries, or give --auto alone",
        )
    where, ids = _named(workspaces, names)
    if not where.settings["promote.enabled"]:
        raise RefusedError("promotion is switched off", "switch it on with `mem config set promote.enabled true`")
    author = source or str(where.settings["write.source"]) or by
    proposed = promotion(where, ids, auto=auto, by=author)
    return proposed if auto and not apply else _promoted(where, proposed)


@recorded("promote --demote")
def demote(workspace: Workspace, names: Sequence[str]) -> "Promotion":
    """Take the lines of entries off MEMORY.md, named by ids or unique parts of them; the entries may be gone.

    Raise UsageError if none is named, NotFoundError for a line that is not there.
    """
    from ..maintenance.promotion import demotion

    if not names:
        raise UsageError("nothing to promote", "name entries, or give --auto alone")
    return _promoted(workspace, demotion(workspace, names))


def _promoted(workspace: Workspace, proposed: "Promotion") -> "Promotion":
    from ..beliefs.plan import applied

    applied(workspace, proposed.plan, "mem promote")
    return replace(proposed, applied=True)


def _named(workspaces: Workspaces, names: Sequence[str]) -> tuple[Workspace, list[str]]:
    """Return the ids of the entries named and the one workspace they are all in."""
    from ..index.index import ask
    from ..index.lookups import id_at

    opened = every(workspaces)
    where = opened[0]
    ids: list[str] = []
    for name in names:
        there, address = locate(opened, name, strict=True)
        if there.layout.kind_of(address.path) != "entry":
            raise RefusedError(f"{address.path} is not an entry", "only entries are promoted")
        require_managed(there, address.path)
        if ids and there.root != where.root:
            raise UsageError("the entries lie in two workspaces", "promote those of one at a time")
        where = there
        ids.append(ask(there, partial(id_at, path=address.path)))
    return where, list(dict.fromkeys(ids))


@recorded("dedup")
def dedup(
    workspace: Workspace,
    *,
    apply: bool = False,
    judge: bool = False,
    limit: int = 10,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> "DedupReport":
    """Find entries that say the same word for word; with `apply` merge each group into one entry.

    With `judge` the configured LLM is asked about what is near in meaning, and `progress` is told how many of how many
    answers are there. With neither `likely` of the result has the surest pairs that may say the same in other
    words, as many as `limit`; 0 is no limit. Raise UsageError if no LLM is configured.
    """
    from ..beliefs.deduplication import dedup_plan
    from ..beliefs.plan import applied

    asked = None
    if judge:
        from ..beliefs.llm_judge import llm_judge

        asked = llm_judge(workspace, progress)
    report = dedup_plan(workspace, asked, likely=0 if apply else limit or sys.maxsize)
    if not apply:
        return report
    return replace(report, applied=True, unapplied=tuple(applied(workspace, report.plan, "mem dedup").unapplied))


@recorded("dedup")
def merge(
    workspaces: Workspaces, first: str, second: str, *, distinct: bool = False, source: str = "", by: str = "observed"
) -> "DedupReport":
    """Make one memory of two, both wordings kept; with `distinct` note that they are two, and offer them no more.

    What a user said is merged on the word of a user alone (`source` or `by`): otherwise it is a proposal, and `applied`
    of the result is false. Raise UsageError for what is no entry of one workspace, RefusedError for one not in use.
    """
    from ..beliefs.decisions import answer_question
    from ..beliefs.deduplication import DedupReport, DuplicateGroup
    from ..beliefs.plan import Plan
    from ..beliefs.review import by_age, pair_question
    from ..beliefs.supersession import read_entry_file
    from .edit import two_entries

    require_source(source, by)
    where, *paths = two_entries(workspaces, first, second)
    if paths[0] == paths[1]:
        raise UsageError(f"{first} and {second} are one entry", "name two entries; `mem ls` lists them")
    sides = [read_entry_file(where, path) for path in paths]
    for side in sides:
        if side.entry.status != "active":
            raise RefusedError(f"{side.entry.id} is {side.entry.status}", f"`mem restore {side.entry.id}` first")
    question = pair_question("likely", *by_age(*sides), "named")
    by_user = "user" in (by, where.author(source, by))
    done = answer_question(where, question, "keep" if distinct else "same", "user" if by_user else "observed")
    sides = [read_entry_file(where, path) for path in paths]
    sides.sort(key=lambda side: side.entry.status != "active")
    groups = () if distinct else (DuplicateGroup(sides[0].entry.id, (sides[1].entry.id,), sides[0].entry.body),)
    is_done = done.action == "settled"
    return DedupReport(where, Plan(), is_done, groups if is_done else ())


@recorded("tend")
def tend(workspace: Workspace) -> "TendReport":
    """Do what is due: consolidate, compact, sum up, archive, promote, remove what killed writes left, embed.

    A task that fails stops none of the others. Raise BusyError while another process tends.
    """
    from ..maintenance.tend import SESSION_TASKS, TASKS
    from ..maintenance.tend import tend as tended

    return tended(workspace, (*SESSION_TASKS, *TASKS))


def hold_model(around: Surroundings) -> list[Path]:
    """Open the built-in model for all searches of this process and its forks, and return its files; none if missing."""
    from ..index.embedder import hold_built_in

    try:
        return hold_built_in(around.cache_folder)
    except UnavailableError:
        return []


def look_by(helper: "socket") -> None:
    """Have a helper look at the disk for the searches of this process and its forks."""
    from ..index import scan

    scan.helper = helper


def help_others(requests: "socket") -> None:
    """Look at the disk for the processes that ask for it, until none is left that could."""
    from ..index import scan

    scan.help_others(requests)
