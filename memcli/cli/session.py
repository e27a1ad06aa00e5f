"""Conversations: list, show and shorten them (`session`), and learn from them (`consolidate`)."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from ..api import (
    BusyError,
    Context,
    LlmError,
    MemError,
    NotFoundError,
    RejectedError,
    UsageError,
    check_choice,
    open_index,
    open_recorded,
    open_recording,
    open_target,
)
from ..consolidate.consolidate import (
    BatchResult,
    build_agent_prompt,
    consolidate_sessions,
    find_due_sessions,
    save_agent_reply,
)
from ..consolidate.queue import WAIT_SECONDS, hold_queue, run_consolidation
from ..formats import count_noun, parse_event, shorten
from ..store import (
    Replace,
    Session,
    Workspace,
    commit_one,
    get_session,
    load_session,
    read_file,
    sessions,
)
from .terminal import Result, ask, build_progress, check_word, declare_limit, explain_place

SUMMARY_FIELDS = (
    "id",
    "created_at",
    "updated_at",
    "state",
    "message_count",
    "token_count",
    "agent",
)
SESSION_FIELDS = (*SUMMARY_FIELDS, "messages", "added", "moved", "undo")
MOST_SHOWN = 20  # imported conversations; --json has all
ACTIONS = ("append", "ls", "show", "import", "compact", "clear", "end", "delete")
DONE_FIELDS = (
    "session",
    "messages",
    "method",
    "history",
    "memories",
    "forgotten",
    "error",
    "undo",
)
CONSOLIDATE_FIELDS = (*DONE_FIELDS, "batch", "prompt")
NOTHING = "Nothing to consolidate."
SAVED = ("saved", "restored", "confirmed")
LABELS = {
    "saved": "Saved",
    "confirmed": "Confirmed",
    "restored": "Restored",
    "held": "In the inbox",
    "would save": "Would save",
}


def run_session(
    context: Context,
    action: Annotated[str, Argument(help=f"One of: {', '.join(ACTIONS)}. Default: ls.")] = "ls",
    name: Annotated[str, Argument(help="The session, or the file or folder to import.")] = "",
    text: Annotated[
        str,
        Argument(
            metavar="[MESSAGE]",
            help="Message text; without it or with -, one JSON event per line from standard input.",
        ),
    ] = "-",
    role: Annotated[str, "For `append`: user (default) or assistant."] = "user",
    all_: Annotated[bool, "For `import`: the conversations of all agents in this project."] = False,
    limit: Annotated[int, declare_limit("Show at most this many.")] = 50,
    dry_run: Annotated[bool, "For `import`: only show what would be added."] = False,
    yes: Annotated[bool, "For `clear` and `delete`: do not ask."] = False,
) -> Result:
    """Record, list, import or delete conversations (sessions).

    A conversation is one file of events below sessions/. git ignores it.

    \b
    append   add one message, or the events on standard input
    ls       list the conversations, the latest first
    show     print the latest messages
    import   add a conversation that an agent stored in a file, or all in a folder
    compact  move all but the latest messages to an archive, and add a summary
    clear    remove the messages, and keep the conversation
    end      mark the conversation as ended, so that mem consolidates it
    delete   remove the conversation

    \b
    Examples:
      mem session ls
      mem session import ~/.claude/projects/shop/1c2d.jsonl
      mem session append standup "We ship on Fridays."
      mem session show standup
    """
    check_word("action", action, ACTIONS)
    if action == "ls":
        return list_conversations(context, limit)
    if action == "import":
        return import_conversations(context, name, is_all=all_, is_dry_run=dry_run)
    if not name:
        raise UsageError("name the session", f"mem session {action} ID")
    if action == "append":
        return append_to_session(context, name, text, role)
    workspace, session = find_session(context, name)
    if action == "show":
        return show_session(workspace, session, limit)
    if action == "compact":
        return compact_messages(workspace, session)
    if action == "end":
        sessions.append_events(workspace, session.id, [], state="TERMINATED")
        return Result({"id": session.id}, [f"Ended {session.id}"])
    return remove_session(context, workspace, session, is_delete=action == "delete", yes=yes)


def find_session(context: Context, name: str) -> tuple[Workspace, Session]:
    *others, last = open_recorded(context)
    for workspace in others:
        with suppress(NotFoundError):
            return workspace, sessions.get_session(workspace, name)
    # The last one raises the error if none has the session.
    return last, sessions.get_session(last, name)


def list_conversations(context: Context, limit: int) -> Result:
    from ..consolidate.batch import has_ended

    lines, rows, items = [], [], []
    for workspace in open_recorded(context):
        for session in sessions.list_sessions(workspace)[:limit]:
            day = workspace.describe_day(session.updated_at)
            count = count_noun(session.message_count, "message")
            about = ", ".join(part for part in (session.agent, session.project) if part)
            about = f"  {about}" if about else ""
            # Nobody continues an imported conversation, although its file says ACTIVE.
            state = "ended" if has_ended(workspace, session) else session.state.lower()
            lines.append(f"{day}  {count}, {state}{about}  ({session.id})")
            rows.append([session.id, session.updated_at, session.state, session.message_count])
            items.append({name: getattr(session, name) for name in SUMMARY_FIELDS})
    code = 0 if items else 1
    data = {"sessions": items[:limit]}
    return Result(data, lines[:limit], rows[:limit], exit_code=code, nothing="no conversations")


def append_to_session(context: Context, name: str, text: str, role: str) -> Result:
    """Add one message, or the events on standard input."""
    check_choice("role", role, ("user", "assistant"))
    workspace = open_recording(context)
    events: list[dict[str, Any]] = [{"type": "message", "role": role, "content": text}]
    if text == "-":
        # Not splitlines: a line separator (U+2028) in a JSON text ends no line.
        lines = [line for line in context.stdin.read().split("\n") if line.strip()]
        parsed = [parse_event(line) for line in lines]
        if not lines or None in parsed:
            line = parsed.index(None) + 1 if lines else 1
            raise UsageError(
                f"line {line} is not a JSON object",
                'give one event per line: {"role": "user", "content": "…"}',
            )
        events = [event for event in parsed if event is not None]
    added = sessions.append_events(workspace, name, events, project=workspace.project)
    label = sessions.name_session(name)
    summary = f"Added {count_noun(added, 'event')} to {label}"
    return Result({"id": label, "added": added}, [summary], None, explain_place(workspace))


def show_session(workspace: Workspace, session: Session, limit: int) -> Result:
    """Print the latest messages, as the index has them: without secrets and forgotten text."""
    index = open_index(workspace)
    text = index.read_text(f"{sessions.find_sessions_folder(workspace)}/{session.id}/session.jsonl")
    lines = [line for line in (text or "").split("\n") if line.strip()][-limit:]
    data = {name: getattr(session, name) for name in SUMMARY_FIELDS}
    return Result({**data, "messages": lines}, lines)


def compact_messages(workspace: Workspace, session: Session) -> Result:
    from ..consolidate.compaction import compact_session

    moved = compact_session(workspace, session)
    line = f"Moved {count_noun(moved, 'message')} of {session.id} to its archive"
    return Result({"id": session.id, "moved": moved}, [line if moved else "Nothing to compact"])


def remove_session(
    context: Context, workspace: Workspace, session: Session, *, is_delete: bool, yes: bool
) -> Result:
    """Clear or delete a session, if everything in it was consolidated or the user agrees."""
    from ..consolidate.batch import find_due_messages

    if not yes and find_due_messages(workspace, session, is_forced=True):
        action = "Delete" if is_delete else "Clear"
        if not ask(context, f"{action} {session.id}? It was not consolidated yet."):
            raise RejectedError(
                f"{session.id} was not consolidated yet",
                f"mem consolidate {session.id}, or add --yes",
            )
    folder = f"{sessions.find_sessions_folder(workspace)}/{session.id}"
    # A cleared session still has its metadata, with the date on which it was created.
    names = [sessions.EVENTS, sessions.ARCHIVE, *([sessions.METADATA] if is_delete else [])]
    changes = []
    for name in names:
        before = read_file(workspace, f"{folder}/{name}")
        if before is not None:
            is_emptied = name == sessions.EVENTS and not is_delete
            changes.append(Replace(f"{folder}/{name}", before, "" if is_emptied else None))
    done = commit_one(workspace, "session", changes, summary=session.id)
    verb = "Deleted" if is_delete else "Cleared"
    return Result(
        {"id": session.id, "undo": done.number}, [f"{verb} {session.id}", "Undo: mem undo"]
    )


def import_conversations(context: Context, name: str, *, is_all: bool, is_dry_run: bool) -> Result:
    """Import a file, the files in a folder, or the conversations of all agents in this project."""
    from ..transcripts.importer import (
        NO_CONVERSATION,
        ImportResult,
        find_files,
        find_transcripts,
        import_file,
        select_transcripts,
    )

    if bool(name) == is_all:
        raise UsageError("name a file, or use --all", "mem session import FILE")
    workspace = open_recording(context)
    # The user's own workspace is for all projects.
    folder = None if open_target(context).is_own else context.folder.resolve()
    path = (context.folder / Path(name).expanduser()).resolve()
    is_single = not is_all and not path.is_dir()
    if is_all:
        paths = list(find_transcripts(context, folder))
    else:
        paths = [path] if is_single else list(select_transcripts(find_files(path), None))
    imported: list[ImportResult] = []
    messages: list[str] = []
    progress = build_progress(context, "reading")
    for number, path in enumerate(paths):
        problems: list[str] = []
        if progress and not is_single:
            progress(number, len(paths))
        try:
            imported += import_file(
                workspace,
                path,
                problems,
                project=workspace.project if folder else "",
                is_dry_run=is_dry_run,
                on_progress=progress if is_single else None,
            )
        except MemError as error:
            if is_single:
                raise
            problems.append(error.message)
        # A folder may contain other files.
        messages += [f"{path}: {item}" for item in problems if is_single or item != NO_CONVERSATION]
    if progress:
        progress(1, 1)
    total = sum(item.added for item in imported)
    shown = [item for item in imported if item.added or len(imported) == 1]
    lines = [
        f"{shorten(item.path, 60)}: {count_noun(item.added, 'new event')}  ({item.session_id})"
        for item in shown[:MOST_SHOWN]
    ]
    if len(imported) != 1:
        count = count_noun(len(imported), "conversation")
        lines.append(f"{count} read, {count_noun(total, 'new event')}")
    if is_dry_run:
        lines.append("Nothing was changed.")
    code = 3 if messages else 1 if name and not imported else 0
    messages += [] if is_dry_run else explain_place(workspace)
    return Result({"sessions": imported, "added": total}, lines, None, messages, exit_code=code)


def run_consolidate(
    context: Context,
    name: Annotated[
        str, Argument(metavar="[SESSION]", help="Only this conversation, up to its end.")
    ] = "",
    all_: Annotated[bool, "Read every conversation to its end, even if it still runs."] = False,
    dry_run: Annotated[bool, "Only show what would be saved."] = False,
    no_llm: Annotated[bool, "Do not ask the language model."] = False,
    ask: Annotated[bool, "Print the prompt, for an agent that answers instead of a model."] = False,
    answer: Annotated[
        str,
        Option(metavar="FILE", help="Save the agent's answer to --ask; - reads standard input."),
    ] = "",
    background: Annotated[
        bool, "Process pending conversations, as hooks do. Problems go to the log."
    ] = False,
) -> Result:
    """Turn conversations into history and memories.

    Without SESSION, mem processes the pending conversations: all that have ended, and long running
    conversations except their latest messages. If you configured a language model, it reads them.
    Otherwise mem saves only your requests, rules, preferences and corrections.

    \b
    Examples:
      mem consolidate
      mem consolidate --all --dry-run
      mem consolidate --ask > prompt.txt
      mem consolidate --answer answer.json
    """
    if sum((bool(name) or all_, bool(answer), background)) > 1 or (name and all_):
        raise UsageError("SESSION, --all, --answer and --background cannot be used together")
    workspace = find_session(context, name)[0] if name else open_recording(context)
    if answer:
        return save_agent_answer(context, workspace, answer)
    is_forced = bool(name) or all_
    if ask or dry_run:
        sessions = (
            [get_session(workspace, name)]
            if name
            else find_due_sessions(workspace, is_forced=is_forced or ask)
        )
        if ask:
            return print_prompt(context, workspace, sessions)
        done = consolidate_sessions(
            workspace, sessions, is_forced=is_forced, use_llm=not no_llm, is_dry_run=True
        )
        return render_batches(context, workspace, done, [])
    try:
        done, messages = run_consolidation(
            workspace,
            name=name,
            is_forced=is_forced,
            use_llm=not no_llm,
            actor="hook" if background else "person",
            seconds=WAIT_SECONDS,
        )
    except BusyError:
        if background:
            return Result()
        raise
    result = render_batches(context, workspace, done, messages)
    if background:
        # Nobody reads this output. The log of the workspace records problems.
        by_project: dict[str, list[BatchResult]] = defaultdict(list)
        for item in done:
            session = load_session(workspace, item.session)
            by_project[session.project if workspace.is_own else ""].append(item)
        for project, items in by_project.items():
            workspace.machine.save_notice(project, summarize_saved(workspace, items, actor="hook"))
        result = Result(messages=result.messages if result.exit_code else ())
    return result


def print_prompt(context: Context, workspace: Workspace, sessions: Sequence[Session]) -> Result:
    prompt = build_agent_prompt(workspace, sessions)
    if prompt is None:
        return Result({"batch": "", "prompt": ""}, exit_code=1, nothing=NOTHING)
    hint = "save the answer: mem consolidate --answer FILE"
    messages = [hint] if context.is_terminal and not context.common.as_json else []
    return Result(prompt._asdict(), prompt.prompt.split("\n"), None, messages)


def save_agent_answer(context: Context, workspace: Workspace, answer: str) -> Result:
    if answer == "-":
        text = context.stdin.read()
    else:
        try:
            text = (context.folder / answer).expanduser().read_text("utf-8", "replace")
        except OSError as error:
            raise UsageError(f"cannot read {answer}: {error.strerror}") from None
    with hold_queue(workspace, WAIT_SECONDS):
        try:
            return render_batches(context, workspace, [save_agent_reply(workspace, text)], [])
        except LlmError as error:
            # Nothing was stored, and the agent can answer again.
            raise UsageError(error.message, "answer again with one JSON object") from None


def render_batches(
    context: Context, workspace: Workspace, done: Sequence[BatchResult], messages: Sequence[str]
) -> Result:
    """Return the saved sentences, and a line for the person about them."""
    lines: list[str] = []
    rows: list[list[str]] = []
    outcomes = [outcome for item in done for outcome in item.memories]
    for outcome in outcomes:
        if outcome.action in LABELS:
            short_id = f"  ({outcome.short_id})" if outcome.short_id else ""
            lines.append(f"{LABELS[outcome.action]}: {outcome.text}{short_id}")
            rows.append([outcome.action, outcome.id, outcome.path, outcome.text])
    for item in done:
        lines += [f"Forgotten: {text}" for text in item.forgotten]
        if item.history_path:
            lines.append(f"Added to {item.history_path}: {shorten(item.history, 100)}")
            rows.append(["history", item.session, item.history_path, shorten(item.history, 300)])
    errors = [
        f"not saved: {shorten(item.text, 60)}: {item.error.message}"
        for item in outcomes
        if item.error
    ]
    problems = [problem for item in done for problem in item.problems]
    failed = [item.error for item in done if item.error]
    if done and not lines and not failed:
        count = sum(item.messages for item in done)
        lines.append(f"Read {count_noun(count, 'message')}: nothing to remember")
    notes = [*messages, *errors, *problems]
    if failed:
        notes.append(f"the language model failed ({failed[0]}): the next run tries again")
    summary = summarize_saved(workspace, done)
    if summary and context.is_terminal:
        lines.append(f"mem: {summary}")
    elif summary:
        notes.append(summary)
    data = {"sessions": [build_fields(item) for item in done]}
    code = LlmError.exit_code if failed else 0
    return Result(data, lines, rows, notes, exit_code=code, nothing="" if failed else NOTHING)


def summarize_saved(
    workspace: Workspace, done: Sequence[BatchResult], *, actor: str = "person"
) -> str:
    """Return how many memories were saved, and how to revert that, if the user wants to know."""
    counts = [sum(outcome.action in SAVED for outcome in item.memories) for item in done]
    commands = [item.undo for item, count in zip(done, counts, strict=True) if count]
    if not commands or not workspace.settings["notify"]:
        return ""
    # Plain `mem undo` does not revert what a hook did.
    number = f" {commands[0]}" if actor == "hook" else ""
    undo = f"mem undo{number}" if len(commands) == 1 else "mem undo --list"
    option = " --scope user" if workspace.is_own else ""
    return f"saved {count_noun(sum(counts), 'memory')} ({undo}{option})"


def build_fields(item: BatchResult) -> dict[str, object]:
    fields = {name: getattr(item, name) for name in DONE_FIELDS}
    memories = [
        {"action": outcome.action, "id": outcome.id, "path": outcome.path, "text": outcome.text}
        for outcome in item.memories
    ]
    return {**fields, "memories": memories}
