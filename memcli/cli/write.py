"""Save a memory (`write`) or a note (`note`), change one (`edit`), `forget` and `restore` it."""

import os
import shlex
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from ..api import (
    Context,
    MemError,
    NotFoundError,
    SecretError,
    UsageError,
    add_gates,
    check_choice,
    open_all,
    open_existing,
    open_target,
)
from ..formats import SOURCES, TYPES, format_note, get_content, read_tags, shorten
from ..index import Filter, check_type, open_index, parse_expiry
from ..reconcile import (
    Draft,
    ForgetResult,
    Outcome,
    build_outcome,
    forget,
    get_file,
    get_mentions,
    move_to_workspace,
    replace_passage,
    replace_text,
    restore,
    update_entry,
    write_memories,
)
from ..search.names import get_entry, grep
from ..store import Append, Commit, Workspace, commit_one, read_file
from .terminal import (
    Memories,
    Result,
    explain_place,
    is_interactive,
    read_input,
    require_yes,
    run_editor,
)

OUTCOME_FIELDS = ("action", "id", "short_id", "path", "text")
WRITE_FIELDS = (*OUTCOME_FIELDS, "type", "strength", "related", "undo")
LABELS = {
    "saved": "Saved",
    "restored": "Restored",
    "edited": "Saved",
    "moved": "Moved",
    "unchanged": "Known",
    "held": "In the inbox",
}
HELD = "it resembles a forgotten memory, so it is in the inbox: mem review"
EDIT_FIELDS = ("path", "id", "text", "undo")
NOTE_FIELDS = ("path", "text", "undo")
FORGET_FIELDS = (*OUTCOME_FIELDS, "memories", "other_files", "git_commits", "undo")
RESTORE_FIELDS = FORGET_FIELDS
BEYOND_PURGE = "agents' own transcripts, backups and git history may still have the text"
TEXT_STAYS = "The text stays in the file. To delete it: mem forget {} --purge"
MOST_NAMED = 3  # ids in a hint
LONGEST_TEXT = 300  # characters of a memory before its purge


def run_write(
    context: Context,
    text: Annotated[str, Argument(help="The memory; - reads it from standard input.")] = "",
    type_: Annotated[str, f"{', '.join(TYPES)}. Default: mem guesses."] = "",
    title: Annotated[str, "A short name."] = "",
    tag: Annotated[list[str], "A tag; can be repeated."] = [],
    key: Annotated[str, "A slot with one current value, such as staging/port."] = "",
    supersedes: Annotated[list[str], "The memory that this one replaces."] = [],
    id_: Annotated[str, "Update this memory instead of saving a new one."] = "",
    path: Annotated[str, "The file to save it in, below entries/."] = "",
    source: Annotated[
        str, "user (default at a terminal), observed, or inferred (default in scripts)."
    ] = "",
    expires: Annotated[str, "Date after which it no longer applies."] = "",
    pinned: Annotated[bool, "Never let it fade."] = False,
    no_dedup: Annotated[bool, "Save it even if it repeats another memory."] = False,
    redact: Annotated[bool, "Save it without the secrets."] = False,
    allow_secret: Annotated[bool, "Save it even though it contains a secret."] = False,
) -> Result:
    """Save a memory as a Markdown file.

    If the memory already exists, mem confirms it instead of saving it twice. At a terminal, mem
    assumes that you are the source. In a script, pass --source.

    \b
    Examples:
      mem write "User prefers dark mode." --type preference
      mem write "Staging listens on port 7654." --key staging/port
      mem write "We deploy on Mondays." --supersedes 4kq7tz
      git log -1 --format=%B | mem write -
    """
    workspace = open_target(context)
    body = read_input(context) if text == "-" else text
    # On a terminal somebody types, and elsewhere an agent may be wrong.
    chosen = source or ("user" if context.is_terminal else "inferred")
    check_choice("source", chosen, SOURCES)
    fields: dict[str, Any] = {
        "type": check_type(type_),
        "title": title,
        "tags": read_tags(",".join(tag)),
        "key": key,
        "expires_at": parse_expiry(expires, workspace),
        "pinned": pinned,
    }
    messages = []
    if "" < fields["expires_at"] < workspace.stamp:
        messages.append(f"{expires} is in the past, so agents will not see this memory")
    # Writing to the path of a memory updates it, as a file would be overwritten.
    if id_ or (path and not no_dedup and is_existing(workspace, path)):
        changes = {name: value for name, value in {**fields, "source": source}.items() if value}
        if not body.strip() and not changes:
            raise UsageError("nothing to change", "write the new text: mem write --id ID TEXT")
        try:
            outcome = update_entry(
                workspace,
                id_ or path,
                body.strip() or None,
                changes,
                source=chosen,
                allow_secrets=allow_secret,
                redact_secrets=redact,
            )
        except MemError as error:
            raise add_secret_hint(error) from None
        return render_outcome(context, outcome, [*messages, *explain_place(workspace)])
    if not text and not title:
        raise UsageError("the memory has no text", "`mem write -` reads it from standard input")
    draft = Draft(
        body,
        **fields,
        source=chosen,
        path=path,
        supersedes=supersedes,
        allow_secrets=allow_secret,
        redact_secrets=redact,
    )
    # With --scope user, the memory is about the user and not about the project of this folder.
    project = "" if context.common.scope == "user" else None
    outcomes, done = write_memories(
        workspace, [draft], deduplicate=not no_dedup, default_project=project
    )
    if outcomes[0].error is not None:
        raise add_secret_hint(outcomes[0].error)
    messages += [*done.messages, *explain_place(workspace)]
    return render_outcome(context, outcomes[0], messages)


