"""Record an agent's conversation, and carry out the requests in it.

Each message is recorded once, and tool calls are shortened. A request to remember or forget
something is the user's own command, so it is committed with the actor `person`, and a plain
`mem undo` reverts it. What hooks do automatically has the actor `hook`.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import MemError
from ..formats import (
    ANSWERED,
    build_digest,
    hide_answer,
    is_unrecorded,
    parse_event,
    parse_events,
    shorten,
    split_lines,
    split_words,
    summarize_texts,
)
from ..recall import Shown
from ..store import (
    ChangeGroup,
    Replace,
    Session,
    Workspace,
    append_events,
    build_mask,
    commit,
    cut_masked,
    find_events_file,
    find_sessions_folder,
    get_own_workspace,
    name_session,
    read_file,
    read_session,
    redact_text,
)
from ..transcripts.transcript import build_message, clean_tool_calls
from .events import Event

if TYPE_CHECKING:
    from ..consolidate.rules import Statement

LONGEST_MESSAGE = 20_000  # characters; a longer one is a pasted file
LONGEST_NOTICE = 60  # characters of a memory in the line for the person
# "Delete the wrong file" and "Delete the right file" share three of four words.
SHARE_OF_EDIT = 0.75  # of the words of both prompts
# A hook runs at every turn, and the file of a long session has megabytes.
TAIL_BYTES = 128 * 1024
SAVED = "saved"  # key of a record: the id of the memory that the last prompt saved
# Results of tools are between the prompt and the answer, and agents store them whole.
TRANSCRIPT_BYTES = 1024 * 1024
REQUEST_TOKENS = re.compile(r'"tokens": ?\{"input": ?(\d+)')  # in a transcript of Gemini
# Copilot reports the end of a turn up to 90 ms before it writes the answer.
ANSWER_TRIES, ANSWER_PAUSE = 10, 0.1  # seconds


def record_event(
    workspace: Workspace,
    event: Event,
    agent: str,
    events: Sequence[Mapping[str, Any]],
    state: str = "",
) -> Session | None:
    """Append events to the session, and return it. A session without events gets no folder."""
    name = name_session(event.session)
    if not events and not find_events_file(workspace, name).is_file():
        return None
    append_events(
        workspace,
        name,
        events,
        agent=agent,
        project=workspace.project,
        folder=event.folder,
        state=state,
    )
    return read_session(workspace, name)


def record_answer(workspace: Workspace, event: Event, agent: str) -> Session | None:
    """Record the agent's last message of a turn, and return the session."""
    answer = event.answer
    for _ in range(ANSWER_TRIES if event.transcript and not answer else 0):
        answer = read_last_answer(event.transcript, read_last_prompt(workspace, event.session))
        if answer:
            break
        time.sleep(ANSWER_PAUSE)
    if answer.strip():
        record_message(workspace, event, agent, "assistant", answer)
    return record_event(workspace, event, agent, [])


def record_message(
    workspace: Workspace, event: Event, agent: str, role: str, text: str
) -> tuple[str, bool]:
    """Record a message, unless the turn has it already. Return SESSION#ID, and whether it is new.

    The first is empty for a text that nobody said, such as a notice of the agent's own program.
    """
    message = build_message(role, text, None)
    if message is None:
        return "", False
    recorded = read_tail(workspace, event.session)
    hide_answer(message, recorded)
    half = LONGEST_MESSAGE // 2
    content = cut_masked(message["content"], half, half, build_mask(workspace))
    messages = [item for item in recorded if item.get("role")]
    last = (messages or recorded or [{"id": ""}])[-1]
    # Two agents that run each other's hooks report one message, perhaps at the same moment: its
    # id is made from the message before. After another message, the same words are said again.
    is_new = (last.get("role"), last.get("content")) != (role, content)
    message_id = last["id"]
    if is_new:
        digest = build_digest(f"{role}\n{message_id}\n{content}")
        message_id = f"msg_{digest[:16]}"
        del message["timestamp"]  # append_events notes the current time
        record_event(workspace, event, agent, [{**message, "content": content, "id": message_id}])
    return f"{name_session(event.session)}#{message_id}", is_new


def record_tool(workspace: Workspace, event: Event, agent: str) -> None:
    """Record a tool call, without its result if it names an ignored file."""
    call = {
        "type": "tool",
        "name": event.tool,
        "arguments": event.arguments,
        "result": event.error or event.result,
        "isError": bool(event.error),
    }
    if event.call_id:
        call["id"] = event.call_id
    elif event.time:
        # Copilot gives a call no id, and may report it to two hooks.
        called = f"{event.time}\n{event.tool}\n{event.arguments}"
        call["id"] = f"call_{build_digest(called)[:16]}"
    clean_tool_calls(workspace, event.folder, [call])
    record_event(workspace, event, agent, [call])


