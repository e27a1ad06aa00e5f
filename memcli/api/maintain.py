"""Keep memories in shape: archive what has faded, promote what is confirmed, merge what says the same, tend the rest.

Each function that proposes changes makes them only when it is told to.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from ..dataclass import dataclass
from ..errors import RefusedError, UsageError
from .choice import require_source
from .workspace import FileProblem, Workspace, Workspaces, every, locate, recorded

if TYPE_CHECKING:
    from ..beliefs.deduplication import Tidied as Tidied
    from ..maintenance.decay import Decayed as Decayed
    from ..maintenance.promotion import Promotion as Promotion
    from ..maintenance.tend import Tended as Tended
    from ..recall.retention import Judged as Judged

__all__ = [
    "DecayReport",
    "DedupReport",
    "PromotionReport",
    "TendReport",
    "decay",
    "dedup",
    "demote",
    "merge",
    "promote",
    "tend",
]


@dataclass(frozen=True)
class DecayReport:
    """The verdicts on all active entries, the lowest score first, and what was archived."""

    entries: "tuple[Judged, ...]"
    as_of: str  # RFC 3339: the moment they were judged at
    threshold: float  # below this score an entry has faded
    needed_fraction: float  # the share to allow if more than a quarter has faded; else 0
    is_own_layout: bool  # the folder is laid out as mem does, and not as another tool
    decayed: "Decayed | None"  # None where nothing was to be archived
    problems: tuple[FileProblem, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem decay`."""
        done = self.decayed
        moved = dict(done.archived) if done else {}
        return {
            "entries": [
                {
                    **{key: one.row[key] for key in ("id", "path", "type", "tags", "summary", "pinned", "expires_at")},
                    "age_days": round(one.fading.age, 3),
                    "decay_days": one.fading.days if one.fading.days < float("inf") else None,
                    "accesses": one.fading.accesses,
                    "trust": one.fading.trust,
                    "score": round(one.score, 6),
                    "verdict": one.verdict,
                    "reason": one.reason,
                    "archived": moved.get(one.row["id"]),
                }
                for one in self.entries
            ],
            "as_of": self.as_of,
            "threshold": self.threshold,
            "applied": done is not None,
            "superseded": [identifier for identifier, _ in done.superseded] if done else [],
            "folded": list(done.folded) if done else [],
            "failed": [{"path": path, "reason": reason} for path, reason in done.problems] if done else [],
            "problems": [{"path": one.path, "line": one.line, "reason": one.reason} for one in self.problems],
        }


@recorded("decay")
def decay(workspace: Workspace, *, apply: bool = False, as_of: str = "", max_fraction: float = 0.25) -> DecayReport:
    """Judge how far entries have faded; with `apply` archive those that have.

    `as_of` is the day to judge at, such as `2027-11`. Raise RefusedError if more than `max_fraction` of the active
    entries would be archived, decay is switched off, or the workspace is not trusted; UsageError for a wrong argument.
    """
    from ..formats.times import parse_when, stamp
    from ..maintenance import decay as decaying

    if not 0 <= max_fraction <= 1:
        raise UsageError(f"{max_fraction:g} is no share of the entries", "give --max-fraction between 0 and 1")
    moment = parse_when(as_of, workspace.now, workspace.zone) if as_of else workspace.now
    if moment is None:
        raise UsageError(f"as of {as_of!r}: that is no date", "write 2027-11-21 or 2027-11")
    found = decaying.survey(workspace, moment)
    seed = " ".join(one.row["id"] for one in found.entries if one.verdict == "archive")
    done = decaying.decay(workspace, found.entries, workspace.noise(seed), max_fraction) if apply else None
    return DecayReport(
        found.entries,
        stamp(moment),
        workspace.settings["decay.threshold"],
        decaying.needed_fraction(found.entries),
        workspace.layout.is_mems,
        done,
        found.problems,
    )


