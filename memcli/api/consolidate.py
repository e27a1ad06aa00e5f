"""Turn conversations into history and memories, and the episodes of a project into one page."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..dataclass import dataclass
from ..errors import MemError, RefusedError, UsageError
from .workspace import Workspace, lazily, recorded

if TYPE_CHECKING:
    from ..beliefs.plan import Admitted as Admitted
    from ..consolidation.backlog import ImportedTranscript as ImportedTranscript
    from ..consolidation.plan import Outcome
    from ..consolidation.rollup import RolledUp as RolledUp
    from ..consolidation.rollup import RollupReport as RollupReport
    from ..store.redaction import Redacted as Redacted

__all__ = [
    "WAIT",
    "Admitted",
    "Consolidated",
    "ConsolidationReport",
    "ImportedTranscript",
    "Redacted",
    "RolledUp",
    "consolidate",
    "rollup",
]

WAIT = 600.0
"""Seconds to wait for another consolidation, which may be asking an LLM."""


__getattr__ = lazily(
    __name__,
    {
        "Admitted": "beliefs.plan",
        "ImportedTranscript": "consolidation.backlog",
        "Redacted": "store.redaction",
        "RolledUp": "consolidation.rollup",
    },
)


@dataclass(frozen=True)
class Consolidated:
    """What became, or would become, of the messages that waited in one session."""

    session: str
    how: str  # llm, rules, fallback or nothing
    messages: int
    entries: int  # those made
    memories: "tuple[Admitted, ...]"  # what became of each memory found
    paths: tuple[str, ...]  # of the files that change
    reasons: tuple[str, ...]  # why, a line each
    remarks: tuple[str, ...]
    error: str  # why the LLM gave nothing; the messages stay due
    unheard: str  # why a judge said nothing of some memories
    redacted: "tuple[Redacted, ...]"
    diff: str  # what would change, for a dry run

    def as_dict(self) -> dict[str, Any]:
        """Return the session's part of the JSON document of `mem consolidate`, without the diff."""
        return {
            "session": self.session,
            "how": self.how,
            "messages": self.messages,
            "entries": self.entries,
            "forgotten": sum(one.action == "forgotten" for one in self.memories),
            "held": sum(one.action == "held" for one in self.memories),
            "memories": [one.as_dict() for one in self.memories],
            "paths": list(self.paths),
            "remarks": list(self.remarks),
            "error": self.error,
            "redacted": [asdict(one) for one in self.redacted],
        }


