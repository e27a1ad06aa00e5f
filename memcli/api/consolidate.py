"""Turn conversations into history and memories, and the episodes of a project into one page."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ..errors import MemError, RefusedError, UsageError
from .workspace import Workspace, recorded

if TYPE_CHECKING:
    from ..beliefs.llm_judge import LlmJudge
    from ..consolidation.consolidate import ConsolidationReport as ConsolidationReport
    from ..consolidation.consolidate import ReplyRequest as ReplyRequest
    from ..consolidation.plan import Outcome
    from ..consolidation.rollup import RollupReport as RollupReport
    from ..store.entries import Admitted as Admitted

WAIT = 600.0
"""Seconds to wait for another consolidation, which may be asking an LLM."""


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
) -> "ConsolidationReport":
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
    from ..consolidation.consolidate import ConsolidationReport, consolidate_all, preview
    from ..consolidation.plan import Outcome
    from ..llm import chosen_llm

    named = _named(workspace, sessions, keep)
    since_moment = workspace.moment("since", since)
    llm = chosen_llm(workspace.settings)
    asked = _judge(workspace, progress) if judge else None
    if dry_run:
        shown: list[Outcome] = []
        for session, events in previewed_sessions(workspace, named, commits, since_moment):
            parts = preview(workspace, session, llm, keep=keep, upto="", events=events, judge=asked)
            shown += (replace(part, diff=_diff(part)) for part in parts)
        return ConsolidationReport(tuple(shown), len(shown))
    chosen, imported, notices = chosen_sessions(workspace, named, commits, since_moment)
    outcomes: list[Outcome] = []
    failed: list[MemError] = []
    for outcome in consolidate_all(workspace, [(session, keep) for session in chosen], llm, wait=wait, judge=asked):
        if isinstance(outcome, Outcome):
            outcomes.append(outcome)
        else:
            failed.append(outcome)
    return ConsolidationReport(tuple(outcomes), len(chosen), imported, tuple(failed), notices)


@recorded("consolidate")
def hand_in(
    workspace: Workspace,
    session: "str | Path | BinaryIO",
    answer: str,
    *,
    upto: str,
    keep: int = 0,
    dry_run: bool = False,
    judge: bool = False,
    wait: float = WAIT,
) -> "ConsolidationReport":
    """Consolidate a session by a reply to `reply_request`, taken for an LLM's; the session is named as there.

    It is about the messages `upto`, which the request names. What repeats whole sentences of the user is theirs; what
    rewords them is observed, and has the sentence among its sources. Raise UsageError for an answer that cannot be
    read, and where other messages wait than those; then nothing is written. The rest is as in `consolidate`, but any
    error is raised.
    """
    from ..consolidation.backlog import chosen_sessions, previewed_sessions
    from ..consolidation.consolidate import ConsolidationReport, consolidate, preview
    from ..consolidation.llm_extractor import HandedIn

    source = session if isinstance(session, str | Path) else BytesIO(session.read())
    named, llm = _named(workspace, [source], keep), HandedIn(answer)
    asked = _judge(workspace) if judge else None
    ((previewed, events),) = previewed_sessions(workspace, named, "", "")
    if dry_run or events is not None:  # what cannot be answered becomes no session
        parts = preview(
            workspace, previewed, llm, keep=keep, upto=upto, events=events, judge=asked if dry_run else None
        )
        if dry_run:
            return ConsolidationReport(tuple(replace(part, diff=_diff(part)) for part in parts), 1)
    if isinstance(source, BytesIO):
        source.seek(0)
    (chosen,), imported, notices = chosen_sessions(workspace, named, "", "")
    outcomes = consolidate(workspace, chosen, llm, keep=keep, upto=upto, wait=wait, most=1, judge=asked)
    return ConsolidationReport(tuple(outcomes), 1, imported, (), notices)


def reply_request(workspace: Workspace, session: "str | Path | BinaryIO", *, keep: int = 0) -> "ReplyRequest":
    """Return what an LLM would be asked about a session, for whoever answers in its place; nothing is written.

    The session is named as `consolidate` takes it. Raise RefusedError, UsageError and NotFoundError as that does.
    """
    from ..consolidation.backlog import previewed_sessions
    from ..consolidation.consolidate import reply_request as request

    ((chosen, events),) = previewed_sessions(workspace, _named(workspace, [session], keep), "", "")
    return request(workspace, chosen, keep=keep, events=events)


def _named(workspace: Workspace, sessions: "str | Sequence[str | Path | BinaryIO]", keep: int) -> list[str | BinaryIO]:
    if not workspace.settings["consolidate.enabled"]:
        raise RefusedError("consolidation is switched off", "run `mem config set consolidate.enabled true`")
    if keep < 0:
        raise UsageError(f"keep {keep}", "give 0 or more")
    each = [sessions] if isinstance(sessions, str) else sessions
    return [str(session) if isinstance(session, Path) else session for session in each]


def _judge(workspace: Workspace, progress: Callable[[int, int], object] = lambda done, total: None) -> "LlmJudge":
    from ..beliefs.llm_judge import llm_judge

    return llm_judge(workspace, progress)


def _diff(outcome: "Outcome") -> str:
    """Write as a unified diff what changes but the session's own page, which only counts how far it got."""
    from ..beliefs.plan import Plan, as_diff
    from ..store.sessions.event_file import METADATA

    return as_diff(Plan(tuple(step for step in outcome.plan.steps if not step.path.endswith(f"/{METADATA}"))))


@recorded("session rollup")
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
            proposed = rollup_plan(workspace, group, llm, workspace.noise(f"rollup {group.path}"))
            if dry_run:
                proposed = replace(proposed, diff=as_diff(proposed.plan))
            else:
                applied(workspace, proposed.plan, "mem session rollup")
            pages.append(proposed)
        except RefusedError as error:  # a page that a person has to mend stops none of the rest
            if not everything:
                raise
            failed.append(error)
    return RollupReport(tuple(pages), tuple(failed))