def run_edit(
    context: Context,
    name: Annotated[str, Argument(metavar="MEMORY", help="An id, a path or a title.")],
    replace: Annotated[
        tuple[str, str],
        Option(metavar="OLD NEW", help="Replace a passage instead of opening an editor."),
    ] = ("", ""),
) -> Result:
    """Change a memory or another file of the workspace in your editor.

    With --scope user, move the memory to your own memory; with --scope project, to the project's.

    \b
    Examples:
      mem edit 4kq7tz
      mem edit 4kq7tz --replace "port 6543" "port 7654"
      mem edit MEMORY.md
      mem edit 4kq7tz --scope user
    """
    if context.common.scope in ("project", "user"):
        return move_memory(context, name)
    workspace = open_existing(context, [name])
    if replace[0]:
        return render_edit(
            replace_passage(workspace, name, *replace, is_said_by_user=context.is_terminal)
        )
    path = get_file(workspace, name).path
    before = read_file(workspace, path) or ""
    after = edit_in_editor(context, workspace, path, before)
    try:
        return render_edit(replace_text(workspace, path, before, after, is_said_by_user=True))
    except MemError as error:
        if after.strip():
            # The user's work must not be lost with the editor's copy.
            saved = f"your text is in {save_rejected_text(path, after)}"
            error.hint = f"{error.hint}; {saved}" if error.hint else saved
        raise


def run_note(
    context: Context,
    text: Annotated[list[str], Argument(help="The note; - reads it from standard input.")],
) -> Result:
    """Add a line with the time to today's notes.

    \b
    Examples:
      mem note "ordered a new valve body"
    """
    workspace = open_target(context)
    # Several words without quotes are one note, as with `echo`.
    words = read_input(context) if text == ["-"] else " ".join(text)
    if not words.strip():
        raise UsageError("the note is empty")
    page = read_file(workspace, workspace.notes_path) or ""
    line = format_note(workspace.now, workspace.zone, words, page)
    done = commit_one(
        workspace,
        "note",
        [Append(workspace.notes_path, line)],
        summary=words.strip(),
        is_said_by_user=context.is_terminal,
    )
    data = {"path": workspace.notes_path, "text": line.strip(), "undo": done.number}
    messages = [*done.messages, *explain_place(workspace)]
    # A path below mem/ is one in a vault.
    if (
        workspace.is_trusted
        and workspace.settings["vault.daily_note"]
        and workspace.notes_path.startswith("mem/notes/")
    ):
        messages.append(
            "mem does not support the daily note settings in .obsidian,"
            " so the note is in mem/notes/"
        )
    return Result(data, [f"Noted: {line.strip()}  ({workspace.notes_path})"], None, messages)


def add_secret_hint(error: MemError) -> MemError:
    """Name the options of `mem write` for a text with a secret."""
    if isinstance(error, SecretError):
        error.hint = "add --redact to remove the secret, or --allow-secret to save it anyway"
    return error


