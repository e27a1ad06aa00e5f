"""Gates at the writer: no secrets, conflict markers, control characters or forgotten texts.

An agent's edits pass another gate: only the user decides whose word a memory is.

The writer checks the lines that a command adds. Text that arrives without the writer passes the
gate of the index (`index/reader.py`), which uses the same scanners.
"""

import re
from collections.abc import Callable

from ..errors import RejectedError, SecretError
from ..formats import (
    Problem,
    find_added_lines,
    find_claim,
    find_conflict_line,
    find_control_character,
    find_new_strings,
    is_forgotten_reworded,
)
from ..secrets import redact, scan
from .workspace import Gate, Workspace
from .writer import Append, ChangeGroup, Replace

FindForgotten = Callable[[Workspace, str], str]
"""Returns the id of a forgotten memory that a text repeats, or an empty string."""
# Other files have no kind: mem.yaml, purged.txt, the metadata of conversations.
AGENT_KINDS = ("entry", "memory", "history", "note", "document")
USER_DECIDES = "the user can do it: mem edit"
# A name without one of these contains no secret. The names that mem gives have none of them.
SECRET_MARK = re.compile(r"[^\W_]{16}|[=:@]")
NAME_MARKS = re.compile("[-_]")  # between the words of a name
LINE_ENDS = dict.fromkeys(map(ord, "\t\n\r"), "\0")  # allowed in a text, not in a name


def check_characters(workspace: Workspace, group: ChangeGroup) -> ChangeGroup:
    """Reject conflict markers and control characters, also in names and in YAML's escapes."""
    for change in group.changes:
        added = get_added_text(workspace, change)
        if is_new(change) and find_control_character(change.path.translate(LINE_ENDS)):
            raise RejectedError("the name of the file contains a control character")
        line = find_conflict_line(added)
        if line is not None:
            raise RejectedError(
                f"a git conflict marker in line {line}", "resolve the conflict, then try again"
            )
        control = find_control_character(added)
        # In a frontmatter, `title: "a\x1b[2J"` has the character only once YAML has read it.
        if control is None and "\\" in added and isinstance(change, Replace):
            control = find_control_character(find_new_strings(change.before, change.after))
        if control is not None:
            line, name = control
            raise RejectedError(
                f"a control character ({name}) in line {line}", "remove it, then try again"
            )
    return group


def is_new(change: Replace | Append) -> bool:
    """Return whether a change creates a file."""
    return isinstance(change, Replace) and change.before is None


def check_agent(workspace: Workspace, group: ChangeGroup) -> ChangeGroup:
    """Reject edits of an agent that change settings, or how much a memory counts."""
    for change in group.changes if group.is_by_agent else ():
        kind = workspace.get_kind(change.path)
        if kind not in AGENT_KINDS:
            raise RejectedError(f"an agent may not change {change.path}", USER_DECIDES)
        if isinstance(change, Replace) and kind == "entry":
            claim = find_claim(change.before or "", change.after or "", change.path, workspace.now)
            if claim:
                raise RejectedError(f"an agent may not change {claim} of a memory", USER_DECIDES)
    return group


def check_secrets(workspace: Workspace, group: ChangeGroup) -> ChangeGroup:
    """Reject secrets, or mask them if the group asks for that. A name cannot be masked."""
    if group.allow_secrets:
        return group
    personal = workspace.settings["secrets.personal"]
    changes: list[Replace | Append] = []
    for change in group.changes:
        added = get_added_text(workspace, change)
        findings = scan(added, personal=personal) if added else []
        # The text itself must not appear in the message: agents log what they read.
        if findings and not group.redact_secrets:
            finding = findings[0]
            column = finding.start - added.rfind("\n", 0, finding.start)
            hint = "take it out of the text"
            if finding.rule in personal:
                others = ",".join(rule for rule in personal if rule != finding.rule) or "[]"
                hint += f", or allow it: mem config set secrets.personal {others}"
            raise SecretError(
                f"this looks like {finding.description} ({finding.rule}, column {column})", hint
            )
        if findings:
            change = redact_change(workspace, change)
        changes.append(change)
    # The names last, because mem makes most of them of the text.
    for change in group.changes:
        if is_new(change) and has_secret_name(change.path):
            raise RejectedError("the name of the file contains a secret", "choose another path")
    return group._replace(changes=changes)


def mask_name(path: str) -> str:
    """Return the name of a file or conversation without its secrets."""
    return redact(path, scan(path)) if SECRET_MARK.search(path) else path


def has_secret_name(path: str) -> bool:
    return mask_name(path) != path


def build_forgotten_gate(find_forgotten: FindForgotten) -> Gate:
    """Return the gate that rejects exact repeats of forgotten texts."""

    def check_forgotten(workspace: Workspace, group: ChangeGroup) -> ChangeGroup:
        if group.is_said_by_user:
            return group
        for change in group.changes:
            if isinstance(change, Replace) and is_forgotten_reworded(change.before, change.after):
                # Repeats are compared with its text.
                raise RejectedError("this memory was forgotten", "the user can change it: mem edit")
            added = get_added_text(workspace, change)
            if is_new(change):
                # A sentence can also come as the name of a file.
                name = change.path.removeprefix(workspace.entries_folder).removesuffix(".md")
                added += f"\n{NAME_MARKS.sub(' ', name).replace('/', chr(10))}"
            forgotten_id = find_forgotten(workspace, added) if added.strip() else ""
            if forgotten_id:
                raise RejectedError(
                    "this repeats a memory that was forgotten",
                    f"bring it back: mem restore {forgotten_id}"
                    if forgotten_id.startswith("mem_")
                    else "to save it as your own statement: add --source user",
                )
        return group

    return check_forgotten


def get_added_text(workspace: Workspace, change: Replace | Append) -> str:
    """Return the lines that a change adds."""
    if isinstance(change, Append):
        return change.text
    if change.after is None:
        return ""
    return find_added_lines(change.before or "", change.after)


def redact_text(workspace: Workspace, text: str) -> str:
    """Return a text with its secrets masked."""
    return redact(text, scan(text, personal=workspace.settings["secrets.personal"]))


def redact_change(workspace: Workspace, change: Replace | Append) -> Replace | Append:
    if isinstance(change, Append):
        return Append(change.path, redact_text(workspace, change.text))
    return Replace(change.path, change.before, redact_text(workspace, change.after or ""))


def find_secret_problems(workspace: Workspace, text: str) -> list[Problem]:
    """Return the secrets of a text that does not come through the writer, such as a staged file."""
    findings = scan(text, personal=workspace.settings["secrets.personal"])
    return [Problem(item.line, f"{item.description} ({item.rule})", "secret") for item in findings]