@dataclass(frozen=True)
class PromotionReport:
    """What became, or is to become, of the promoted lines of the page."""

    path: str  # of the page
    promotion: "Promotion"
    budget: int  # bytes that all promoted lines may have
    applied: bool

    @property
    def diff(self) -> str:
        """Write the changes as a unified diff."""
        from ..beliefs.plan import as_diff

        return as_diff(self.promotion.plan)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem promote`."""

        def listed(pairs: tuple[tuple[str, str], ...], name: str) -> list[dict[str, str]]:
            return [{"id": one, name: text} for one, text in pairs]

        return {
            "path": self.path,
            "promoted": listed(self.promotion.promoted, "statement"),
            "changed": listed(self.promotion.changed, "statement"),
            "dropped": listed(self.promotion.dropped, "reason"),
            "passed": listed(self.promotion.passed, "reason"),
            "bytes": self.promotion.size,
            "budget": self.budget,
            "applied": self.applied,
            "diff": self.diff,
        }


@recorded("promote")
def promote(
    workspaces: Workspaces,
    names: Sequence[str] = (),
    *,
    auto: bool = False,
    apply: bool = False,
    source: str = "",
    by: str = "observed",
) -> PromotionReport:
    """Make the entries named lines of MEMORY.md; with `auto`, propose what is confirmed, and do it with `apply`.

    `names` are ids, unique parts of them or paths. `source` is whose word it is, else what the settings say, else `by`;
    what no person said is promoted for `user` alone. Raise UsageError if there is nothing to promote, RefusedError for
    what cannot be promoted, NotFoundError and AmbiguousError for names.
    """
    from ..beliefs.plan import applied
    from ..maintenance.promotion import promotion
    from .choice import require_source

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
    is_done = not auto or apply
    if is_done:
        applied(where, proposed.plan, "mem promote")
    return PromotionReport(where.layout.memory, proposed, where.settings["promote.budget"], is_done)


@recorded("promote --demote")
def demote(workspace: Workspace, names: Sequence[str]) -> PromotionReport:
    """Take the lines of entries off MEMORY.md, named by ids or unique parts of them; the entries may be gone.

    Raise UsageError if none is named, NotFoundError for a line that is not there.
    """
    from ..beliefs.plan import applied
    from ..maintenance.promotion import demotion

    if not names:
        raise UsageError("nothing to promote", "name entries, or give --auto alone")
    proposed = demotion(workspace, names)
    applied(workspace, proposed.plan, "mem promote")
    return PromotionReport(workspace.layout.memory, proposed, workspace.settings["promote.budget"], applied=True)


def _named(workspaces: Workspaces, names: Sequence[str]) -> tuple[Workspace, list[str]]:
    """Return the ids of the entries named and the one workspace they are all in."""
    from ..index.index import ask
    from ..index.lookups import id_at

    found = every(workspaces)
    where = found[0]
    ids: list[str] = []
    for name in names:
        there, place = locate(found, name, strict=True)
        if there.layout.kind_of(place.path) != "entry":
            raise RefusedError(f"{place.path} is not an entry", "only entries are promoted")
        if ids and there.root != where.root:
            raise UsageError("the entries lie in two workspaces", "promote those of one at a time")
        where = there
        ids.append(ask(there, partial(id_at, path=place.path)))
    return where, list(dict.fromkeys(ids))


@dataclass(frozen=True)
class DedupReport:
    """The entries that say what another one says, merged or to be merged."""

    workspace: Workspace
    tidied: "Tidied"
    applied: bool
    kept: tuple[tuple[str, str], ...] = ()  # files that changed meanwhile: path, and where our text is

    @property
    def diff(self) -> str:
        """Write the changes as a unified diff."""
        from ..beliefs.plan import as_diff

        return as_diff(self.tidied.plan, self.workspace)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem dedup`."""
        groups = [asdict(group) for group in self.tidied.groups]
        problems = [list(one) for one in self.tidied.problems]
        likely = [
            {
                "ids": [side.entry.id for side in question.sides],
                "texts": [side.entry.body for side in question.sides],
                "dates": [side.entry.created_at for side in question.sides],
                "p": round(question.chance, 3),
            }
            for question in self.tidied.likely
        ]
        document = {"applied": self.applied, "groups": groups, "problems": problems, "likely": likely}
        return document if self.applied else {**document, "diff": self.diff}


@recorded("dedup")
def dedup(
    workspace: Workspace,
    *,
    apply: bool = False,
    judge: bool = False,
    limit: int = 10,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> DedupReport:
    """Find entries that say the same word for word; with `apply` merge each group into one entry.

    With `judge` the configured LLM is asked about what is near in meaning, and `progress` is told how many of how many
    answers are there. With neither `tidied.likely` of the result has the surest pairs that may say the same in other
    words, as many as `limit`; 0 is no limit. Raise UsageError if no LLM is configured.
    """
    from ..beliefs.deduplication import dedup_plan
    from ..beliefs.plan import applied

    asked = None
    if judge:
        from ..beliefs.llm_judge import llm_judge

        asked = llm_judge(workspace, progress)
    tidied = dedup_plan(workspace, asked, likely=0 if apply else limit or sys.maxsize)
    kept = applied(workspace, tidied.plan, "mem dedup").kept if apply else ()
    return DedupReport(workspace, tidied, apply, tuple(kept))


@recorded("dedup")
def merge(
    workspaces: Workspaces, one: str, other: str, *, distinct: bool = False, source: str = "", by: str = "observed"
) -> DedupReport:
    """Make one memory of two, both wordings kept; with `distinct` note that they are two, and offer them no more.

    What a user said is merged on the word of a user alone (`source` or `by`): otherwise it is a proposal, and `applied`
    of the result is false. Raise UsageError for what is no entry of one workspace, RefusedError for one not in use.
    """
    from ..beliefs.decisions import answer_question
    from ..beliefs.deduplication import DuplicateGroup, Tidied
    from ..beliefs.plan import Plan
    from ..beliefs.review import by_age, pair_question
    from ..beliefs.supersession import read_entry_file
    from .edit import two_entries

    require_source(source, by)
    where, *paths = two_entries(workspaces, one, other)
    if paths[0] == paths[1]:
        raise UsageError(f"{one} and {other} are one entry", "name two entries; `mem ls` lists them")
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
    return DedupReport(where, Tidied(Plan(), groups if is_done else ()), is_done)


@dataclass(frozen=True)
class TendReport:
    """What became of the tasks that were due."""

    done: "tuple[Tended, ...]" = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem tend`."""
        return {"done": [{"task": one.name, "said": one.said} for one in self.done if not one.error]}


@recorded("tend")
def tend(workspace: Workspace) -> TendReport:
    """Do what is due: consolidate, compact, sum up, archive, promote, remove what killed writes left, embed.

    A task that fails has an `error` and stops none of the others. Raise BusyError while another process tends.
    """
    from ..maintenance.session_tasks import SESSION_TASKS
    from ..maintenance.tend import TASKS
    from ..maintenance.tend import tend as tended

    return TendReport(tuple(tended(workspace, lambda seed: workspace.noise(seed)(0), (*SESSION_TASKS, *TASKS))))