def is_existing(workspace: Workspace, path: str) -> bool:
    name = path if path.endswith(".md") else f"{path}.md"
    return read_file(workspace, f"{workspace.entries_folder}{name}") is not None


def render_outcome(context: Context, outcome: Outcome, messages: list[str]) -> Result:
    """Return the sentence that was saved, then its id, then the memories that it concerns."""
    label = LABELS.get(outcome.action, "")
    if outcome.action == "saved":
        # A rule that became a fact does not reach the action that it is about.
        label = f"{label} {outcome.type}"
    if outcome.action == "confirmed":
        label = f"Confirmed ({outcome.strength} times)"
    lines = [f"{label}: {outcome.text}  ({outcome.short_id})"]
    lines += [
        f"  {related.relation}: {related.text}  ({related.short_id})" for related in outcome.related
    ]
    # In a pipe, the sentences are messages, because a script wants one row.
    if not context.is_terminal and not context.common.as_json:
        messages = [*messages, *(line.strip() for line in lines[1:])]
    names = ",".join(f"{related.relation}:{related.id}" for related in outcome.related)
    rows = [[outcome.action, outcome.id, outcome.path, outcome.text, names]]
    data = {name: getattr(outcome, name) for name in WRITE_FIELDS}
    notes = [HELD] if outcome.action == "held" else []
    kept = [item.short_id for item in outcome.related if item.relation == "contradicts"]
    if kept:
        notes.append(f"not replaced: {' and '.join(kept)} may still be true (decide: mem review)")
    return Result(data, lines, rows, [*messages, *notes])


def render_edit(outcome: Outcome) -> Result:
    data = {name: getattr(outcome, name) for name in EDIT_FIELDS}
    short_id = f"  ({outcome.short_id})" if outcome.short_id else ""
    label = "Unchanged" if outcome.action == "unchanged" else "Saved"
    lines = [f"{label}: {outcome.text}{short_id}"]
    if outcome.source:
        lines.append(f"  a script changed it, so its source is {outcome.source} now")
    return Result(data, lines)


def edit_in_editor(context: Context, workspace: Workspace, path: str, text: str) -> str:
    """Return the text that the user's editor leaves in a copy of the file."""
    import tempfile

    # A copy, because editors save in steps, and each would be visible to searches.
    with tempfile.TemporaryDirectory(prefix="mem-edit-") as folder:
        # The same name, because editors recognize Markdown by the ending.
        copy = Path(folder, Path(path).name)
        copy.write_bytes(text.encode("utf-8", "surrogateescape"))
        run_editor(context, workspace, copy, f"mem edit {shlex.quote(path)} --replace OLD NEW")
        if not copy.exists():
            return ""
        return copy.read_bytes().decode("utf-8", "surrogateescape")


def save_rejected_text(path: str, text: str) -> str:
    """Save a text that a gate rejected, so that the user's work is not lost."""
    import tempfile

    descriptor, name = tempfile.mkstemp(prefix="mem-rejected-", suffix=f"-{Path(path).name}")
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    return name


def move_memory(context: Context, name: str) -> Result:
    """Move a memory to the workspace of another scope."""
    target = open_target(context)
    # The memory is in any other workspace than the target.
    everywhere = context._replace(common=context.common._replace(scope="all"))
    for source in map(add_gates, open_all(everywhere)):
        if source.root == target.root:
            continue
        try:
            outcome = move_to_workspace(source, target, name)
        except NotFoundError:
            continue
        line = f"Moved: {outcome.text}  ({outcome.short_id})"
        return Result(
            {"path": outcome.path, "undo": outcome.undo}, [line, f"  now in {target.root}"]
        )
    hint = "--scope moves a memory; leave it out to edit one that is there"
    raise NotFoundError(f"no memory {name!r} outside {target.root}", hint)