@dataclass(frozen=True)
class ConsolidationReport:
    """What became, or would become, of sessions."""

    sessions: tuple[Consolidated, ...]
    dry_run: bool
    asked: int  # sessions looked at
    imported: "tuple[ImportedTranscript, ...]" = ()
    failed: tuple[MemError, ...] = ()  # what is wrong with a session stops none of the others
    notices: tuple[str, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Tell whether an LLM failed, so that rules decided or messages stay due."""
        return any(one.how == "fallback" or one.unheard for one in self.sessions)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem consolidate`."""
        return {"sessions": [one.as_dict() | ({"diff": one.diff} if self.dry_run else {}) for one in self.sessions]}


@recorded("consolidate")
def consolidate(
    workspace: Workspace,
    sessions: "str | Sequence[str | Path | BinaryIO]" = (),
    *,
    since: str = "",
    commits: str = "",
    keep: int = 0,
    dry_run: bool = False,
    judge: bool = False,
    wait: float = WAIT,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> ConsolidationReport:
    """Turn what is new in sessions into history and memories; without a name, in all where messages wait.

    `sessions` are names, paths of transcripts, or open files of such, which become sessions first. `since` is a date:
    of all that wait, only what went on then or later. `commits` is a range of git (REV..REV) to consolidate instead.
    The latest `keep` messages of each are left for the next time. With `dry_run` nothing is written. `judge` asks the
    configured LLM about memories that stand, and tells `progress` how many of how many answers are there. Messages stay
    due until all of it is on disk. Another consolidation is waited for `wait` seconds; its BusyError, as any error of
    one session, is in `failed`. Raise RefusedError if consolidation is switched off, UsageError and NotFoundError for
    arguments.
    """
    from ..consolidation.backlog import chosen_sessions, previewed_sessions
    from ..consolidation.consolidate import consolidate_all, preview
    from ..consolidation.plan import Outcome
    from ..llm import chosen_llm

    if not workspace.settings["consolidate.enabled"]:
        raise RefusedError("consolidation is switched off", "run `mem config set consolidate.enabled true`")
    if keep < 0:
        raise UsageError(f"keep {keep}", "give 0 or more")
    named = [
        str(one) if isinstance(one, Path) else one for one in ([sessions] if isinstance(sessions, str) else sessions)
    ]
    begun = workspace.moment("since", since)
    llm = chosen_llm(workspace.settings)
    asked = None
    if judge:
        from ..beliefs.llm_judge import llm_judge

        asked = llm_judge(workspace, progress)
    if dry_run:
        shown: list[Outcome] = []
        for one, events in previewed_sessions(workspace, named, commits, begun):
            shown += preview(workspace, one, llm, keep=keep, events=events, judge=asked)
        return ConsolidationReport(tuple(_consolidated(one, with_diff=True) for one in shown), dry_run, len(shown))
    chosen, imported, notices = chosen_sessions(workspace, named, commits, begun)
    done: list[Consolidated] = []
    failed: list[MemError] = []
    for outcome in consolidate_all(workspace, chosen, llm, keep=lambda _: keep, wait=wait, judge=asked):
        if isinstance(outcome, Outcome):
            done.append(_consolidated(outcome))
        else:
            failed.append(outcome)
    return ConsolidationReport(tuple(done), dry_run, len(chosen), imported, tuple(failed), notices)


def _consolidated(outcome: "Outcome", *, with_diff: bool = False) -> Consolidated:
    from ..beliefs.plan import Plan, as_diff
    from ..store.sessions.event_file import METADATA

    steps = outcome.plan.steps
    # The session's own page only counts how far it got.
    told = Plan(tuple(step for step in steps if not step.path.endswith(f"/{METADATA}"))) if with_diff else Plan()
    return Consolidated(
        outcome.session,
        outcome.how,
        outcome.messages,
        outcome.entries,
        outcome.admitted,
        tuple(dict.fromkeys(step.path for step in steps)),
        outcome.plan.reasons,
        outcome.remarks,
        outcome.error,
        outcome.unheard,
        outcome.redacted,
        as_diff(told),
    )


@recorded("rollup")
def rollup(
    workspace: Workspace, project: str = "", *, tag: str = "", everything: bool = False, dry_run: bool = False
) -> "RollupReport":
    """Sum up in one page the episodes of a project, with a tag, or of every project.

    The configured LLM tells them, or their own words do; why an LLM failed is in a page's `error`. With `everything` a
    page that cannot be changed is in `failed` and stops none of the rest. Raise UsageError unless exactly one of the
    three is given, NotFoundError if there are no episodes, RefusedError for a page that cannot be changed.
    """
    from ..beliefs.plan import applied, as_diff
    from ..consolidation.rollup import EpisodeGroup, RollupReport, groups, rollup_plan
    from ..llm import chosen_llm

    if sum(map(bool, (project, tag, everything))) != 1:
        raise UsageError("what to sum up is not clear", "name a project, --tag TAG or --all")
    chosen = groups(workspace) if everything else [EpisodeGroup(project or tag, is_tag=bool(tag))]
    llm = chosen_llm(workspace.settings)
    pages = []
    failed: list[MemError] = []
    for group in chosen:
        try:
            proposed = rollup_plan(workspace, group, llm, workspace.noise(f"rollup {group.path}")(0))
            if dry_run:
                proposed = replace(proposed, diff=as_diff(proposed.plan))
            else:
                applied(workspace, proposed.plan, "mem rollup")
            pages.append(proposed)
        except RefusedError as error:  # a page that a person has to mend stops none of the rest
            if not everything:
                raise
            failed.append(error)
    return RollupReport(tuple(pages), tuple(failed))
