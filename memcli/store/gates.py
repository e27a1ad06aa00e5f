"""Gates at the writer: no secrets, conflict markers, control characters or forgotten texts.

The writer checks the lines that a command adds. Text that arrives without the writer passes the
gate of the index (`index/reader.py`), which uses the same scanners.
"""

from collections.abc import Callable

from ..errors import RejectedError, SecretError
from ..formats.merge import find_added_lines
from ..formats.text import Problem, find_conflict_line, find_control_character
from .commit import Append, ChangeGroup, Replace
from .workspace import Gate, Workspace

FindForgotten = Callable[[Workspace, str], str]
"""Returns the id of a forgotten memory that a text repeats, or an empty string."""


def check_characters(workspace: Workspace, group: ChangeGroup) -> ChangeGroup:
    """Reject conflict markers and control characters."""
    for change in group.changes:
        added = get_added_text(workspace, change)
        line = find_conflict_line(added)
        if line is not None:
            raise RejectedError(
                f"a git conflict marker in line {line}", "resolve the conflict, then try again"
            )
        control = find_control_character(added)
        if control is not None:
            line, name = control
            raise RejectedError(
                f"a control character ({name}) in line {line}", "remove it, then try again"
            )
    return group


def check_secrets(workspace: Workspace, group: ChangeGroup) -> ChangeGroup:
    """Reject secrets, or mask them if the group asks for that. A name cannot be masked."""
    if group.allow_secrets:
        return group
    from ..secrets.scanner import scan

    personal = workspace.settings["secrets.personal"]
    for change in group.changes:
        if isinstance(change, Replace) and change.before is None and scan(change.path):
            raise SecretError("the name of the file contains a secret", "choose another --path")
    changes: list[Replace | Append] = []
    for change in group.changes:
        added = get_added_text(workspace, change)
        findings = scan(added, personal=personal) if added else []
        # The text itself must not appear in the message: agents log what they read.
        if findings and not group.redact_secrets:
            finding = findings[0]
            column = finding.start - added.rfind("\n", 0, finding.start)
            raise SecretError(
                f"this looks like {finding.description} ({finding.rule}, column {column})",
                "take it out of the text",
            )
        if findings:
            change = redact_change(change, lambda text: redact_text(workspace, text))
        changes.append(change)
    return group._replace(changes=changes)


def build_forgotten_gate(find_forgotten: FindForgotten) -> Gate:
    """Return the gate that rejects exact repeats of forgotten texts."""

    def check_forgotten(workspace: Workspace, group: ChangeGroup) -> ChangeGroup:
        if group.is_said_by_user:
            return group
        for change in group.changes:
            added = get_added_text(workspace, change)
            forgotten_id = find_forgotten(workspace, added) if added.strip() else ""
            if forgotten_id:
                raise RejectedError(
                    "this repeats a memory that was forgotten",
                    f"bring it back: mem restore {forgotten_id}"
                    if forgotten_id.startswith("mem_")
                    else "say it yourself to store it again: add --source user",
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
    from ..secrets.scanner import redact, scan

    return redact(text, scan(text, personal=workspace.settings["secrets.personal"]))


def redact_change(change: Replace | Append, redact_text: Callable[[str], str]) -> Replace | Append:
    if isinstance(change, Append):
        return Append(change.path, redact_text(change.text))
    return Replace(change.path, change.before, redact_text(change.after or ""))


def find_secret_problems(workspace: Workspace, text: str) -> list[Problem]:
    """Return the secrets of a text that does not come through the writer, such as a staged file."""
    from ..secrets.scanner import scan

    findings = scan(text, personal=workspace.settings["secrets.personal"])
    return [Problem(item.line, f"{item.description} ({item.rule})", "secret") for item in findings]