def run_forget(
    context: Context,
    names: Memories = [],
    about: Annotated[
        str, "Forget every memory, but no note of a vault, that mentions this text."
    ] = "",
    reason: Annotated[str, "Why; stored in the file."] = "",
    purge: Annotated[
        bool, "Delete the file, and its text in MEMORY.md, history, notes and conversations."
    ] = False,
    dry_run: Annotated[bool, "Only show what would be forgotten."] = False,
    yes: Annotated[bool, "Do not ask first."] = False,
) -> Result:
    """Hide memories from search and agents, or delete them.

    Afterwards, mem refuses the same text until you save it again yourself.

    \b
    Examples:
      mem forget 4kq7tz
      mem forget --about Kubernetes --dry-run
      mem forget 4kq7tz --purge
    """
    workspace = open_existing(context, names)
    if names and about:
        raise UsageError("use names or --about, not both")
    if not names and not about:
        raise UsageError("name the memories to forget, or use --about TEXT")
    # Ids, because two memories may have the same title.
    if about:
        names = [entry.id for entry in get_mentions(workspace, about)]
    messages = list_other_lines(workspace, about) if about else []
    # A purge cannot be undone, so it needs --yes in a script too.
    must_ask = purge or (bool(about) and is_interactive(context) and not yes)
    if dry_run or must_ask:
        index = open_index(workspace)
        entries = [get_entry(index, name) for name in names]
        verb = "delete" if purge else "forget"
        label = f"Would {verb}" if dry_run else verb.capitalize()
        outcomes = [build_outcome(index, f"would {verb}", entry) for entry in entries]
        lines = []
        for item in outcomes:
            # A purge deletes the whole text, of which the first sentence may say too little.
            text = get_content(index.read_text(item.path) or "") if purge else item.text
            lines.append(f"{label}: {shorten(text, LONGEST_TEXT)}  ({item.short_id})")
        if dry_run:
            done = ForgetResult(outcomes, Commit(messages=messages))
            return render_outcomes(done, lines, {})
        question = "This cannot be undone." if purge else "Forget them?"
        if not require_yes(context, "\n".join([*lines, question]), yes=yes):
            return Result({"memories": []}, ["Nothing was changed."], exit_code=1)
    done = forget(workspace, names, reason=reason, purge=purge)
    return render_forgetting(done, purge, messages)


def run_restore(
    context: Context,
    names: Memories,
) -> Result:
    """Make forgotten, faded or superseded memories active again.

    \b
    Examples:
      mem restore 4kq7tz
    """
    done = restore(open_existing(context, names), names)
    lines = [f"Restored: {outcome.text}  ({outcome.short_id})" for outcome in done.outcomes]
    return render_outcomes(done, lines, {})


def list_other_lines(workspace: Workspace, text: str) -> list[str]:
    """Return a message for each line of history and notes that mentions a text. The lines stay."""
    lines, _ = grep([workspace], text, Filter(kinds=("history", "note")))
    return [f"{line.path}:{line.line} mentions it too: mem edit {line.path}" for line in lines]


def render_forgetting(done: ForgetResult, purge: bool, messages: list[str]) -> Result:
    label = "Deleted" if purge else "Forgotten"
    lines = [
        f"{label}: {outcome.text}  ({outcome.short_id})"
        for outcome in done.outcomes
        if not outcome.error
    ]
    if purge:
        lines += [f"  also deleted from {path}" for path in done.other_files]
        # Messages, because a script must learn it too.
        messages = [*messages, BEYOND_PURGE]
        if done.git_commits:
            commits = ", ".join(dict.fromkeys(done.git_commits))
            messages.append(f"git still has the text in {commits}")
    else:
        # The id of a note is its path, which may contain blanks.
        ids = [shlex.quote(outcome.short_id) for outcome in done.outcomes if not outcome.error]
        lines.append(TEXT_STAYS.format(" ".join(ids) if len(ids) <= MOST_NAMED else "ID…"))
        if len(done.result.paths) > 1:
            lines.append("Undo: mem undo")
    data = {"other_files": done.other_files, "git_commits": done.git_commits}
    result = render_outcomes(done, lines, data)
    result.messages = [*result.messages, *messages]
    return result


def render_outcomes(done: ForgetResult, lines: list[str], data: dict[str, Any]) -> Result:
    """Return the output of a command for several memories. Exit code 3: some were rejected."""
    errors = [f"{item.short_id}: {item.error.message}" for item in done.outcomes if item.error]
    messages = [*done.result.messages, *errors]
    memories = [
        {name: getattr(outcome, name) for name in OUTCOME_FIELDS} for outcome in done.outcomes
    ]
    rows = [[item["action"], item["id"], item["path"], item["text"]] for item in memories]
    data = {"memories": memories, "undo": done.result.number, **data}
    return Result(data, lines, rows, messages, exit_code=3 if errors else 0)
