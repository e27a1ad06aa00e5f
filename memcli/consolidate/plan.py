"""Plan the result of a batch: by a language model, by the reply of an agent, or by rules."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..errors import LlmError
from ..formats import Message, build_words_digest, find_words, shorten
from ..index import open_index
from ..llm.client import ask, is_configured
from ..reconcile.draft import Draft
from ..store import Workspace
from .batch import Batch, choose_project, get_said_at
from .compaction import build_history_text
from .language import STEM, find_own_sentences
from .reply import SYSTEM, Proposal, Reply, build_prompt, find_known_memories, parse_reply
from .rules import Statement, find_statements

FALLBACK_MARK = "[raw-fallback]"
FALLBACK_MESSAGES = 10
FALLBACK_CHARACTERS = 200  # of each message
NUMBER = re.compile(r"\d+")
NEGATION = re.compile(
    r"\b(?:not|never|no|none|nor|without|cannot|kein\w*|nicht|nie|nunca|jamais)\b|n['’]t\b",
    re.IGNORECASE,
)
SHARED_WORDS = 0.6  # of the words of a memory, if the user is said to have said it
FRAME_WORDS = frozenset(
    "user users the a an is are was and or of to in on for with they their".split()
)


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
    """Return the plan for a batch. `fallback_to` is the end of a stored fallback."""
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
    """Return the plan of a reply. Raises LlmError if it cannot be used."""
    reply = parse_reply(answer)
    drafts = build_drafts(batch, reply, known_ids, workspace.now)
    history = reply.history
    # `{}` says that there is nothing to remember. A reply that was cut off does not.
    if not history and (drafts or reply.is_cut):
        history = build_history_text(batch.messages)
    # Nobody but the user can ask to forget something, so the rules decide that.
    forget = [item for item in find_open_statements(batch) if item.kind == "forget"]
    return Plan(method, history, drafts, forget, reply.page)


def build_drafts(
    batch: Batch, reply: Reply, known_ids: Sequence[str], now: datetime
) -> list[Draft]:
    """Return the drafts of a reply.

    The conversation decides whose words they are, and when they were said.
    """
    own_words = {
        message.id: "\n".join(sentence.text for sentence in find_own_sentences(message.text))
        for message in batch.messages
        if message.speaker == "user"
    }
    drafts = []
    for proposal in reply.memories:
        message, is_own = find_message(batch, proposal, own_words)
        claims_user = proposal.said_by in ("user", "user_stated", "stated", "human")
        source = "inferred"
        if claims_user:
            source = "user" if is_own else "observed"
        elif proposal.said_by in ("assistant", "observed", "agent", "tool"):
            source = "observed"
        supersedes = [
            name for name in known_ids if proposal.supersedes and name.endswith(proposal.supersedes)
        ]
        drafts.append(
            Draft(
                proposal.text,
                type=proposal.type,
                key=proposal.key,
                tags=proposal.tags,
                files=proposal.files,
                source=source,
                project=batch.project,
                created_at=get_said_at(message, now) if message else "",
                is_undated=message is not None and message.is_undated,
                sources=(f"{batch.session_id}#{message.id if message else batch.last_id}",),
                supersedes=supersedes[:1],
            )
        )
    return drafts


def find_message(
    batch: Batch, proposal: Proposal, own_words: Mapping[str, str]
) -> tuple[Message | None, bool]:
    """Return the message of a memory, and whether its words are the user's."""
    cited = batch.messages[proposal.message - 1 : proposal.message] if proposal.message else []
    wanted = find_stems(proposal.text)
    numbers = set(NUMBER.findall(proposal.text))
    for message in [*cited, *reversed(batch.messages)]:
        text = own_words.get(message.id, "")
        shared = wanted & find_stems(text)
        # A number that the user did not say makes it another statement.
        has_numbers = numbers <= set(NUMBER.findall(text))
        is_said = text and wanted and has_numbers and len(shared) >= SHARED_WORDS * len(wanted)
        if is_said and not is_negated(proposal.text, text):
            return message, True
    if cited:
        return cited[0], False
    shares = [(len(wanted & find_stems(item.text)), item.line, item) for item in batch.messages]
    return (max(shares)[2] if shares else None), False


def is_negated(statement: str, text: str) -> bool:
    """Return whether a statement negates its closest line in a text, or vice versa."""
    wanted = find_stems(statement)
    line = max(text.split("\n"), key=lambda line: len(wanted & find_stems(line)))
    return bool(NEGATION.search(statement)) != bool(NEGATION.search(line))


def find_stems(text: str) -> set[str]:
    words = [word for _, _, word in find_words(text)]
    return {word[:STEM] for word in words if word not in FRAME_WORDS}


def find_open_statements(batch: Batch) -> list[Statement]:
    """Return the statements of a batch, except requests that are carried out.

    The user may have undone them since.
    """
    answered = {message.id for message in batch.messages if message.is_answered}
    return [
        item
        for item in find_statements(batch.messages)
        if item.message_id not in answered or item.kind not in ("request", "forget")
    ]


def find_withdrawn(workspace: Workspace, batch: Batch) -> list[str]:
    """Return the statements that the prompt hook saved and that are no longer memories."""
    answered = {message.id for message in batch.messages if message.is_answered}
    if not answered:
        return []
    index = open_index(workspace)
    return [
        item.text
        for item in find_statements(batch.messages)
        if item.message_id in answered
        and item.kind == "request"
        and not index.list_entries("same_words = ?", (build_words_digest(item.text),))
    ]


def build_plan_by_rules(workspace: Workspace, batch: Batch) -> Plan:
    """Return the plan by rules: explicit statements, and the conversation's sentences."""
    withdrawn = find_withdrawn(workspace, batch)
    plan = Plan("rules", build_history_text(batch.messages, withdrawn))
    messages = {message.id: message for message in batch.messages}
    for statement in find_open_statements(batch):
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
                is_undated=messages[statement.message_id].is_undated,
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
