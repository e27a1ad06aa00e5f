"""Plan the result of a batch: by a language model, by the reply of an agent, or by rules."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import LlmError
from ..formats.session import Message
from ..formats.text import shorten
from ..llm.client import ask, is_configured
from ..reconcile.draft import Draft
from ..store.workspace import Workspace
from .batch import Batch, choose_project, get_said_at
from .digest import build_history_text
from .reply import SYSTEM, build_drafts, build_prompt, find_known_memories, parse_reply
from .rules import Statement, find_statements

FALLBACK_MARK = "[raw-fallback]"
FALLBACK_MESSAGES = 10
FALLBACK_CHARACTERS = 200  # of each message


@dataclass
class Plan:
    """The result of a batch, before it is saved."""

    method: str  # llm, agent, rules or fallback
    history: str = ""
    drafts: list[Draft] = field(default_factory=list)
    forget: list[Statement] = field(default_factory=list)  # what the user asked to forget
    page: str = ""  # a shorter MEMORY.md that a model proposes
    error: str = ""  # why there is only a fallback


def build_plan(workspace: Workspace, batch: Batch, *, use_llm: bool, fallback_to: str = "") -> Plan:
    """Return what to save of a batch. `fallback_to` is the end of a fallback that was stored."""
    if not batch.messages:
        return Plan("rules")
    if not use_llm or not is_configured(workspace):
        return build_plan_by_rules(workspace, batch)
    known = find_known_memories(workspace, batch)
    try:
        answer = ask(workspace, build_prompt(workspace, batch, known), system=SYSTEM)
        return build_plan_of_reply(workspace, batch, answer, "llm", [item.id for item in known])
    except LlmError as error:
        text = build_fallback(batch.messages, fallback_to)
        return Plan("fallback", text, error=error.message)


def build_plan_of_reply(
    workspace: Workspace, batch: Batch, answer: str, method: str, known_ids: Sequence[str]
) -> Plan:
    """Return what a reply proposes. Raises LlmError for a reply that cannot be used."""
    reply = parse_reply(answer)
    drafts = build_drafts(batch, reply, known_ids, workspace.now)
    history = reply.history
    # `{}` says that there is nothing to remember. A reply that was cut off does not.
    if not history and (drafts or reply.is_cut):
        history = build_history_text(batch.messages)
    # Nobody but the user can ask to forget something, so the rules decide that.
    forget = [item for item in find_statements(batch.messages) if item.kind == "forget"]
    return Plan(method, history, drafts, forget, reply.page)


def build_plan_by_rules(workspace: Workspace, batch: Batch) -> Plan:
    """Return what the user asked for explicitly, and the conversation's own sentences."""
    plan = Plan("rules", build_history_text(batch.messages))
    messages = {message.id: message for message in batch.messages}
    for statement in find_statements(batch.messages):
        if statement.kind == "forget":
            plan.forget.append(statement)
            continue
        plan.drafts.append(
            Draft(
                statement.text,
                type=statement.type,
                source="user",
                project=choose_project(workspace, statement.project) or batch.project,
                created_at=get_said_at(messages[statement.message_id], workspace.now),
                sources=(f"{batch.session_id}#{statement.message_id}",),
                corrects=statement.corrects,
            )
        )
    return plan


def build_fallback(messages: Sequence[Message], fallback_to: str) -> str:
    """Return the last messages as they are, except those of an earlier fallback."""
    ids = [message.id for message in messages]
    new = messages[ids.index(fallback_to) + 1 :] if fallback_to in ids else messages
    lines = [
        f"{message.speaker}: {shorten(message.text, FALLBACK_CHARACTERS)}"
        for message in new[-FALLBACK_MESSAGES:]
    ]
    return "\n".join([FALLBACK_MARK, *lines]) if lines else ""
