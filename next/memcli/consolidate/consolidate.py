"""Turn conversations into history and memories.

Everything that a batch leaves is saved in one commit: its memories, its record in the history and
the cursor of its session. No lock is held while a language model works. Messages that arrive
meanwhile do not matter, because the cursor is the id of a message.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import ChangedError, LlmError, MemError, UsageError
from ..formats.dates import format_time, parse_time
from ..formats.ids import build_id
from ..formats.records import format_history_record
from ..formats.text import CONTROL
from ..index.index import open_index
from ..reconcile.admit import write_memories
from ..reconcile.changes import mask_text
from ..reconcile.forget import forget_described
from ..reconcile.outcome import Outcome
from ..store.commit import Append, ChangeGroup, Replace
from ..store.sessions import Session, change_metadata, list_sessions, read_session
from ..store.workspace import Workspace
from .batch import Batch, build_batch_id, build_batches
from .page import build_page_change
from .plan import Plan, build_plan, build_plan_of_reply
from .prompt import SYSTEM, build_prompt, find_known_memories
from .reply import parse_reply
from .rules import Statement
from .batch import CONSOLIDATED_SIZE, FALLBACK_TO, TOOL, find_due_messages, read_pending

COMMAND = "consolidate"
MOST_FAILURES = 3  # of a language model, in one run


@dataclass
class Consolidated:
    """The outcome for one batch of a session."""

    session: str
    messages: int
    how: str
    history: str = ""
    history_path: str = ""
    memories: list[Outcome] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    error: str = ""  # why the language model gave no result
    undo: int = 0


class Question(NamedTuple):
    """What an agent is asked that consolidates its own conversation."""

    batch: str
    prompt: str


def consolidate_session(
    workspace: Workspace,
    session: Session,
    *,
    is_forced: bool = True,
    use_llm: bool = True,
    actor: str = "person",
    is_dry_run: bool = False,
) -> list[Consolidated]:
    """Consolidate what waits in a session, batch by batch, until a language model fails."""
    done: list[Consolidated] = []
    due = find_due_messages(workspace, session, is_forced=is_forced)
    fallback_to = str(session.other.get(FALLBACK_TO) or "")
    for batch in build_batches(workspace, session, due):
        plan = build_plan(workspace, batch, use_llm=use_llm, fallback_to=fallback_to)
        if is_dry_run:
            done.append(preview(batch, plan))
        else:
            done.append(save_plan(workspace, batch, plan, actor))
        if plan.error:
            break
    return done


def find_due_sessions(workspace: Workspace, *, is_forced: bool = False) -> list[Session]:
    """Return the sessions that are due, in the order in which to consolidate them.

    A session is due if it has many unprocessed messages, has ended, was idle for long, or if a
    language model failed on it.
    """
    sessions = sorted(list_sessions(workspace), key=get_order)
    return [
        session
        for session in sessions
        if find_due_messages(workspace, session, is_forced=is_forced)
    ]


def consolidate_sessions(
    workspace: Workspace,
    sessions: Sequence[Session],
    *,
    is_forced: bool = False,
    use_llm: bool = True,
    actor: str = "person",
    is_dry_run: bool = False,
) -> list[Consolidated]:
    """Consolidate what is due in sessions. Some failures of a language model end the run."""
    done: list[Consolidated] = []
    failures = 0
    for session in sessions:
        if failures == MOST_FAILURES:
            break  # each try takes half a minute
        try:
            results = consolidate_session(
                workspace,
                session,
                is_forced=is_forced,
                use_llm=use_llm,
                actor=actor,
                is_dry_run=is_dry_run,
            )
        except ChangedError:
            continue  # somebody else has consolidated or cleared it meanwhile
        done += results
        failures += any(result.error for result in results)
    return done


def get_order(session: Session) -> tuple[bool, str, str]:
    """Order sessions: the earliest first, because a fork repeats messages of an earlier one.

    Sessions on which a language model failed come last, so that they hold up no other one.
    """
    return (FALLBACK_TO in session.other, session.created_at, session.id)


def save_plan(workspace: Workspace, batch: Batch, plan: Plan, actor: str) -> Consolidated:
    """Save everything that a batch leaves. Raises ChangedError if another process did."""
    result = Consolidated(batch.session_id, len(batch.messages), plan.how, error=plan.error)
    # Before the commit: if the process is killed in between, the next one does it again.
    for statement in plan.forget:
        result.forgotten += forget_statement(workspace, statement, batch.project, actor)
    history = clean_history(workspace, plan.history)
    groups = build_groups(workspace, batch, plan, history, result)
    project = workspace.project
    if workspace.is_own:
        # The project of the folder in which this process runs is not that of the session.
        workspace.project = ""
    try:
        outcomes, done = write_memories(
            workspace, plan.drafts, command=COMMAND, actor=actor, extra_groups=groups
        )
    finally:
        workspace.project = project
    result.memories = outcomes
    result.undo = done.number
    result.problems = [*done.messages, *(error.message for _, error in done.rejected)]
    if result.history_path not in done.paths:
        result.history = ""
    return result


def build_groups(
    workspace: Workspace, batch: Batch, plan: Plan, history: str, result: Consolidated
) -> Iterator[ChangeGroup]:
    """Yield the changes of the history and of the session. Iterated while the lock is held."""
    session = read_session(workspace, batch.session_id)
    if session.consolidated_to != batch.after:
        raise ChangedError(f"{batch.session_id} was consolidated meanwhile")
    if history:
        moment = batch.get_moment(workspace.now)
        month = f"{moment.astimezone(workspace.zone):%Y-%m}"
        result.history, result.history_path = history, f"{workspace.prefix}HISTORY-{month}.md"
        record_id = build_id("hist", moment, workspace.context.noise)
        project = batch.project if workspace.is_own else ""
        record = format_history_record(record_id, moment, workspace.zone, history, project)
        yield ChangeGroup([Append(result.history_path, record)], redact_secrets=True)
    shortened = build_page_change(workspace, plan.page) if plan.page else None
    if isinstance(shortened, Replace):
        yield ChangeGroup([shortened])
    if plan.error:
        # The cursor stays, so that the next run tries again.
        session.other[FALLBACK_TO] = batch.last_id
    else:
        session.consolidated_to = batch.last_id
        session.other.pop(FALLBACK_TO, None)
        if batch.is_last and is_at_end(workspace, session):
            session.other[CONSOLIDATED_SIZE] = session.size
    # Ids of agents look like secrets, and the folder may be called like anything.
    yield ChangeGroup(
        [change_metadata(workspace, session)], allow_secrets=True, is_said_by_user=True
    )


def is_at_end(workspace: Workspace, session: Session) -> bool:
    """Return whether no message is behind the cursor of a session."""
    session.other.pop(CONSOLIDATED_SIZE, None)
    return all(item.speaker == TOOL for item in read_pending(workspace, session))


def clean_history(workspace: Workspace, text: str) -> str:
    """Return a text that the gates of the writer let through."""
    clean = CONTROL.sub("", mask_text(workspace, text)).strip()
    # A line of a conflict that somebody pasted is not a conflict of the file.
    lines = (f" {line}" if line[:7] in ("<" * 7, ">" * 7) else line for line in clean.split("\n"))
    return "\n".join(lines)


def forget_statement(
    workspace: Workspace, statement: Statement, project: str, actor: str
) -> list[str]:
    """Forget what the user asked to forget. Return the sentences that are hidden now."""
    said = parse_time(statement.timestamp) if statement.timestamp else None
    try:
        done = forget_described(
            workspace,
            statement.text,
            said_at=format_time(said) if said else "",
            project=project,
            command=COMMAND,
            actor=actor,
        )
    except MemError:
        return []  # there is no such memory, or it is forgotten already
    return [outcome.text for outcome in done.outcomes if not outcome.error]


def preview(batch: Batch, plan: Plan) -> Consolidated:
    """Return what would be saved."""
    memories = [Outcome("would save", text=draft.text) for draft in plan.drafts]
    return Consolidated(
        batch.session_id,
        len(batch.messages),
        plan.how,
        plan.history,
        memories=memories,
        forgotten=[statement.text for statement in plan.forget],
        error=plan.error,
    )


def ask_agent(workspace: Workspace, sessions: Sequence[Session]) -> Question | None:
    """Return the question about the first batch that waits, for an agent that answers it."""
    for session in sessions:
        for batch in build_batches(workspace, session, read_pending(workspace, session)):
            if batch.messages:
                known = find_known_memories(workspace, batch)
                return Question(batch.id, f"{SYSTEM}\n\n{build_prompt(workspace, batch, known)}")
    return None


def save_answer(workspace: Workspace, answer: str, *, actor: str = "person") -> Consolidated:
    """Save the reply of an agent to the question of `ask_agent`.

    Raises LlmError for a reply that cannot be used, and UsageError for one that is too late.
    """
    batch_id = parse_reply(answer).batch
    if not batch_id:
        raise LlmError("the answer does not name its batch", 'copy "batch" from the question')
    for session in list_sessions(workspace):
        waiting = read_pending(workspace, session)
        for item in waiting:
            if build_batch_id(session.id, session.consolidated_to, item.id) != batch_id:
                continue
            # Messages that arrived since the question wait for the next one.
            batch = build_batches(workspace, session, waiting[: item.line])[0]
            # The agent may know other memories than those in the question.
            active = open_index(workspace).list_entries("status = 'active'")
            known = [entry.id for entry in active]
            plan = build_plan_of_reply(workspace, batch, answer, "hand-in", known)
            return save_plan(workspace, batch, plan, actor)
    raise UsageError("no messages wait for this answer", "ask again: mem consolidate --ask")