def read_tail(workspace: Workspace, session_id: str) -> list[dict[str, Any]]:
    """Return the latest events of a session."""
    data = read_end(str(find_events_file(workspace, name_session(session_id))), TAIL_BYTES)
    return [event for _, event in parse_events(data) if event.get("id")]


def read_end(path: str, size: int) -> str:
    """Return the end of a file as text, or an empty string."""
    with suppress(OSError, ValueError):
        # The event names the path. Opening a named pipe would wait for a writer forever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            file.seek(max(0, os.fstat(descriptor).st_size - size))
            return file.read(size).decode("utf-8", "replace")
    return ""


def read_last_prompt(workspace: Workspace, session_id: str) -> str:
    """Return the latest prompt that a hook has recorded."""
    recorded = read_tail(workspace, session_id)
    prompts = [str(event["content"]) for event in recorded if event.get("role") == "user"]
    return prompts[-1] if prompts else ""


def read_last_answer(transcript: str, prompt: str) -> str:
    """Return the last message of a transcript, if it is the agent's answer to a prompt."""
    if not transcript.endswith(".jsonl"):
        return ""
    from ..transcripts.reader import list_formats

    objects = [event for _, event in parse_events(read_end(transcript, TRANSCRIPT_BYTES))]
    for format_ in list_formats():
        if any(format_.is_line(line) for line in objects):
            said = [item for item in format_.read_lines(objects).events if item.get("role")]
            prompts = [str(item["content"]) for item in said if item["role"] == "user"]
            # The prompt may not be there yet. Then the last answer is an older one.
            is_current = not prompt or not prompts or is_edit(prompts[-1], prompt)
            if is_current and said and said[-1]["role"] == "assistant":
                return str(said[-1]["content"])
    return ""


def read_request_tokens(transcript: str) -> int:
    """Return the tokens of Gemini's last request, or 0 if its transcript does not say."""
    found = REQUEST_TOKENS.findall(read_end(transcript, TAIL_BYTES)) if transcript else []
    return int(found[-1]) if found else 0


def remove_withdrawn_prompt(workspace: Workspace, message: str, prompt: str) -> None:
    """Remove a prompt that the user edited and sent again before the agent did anything.

    `message` is its SESSION#ID, and `prompt` the text that followed.
    """
    session, _, message_id = message.partition("#")
    path = f"{find_sessions_folder(workspace)}/{session}/session.jsonl"
    text = read_file(workspace, path) or ""
    lines = split_lines(text)
    events = [parse_event(line) or {} for line in lines]
    numbers = [number for number, item in enumerate(events) if item.get("id") == message_id]
    # A prompt that says something else interrupted the agent, and both count.
    if len(numbers) == 1 and is_edit(str(events[numbers[0]].get("content")), prompt):
        del lines[numbers[0]]
        change = Replace(path, text, "".join(lines))
        # It was in the file already, secrets masked.
        group = ChangeGroup([change], allow_secrets=True, is_said_by_user=True)
        commit(workspace, "withdraw prompt", [group], actor="hook")


def is_edit(earlier: str, prompt: str) -> bool:
    """Return whether two prompts have nearly the same words."""
    words, other_words = Counter(split_words(earlier)), Counter(split_words(prompt))
    most = max(words.total(), other_words.total())
    return (words & other_words).total() >= SHARE_OF_EDIT * most


class Answer(NamedTuple):
    """The text for the agent and the line for the user."""

    text: str = ""
    message: str = ""


class Requests(NamedTuple):
    """The requests of a prompt, while they are carried out."""

    workspace: Workspace  # that hooks write to
    others: Sequence[Workspace]
    done: list[str]
    undone: list[str]
    # The number of the command that changed each memory, and its text, by option and action.
    commands: dict[str, dict[str, list[tuple[int, str]]]]

    def get_option(self, workspace: Workspace) -> str:
        """Return the option with which a command changes a workspace, or an empty string."""
        is_one_of_two = self.others or not self.workspace.is_own
        return " --scope user" if workspace.is_own and is_one_of_two else ""

    def note_command(self, workspace: Workspace, action: str, number: int, text: str) -> None:
        actions = self.commands.setdefault(self.get_option(workspace), {})
        actions.setdefault(action, []).append((number, f'"{shorten(text, LONGEST_NOTICE)}"'))

    def list_notices(self) -> Iterator[str]:
        """Yield which memories were changed in each way, and the commands that undo it."""
        for option, actions in self.commands.items():
            place = " in your own memory" if option else ""
            is_single = len({number for done in actions.values() for number, _ in done}) == 1
            for action, done in actions.items():
                undo = [f"mem undo {number}{option}" for number in dict(done)]
                if is_single:
                    undo = [f"mem undo{option}"]
                what = summarize_texts([text for _, text in done], "memory")
                yield f"{action} {what}{place} ({', '.join(undo)})"


