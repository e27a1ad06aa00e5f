"""Let an agent read a conversation instead of a language model: print a prompt, save its reply."""

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import LlmError, UsageError
from ..index.index import open_index
from ..store.sessions import Session, list_sessions
from ..store.workspace import Workspace
from .batch import build_batch_id, build_batches, read_pending
from .consolidate import BatchResult, save_plan
from .plan import build_plan_of_reply
from .reply import SYSTEM, build_prompt, find_known_memories, parse_reply


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
