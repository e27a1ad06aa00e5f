"""Turn conversations into history and memories.

The result of a batch is saved in one commit: its memories, its record in the history and the cursor
of its session. No lock is held while a language model works. Messages that arrive meanwhile do not
matter, because the cursor is the id of a message. An agent may take the place of the language
model: it reads a prompt and hands in a reply.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import ChangedError, LlmError, MemError, UsageError
from ..index import open_index
from ..reconcile import Outcome, clean_text, forget_described, write_memories
from ..store import (
    ChangeGroup,
    Session,
    Workspace,
    change_metadata,
    list_sessions,
    read_session,
)
from .batch import (
    CONSOLIDATED_SIZE,
    FALLBACK_TO,
    TOOL,
    Batch,
    build_batch_id,
    build_batches,
    build_history_change,
    find_due_messages,
    read_pending,
)
from .plan import (
    SYSTEM,
    Plan,
    build_plan,
    build_plan_of_reply,
    build_prompt,
    find_known_memories,
    parse_reply,
)

COMMAND = "consolidate"
MOST_FAILURES = 3  # of a language model, in one run


@dataclass
class BatchResult:
    """The outcome for one batch of a session."""

    session: str
    messages: int
    method: str
    history: str = ""
    history_path: str = ""
    memories: list[Outcome] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    error: str = ""  # why the language model gave no result
    undo: int = 0


def consolidate_session(
    workspace: Workspace,
    session: Session,
    *,
    is_forced: bool = True,
    use_llm: bool = True,
    actor: str = "person",
    is_dry_run: bool = False,
) -> list[BatchResult]:
    """Consolidate the due messages of a session, until a language model fails."""
    results: list[BatchResult] = []
    due = find_due_messages(workspace, session, is_forced=is_forced)
    fallback_to = str(session.other.get(FALLBACK_TO) or "")
    for batch in build_batches(workspace, session, due):
        plan = build_plan(workspace, batch, use_llm=use_llm, fallback_to=fallback_to)
        if is_dry_run:
            results.append(preview_plan(batch, plan))
        else:
            results.append(save_plan(workspace, batch, plan, actor))
        if plan.error:
            break
    return results


def find_due_sessions(workspace: Workspace, *, is_forced: bool = False) -> list[Session]:
    """Return the sessions that are due, in the order in which to consolidate them.

    A session is due if it has many pending messages, has ended, was idle for long, or if a language
    model failed on it.
    """
    sessions = sorted(
        list_sessions(workspace),
        # The earliest first, because a fork repeats messages of an earlier one. The ones on which a
        # language model failed come last, so that they do not delay another one.
        key=lambda session: (FALLBACK_TO in session.other, session.created_at, session.id),
    )
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
) -> list[BatchResult]:
    """Consolidate the due messages of sessions, until a language model fails too often."""
    results: list[BatchResult] = []
    failures = 0
    for session in sessions:
        if failures == MOST_FAILURES:
            break  # each try takes half a minute
        try:
            new = consolidate_session(
                workspace,
                session,
                is_forced=is_forced,
                use_llm=use_llm,
                actor=actor,
                is_dry_run=is_dry_run,
            )
        except ChangedError:
            continue  # somebody else has consolidated or cleared it meanwhile
        results += new
        failures += any(result.error for result in new)
    return results


def save_plan(workspace: Workspace, batch: Batch, plan: Plan, actor: str) -> BatchResult:
    """Save the result of a batch. Raises ChangedError if another process did."""
    result = BatchResult(batch.session_id, len(batch.messages), plan.method, error=plan.error)
    # Before the commit: if the process is killed in between, the next one does it again.
    for statement in plan.forget:
        try:
            done = forget_described(
                workspace,
                statement.text,
                said_at=statement.timestamp,
                project=batch.project,
                command=COMMAND,
                actor=actor,
            )
        except MemError:
            continue  # there is no such memory, or it is forgotten already
        result.forgotten += [outcome.text for outcome in done.outcomes if not outcome.error]
    history = clean_text(workspace, plan.history)
    groups = build_groups(workspace, batch, plan, history, result)
    result.memories, commit = write_memories(
        workspace,
        plan.drafts,
        command=COMMAND,
        actor=actor,
        extra_groups=groups,
        # The project of the folder in which this process runs is not that of the session.
        default_project="" if workspace.is_own else None,
    )
    result.undo = commit.number
    result.problems = [*commit.messages, *(error.message for _, error in commit.rejected)]
    # A gate has rejected the record.
    if result.history_path not in commit.paths:
        result.history = result.history_path = ""
    return result


def build_groups(
    workspace: Workspace, batch: Batch, plan: Plan, history: str, result: BatchResult
) -> Iterator[ChangeGroup]:
    """Yield the changes of the history and of the session. Iterated while the lock is held."""
    session = read_session(workspace, batch.session_id)
    if session.consolidated_to != batch.after:
        raise ChangedError(f"{batch.session_id} was consolidated meanwhile")
    if history:
        change = build_history_change(workspace, batch, history)
        result.history, result.history_path = history, change.path
        yield ChangeGroup([change], redact_secrets=True)
    if plan.error:
        # The cursor stays, so that the next run tries again.
        session.other[FALLBACK_TO] = batch.last_id
    else:
        session.consolidated_to = batch.last_id
        session.other.pop(FALLBACK_TO, None)
        session.other.pop(CONSOLIDATED_SIZE, None)
        if batch.is_last:
            if all(item.speaker == TOOL for item in read_pending(workspace, session)):
                session.other[CONSOLIDATED_SIZE] = session.size
    # Ids of agents look like secrets, and the folder may be called like anything.
    yield ChangeGroup(
        [change_metadata(workspace, session)], allow_secrets=True, is_said_by_user=True
    )


def preview_plan(batch: Batch, plan: Plan) -> BatchResult:
    """Return the result of a batch without saving it."""
    return BatchResult(
        batch.session_id,
        len(batch.messages),
        plan.method,
        plan.history,
        memories=[Outcome("would save", text=draft.text) for draft in plan.drafts],
        forgotten=[statement.text for statement in plan.forget],
        error=plan.error,
    )


class AgentPrompt(NamedTuple):
    """The prompt about a batch, for an agent."""

    batch: str
    prompt: str


def build_agent_prompt(workspace: Workspace, sessions: Sequence[Session]) -> AgentPrompt | None:
    """Return the prompt about the first pending batch, or None if there is none."""
    for session in sessions:
        for batch in build_batches(workspace, session, read_pending(workspace, session)):
            if batch.messages:
                known = find_known_memories(workspace, batch)
                prompt = f"{SYSTEM}\n\n{build_prompt(workspace, batch, known)}"
                return AgentPrompt(batch.id, prompt)
    return None


def save_agent_reply(workspace: Workspace, reply: str, *, actor: str = "person") -> BatchResult:
    """Save the reply of an agent to the prompt of `build_agent_prompt`.

    Raises LlmError for a reply that cannot be used, and UsageError for one that is too late.
    """
    batch_id = parse_reply(reply).batch
    if not batch_id:
        raise LlmError("the answer does not name its batch", 'copy "batch" from the prompt')
    for session in list_sessions(workspace):
        pending = read_pending(workspace, session)
        for item in pending:
            if build_batch_id(session.id, session.consolidated_to, item.id) != batch_id:
                continue
            # Messages that arrived since the prompt belong to the next one.
            batch = build_batches(workspace, session, pending[: item.line])[0]
            # The agent may know other memories than those in the prompt.
            active = open_index(workspace).list_entries("status = 'active'")
            known_ids = [entry.id for entry in active]
            plan = build_plan_of_reply(workspace, batch, reply, "agent", known_ids)
            return save_plan(workspace, batch, plan, actor)
    raise UsageError("no pending messages fit this answer", "ask again: mem consolidate --ask")