def save_requests(
    workspace: Workspace, prompt: str, message: str, shown: Shown, others: Sequence[Workspace] = ()
) -> Answer:
    """Carry out the requests in a prompt.

    `message` is the SESSION#ID of the prompt. It confirms a memory only once. `others` are the
    other workspaces that the agent reads.
    """
    from ..consolidate.rules import find_requests
    from ..recall import render_context, render_line

    last = shown.record.pop(SAVED, "")
    about = "Result of the user's request to remember or forget:"
    if is_unrecorded(prompt):
        line = "mem did not record this message. Do not save what it says."
        return Answer(render_context([f"- {line}"], about), "mem: message not recorded")
    requests = Requests(workspace, others, [], [], {})
    errors: list[MemError] = []
    statements = find_requests(prompt, last)
    # First, so that no text finds a memory that this prompt saves.
    for statement in statements:
        if statement.kind == "forget":
            try:
                forget_request(requests, statement.text)
            except MemError as error:
                errors.append(error)
    wanted = [statement for statement in statements if statement.kind != "forget"]
    for is_general, group in groupby(wanted, attrgetter("is_general")):
        try:
            errors += save_statements(requests, list(group), message, shown, is_general=is_general)
        except MemError as error:
            errors.append(error)
    requests.undone.extend(f"Not done: {error.message}" for error in errors)
    lines = [*requests.done, *requests.undone]
    if not lines:
        return Answer()
    if not errors:
        # A consolidation would otherwise carry them out again, even if the user undoes them.
        session, _, message_id = message.partition("#")
        append_events(workspace, session, [{"type": ANSWERED, "message": message_id}])
    return Answer(
        render_context([f"- {render_line(line)}" for line in lines], about),
        f"mem: {'; '.join([*requests.list_notices(), *requests.undone])}",
    )


def save_statements(
    requests: Requests,
    statements: Sequence["Statement"],
    message: str,
    shown: Shown,
    *,
    is_general: bool,
) -> list[MemError]:
    """Save the user's statements in one command, and return the errors of rejected ones.

    General statements are for every project, so they go to the user's own memory.
    """
    from ..reconcile import Draft, write_memories

    drafts = [Draft(item.text, item.type, source="user", sources=(message,)) for item in statements]
    place = get_own_workspace(requests.workspace) if is_general else requests.workspace
    project = "" if is_general else None
    errors = []
    for outcome in write_memories(place, drafts, actor="person", default_project=project)[0]:
        if outcome.error is not None:
            errors.append(outcome.error)
            continue
        # The agent reads it in the prompt, so it needs no reminder.
        shown.add(outcome.text, outcome.id, stays=True)
        shown.record[SAVED] = outcome.id
        texts = [f"{outcome.action} {outcome.short_id}: {outcome.text}"]
        texts += [f"{item.relation} {item.short_id}: {item.text}" for item in outcome.related]
        requests.done.extend(texts)
        requests.note_command(place, "saved", outcome.undo, outcome.text)
    return errors


def forget_request(requests: Requests, text: str) -> None:
    """Forget a text in every workspace that hooks may change. Name what others have."""
    from ..reconcile import forget_described

    workspace = requests.workspace
    is_found = False
    for place in (workspace, *requests.others):
        # The server can hang while the agent waits, so the end of the turn does it.
        place.withdraw_from_team = None
        # A shared workspace changes only by a command that somebody typed.
        is_closed = place.is_shared and not place.is_own
        found = forget_described(place, text, project=workspace.project, dry_run=is_closed)
        option = requests.get_option(place)
        for outcome in found.outcomes:
            requests.done.append(f"forgot {outcome.short_id}")
            requests.note_command(place, "forgotten", found.result.number, outcome.text)
        count = len(found.candidates)
        label = "perhaps this one" if count == 1 else f"perhaps one of these {count}"
        if is_closed:
            label = "in the shared memory"
        for item in found.candidates:
            command = f"mem forget {item.short_id}{option}"
            requests.undone.append(f"{label}: {item.text} (to forget it: {command})")
        is_found = is_found or bool(found.outcomes or found.candidates)
    if not is_found:
        requests.undone.append(f"found no memory that says: {redact_text(workspace, text)}")
