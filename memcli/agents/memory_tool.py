"""Anthropic's memory tool: each file below /memories is a memory of the workspace.

The replies use the exact sentences of Anthropic's description, which models know. Deleting a file
forgets the memory.
"""

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import NotFoundError, OutsideError, RejectedError, UsageError
from ..formats import build_digest, get_body, replace_body
from ..index import get_index, open_index
from ..reconcile import Draft, forget, replace_text, write_memories
from ..store import ChangeGroup, Replace, Workspace, commit, read_file

ROOT = "/memories"
MOST_LISTED = 1000  # names in the view of a folder
SHOWN_AROUND = 2  # lines before and after a change

Call = Mapping[str, Any]
"""What a model passes to the tool."""


def answer(workspace: Workspace, call: Call) -> str:
    """Carry out a command and return the reply. If it fails, a MemError has the reply."""
    name = call.get("command")
    if not isinstance(name, str) or name not in COMMANDS:
        raise UsageError(f"Unknown command: {name}", f"one of: {', '.join(COMMANDS)}")
    return COMMANDS[name](workspace, call)


def get_text(call: Call, name: str) -> str:
    value = call.get(name)
    if not isinstance(value, str):
        raise UsageError(f"Missing or invalid `{name}` parameter: it should be a text.")
    return value


def find_path(workspace: Workspace, name: str) -> str:
    """Return the path in the workspace, without `.md`, for a name below /memories."""
    inner = posixpath.normpath(name.removeprefix(ROOT).lstrip("/") or ".")
    if name != ROOT and not name.startswith(f"{ROOT}/"):
        raise OutsideError(f"Path must start with {ROOT}, got: {name}")
    # `a/../b` may be inside, but only an attacker writes it.
    is_hidden = any(part.startswith(".") for part in inner.split("/")) and inner != "."
    is_odd = not name.isprintable() or "\\" in name or "%2e" in name
    if is_hidden or is_odd or ".." in name.split("/"):
        raise OutsideError(f"Path {name} would escape {ROOT} directory")
    return workspace.entries_folder + ("" if inner == "." else inner.removesuffix(".md"))


def list_files(workspace: Workspace, path: str) -> list[str]:
    """Return the path of a memory, or of all memories in a folder, except forgotten ones."""
    folder = path if path.endswith("/") else f"{path}/"
    entries = open_index(workspace).list_entries(
        # Not LIKE, because `_` and `%` in a name would match other characters.
        "status != 'forgotten' and (path = ? or substr(path, 1, ?) = ?)",
        (f"{path}.md", len(folder), folder),
    )
    return sorted(entry.path for entry in entries)


def get_file(workspace: Workspace, name: str) -> tuple[str, str]:
    """Return the path of a file and its text, with secrets and forgotten passages hidden."""
    path = f"{find_path(workspace, name)}.md"
    if path not in list_files(workspace, path.removesuffix(".md")):
        raise NotFoundError(f"The path {name} does not exist. Please provide a valid path.")
    return path, get_body(get_index(workspace).read_text(path) or "")


def number_lines(lines: Sequence[str], first: int, last: int) -> str:
    return "\n".join(f"{number:>6}\t{lines[number - 1]}" for number in range(first, last + 1))


def view(workspace: Workspace, call: Call) -> str:
    name = get_text(call, "path")
    path = find_path(workspace, name)
    files = list_files(workspace, path)
    if path == workspace.entries_folder or (files and f"{path}.md" not in files):
        return view_folder(workspace, name.rstrip("/"), path.rstrip("/"), files)
    lines = get_file(workspace, name)[1].split("\n")
    first, last = get_range(call)
    last = len(lines) if last == -1 else min(last, len(lines))
    numbered = number_lines(lines, max(first, 1), last)
    return f"Here's the content of {name} with line numbers:\n{numbered}"


def get_range(call: Call) -> tuple[int, int]:
    """Return the numbers of the first and the last line to view; -1 is the end of the file."""
    numbers = call.get("view_range")
    if numbers is None:
        return 1, -1
    # A bool is an int, so isinstance would accept it.
    if not isinstance(numbers, list) or [type(number) for number in numbers] != [int, int]:
        raise UsageError(f"Invalid `view_range` parameter: {numbers}. It should be two numbers.")
    return numbers[0], numbers[1]


def view_folder(workspace: Workspace, name: str, folder: str, files: Sequence[str]) -> str:
    """List a folder two levels deep, with sizes."""
    sizes = {"": 0}
    for path in files:
        parts = path.removeprefix(f"{folder}/").removesuffix(".md").split("/")
        if "." not in parts[-1]:
            parts[-1] += ".md"  # a name such as `notes.txt` is shown without it
        size = len((read_file(workspace, path) or "").encode("utf-8", "surrogateescape"))
        sizes[""] += size
        for depth in (1, 2):
            shown = "/" + "/".join(parts[:depth]) + ("/" if len(parts) > depth else "")
            if len(parts) >= depth:
                sizes[shown] = sizes.get(shown, 0) + size
    lines = [f"{size / 1024:.1f}K\t{name}{path}" for path, size in sorted(sizes.items())]
    if len(lines) > MOST_LISTED:
        lines[MOST_LISTED:] = [f"… and {len(lines) - MOST_LISTED:,} more: view a folder of these"]
    head = (
        f"Here're the files and directories up to 2 levels deep in {name}, excluding hidden items"
        " and node_modules:"
    )
    return "\n".join([head, *lines])


def create(workspace: Workspace, call: Call) -> str:
    name, text = get_text(call, "path"), get_text(call, "file_text")
    path = f"{find_path(workspace, name)}.md"
    inner = path.removeprefix(workspace.entries_folder)
    exists = inner == ".md" or list_files(workspace, path.removesuffix(".md"))
    if exists or not move_forgotten(workspace, path):
        raise RejectedError(f"Error: File {name} already exists")
    (outcome,), _ = write_memories(workspace, [Draft(text, path=inner)], deduplicate=False)
    if outcome.error is not None:
        raise outcome.error
    return f"File created successfully at: {name}"


def move_forgotten(workspace: Workspace, path: str) -> bool:
    """Make a path free that a forgotten memory has. Return whether it is free.

    The model deleted the file and creates it again. The old text stays, because only the user may
    say it again, and repeats are compared with it.
    """
    text = read_file(workspace, path)
    if text is None:
        return True
    entries = open_index(workspace).list_entries("path = ? and status = 'forgotten'", (path,))
    if not entries:
        return False  # a file that the index cannot read
    moved = f"{path.removesuffix('.md')}-{build_digest(text)[:6]}.md"
    changes = [Replace(moved, None, text), Replace(path, text, None)]
    commit(workspace, "edit", [ChangeGroup(changes, is_moved=True)]).raise_rejected()
    return True


def edit_file(workspace: Workspace, name: str, change: Callable[[str], str]) -> str:
    """Change the text of a file and return the new text."""
    path, shown = get_file(workspace, name)
    before = read_file(workspace, path) or ""
    body = get_body(before)
    # The model saw the text with a secret masked, and would write the mask in its place.
    if body != shown:
        raise RejectedError(f"{name} has a hidden passage", "the user can edit the file")
    after = change(body)
    replace_text(workspace, path, before, replace_body(before, after), is_by_agent=True)
    return after


def str_replace(workspace: Workspace, call: Call) -> str:
    name, old = get_text(call, "path"), get_text(call, "old_str")
    # Some models leave out `new_str` to delete the passage.
    new = get_text(call, "new_str") if call.get("new_str") is not None else ""
    line = 0

    def change(text: str) -> str:
        nonlocal line
        line = find_only_line(text, old, name)
        return text.replace(old, new)

    lines = edit_file(workspace, name, change).split("\n")
    first, last = max(1, line - SHOWN_AROUND), min(len(lines), line + SHOWN_AROUND)
    return f"The memory file has been edited.\n{number_lines(lines, first, last)}"


def find_only_line(text: str, passage: str, name: str) -> int:
    """Return the number of the line of a passage. Raises RejectedError unless it occurs once."""
    # The lookahead also finds occurrences that overlap.
    matches = list(re.finditer(f"(?={re.escape(passage)})", text)) if passage else []
    numbers = [text.count("\n", 0, match.start()) + 1 for match in matches]
    if not numbers:
        raise RejectedError(
            f"No replacement was performed, old_str `{passage}` did not appear verbatim in {name}."
        )
    if len(numbers) > 1:
        raise RejectedError(
            f"No replacement was performed. Multiple occurrences of old_str `{passage}` in lines:"
            f" {', '.join(map(str, numbers))}. Please ensure it is unique"
        )
    return numbers[0]


def insert(workspace: Workspace, call: Call) -> str:
    name, new = get_text(call, "path"), get_text(call, "insert_text")
    number = call.get("insert_line")

    def change(text: str) -> str:
        lines = text.removesuffix("\n").split("\n")
        # 0 inserts above the first line.
        if type(number) is not int or not 0 <= number <= len(lines):
            raise UsageError(
                f"Error: Invalid `insert_line` parameter: {number}. It should be within the range"
                f" of lines of the file: [0, {len(lines)}]"
            )
        return "\n".join([*lines[:number], new.removesuffix("\n"), *lines[number:]]) + "\n"

    edit_file(workspace, name, change)
    return f"The file {name} has been edited."


def delete(workspace: Workspace, call: Call) -> str:
    name = get_text(call, "path")
    path = find_path(workspace, name)
    if path == workspace.entries_folder:
        raise RejectedError(f"Cannot delete the {ROOT} directory itself")
    files = list_files(workspace, path)
    if not files:
        raise NotFoundError(f"Error: The path {name} does not exist")
    forget(workspace, files).result.raise_rejected()
    return f"Successfully deleted {name}"


def rename(workspace: Workspace, call: Call) -> str:
    old, new = get_text(call, "old_path"), get_text(call, "new_path")
    source, target = find_path(workspace, old), find_path(workspace, new)
    files = list_files(workspace, source)
    if workspace.entries_folder in (source, target) or target.startswith(f"{source}/"):
        raise RejectedError(f"Cannot rename {old} to {new}")
    if not files:
        raise NotFoundError(f"Error: The path {old} does not exist")
    changes = []
    for path in files:
        moved = target + path.removeprefix(source)
        if read_file(workspace, moved) is not None or list_files(workspace, target):
            raise RejectedError(f"Error: The destination {new} already exists")
        text = read_file(workspace, path)
        changes += [Replace(moved, None, text), Replace(path, text, None)]
    # The gates look at the new name. A file whose secret a person allowed stays where it is.
    commit(workspace, "edit", [ChangeGroup(changes)], summary=f"rename {old}").raise_rejected()
    return f"Successfully renamed {old} to {new}"


COMMANDS: dict[str, Callable[[Workspace, Call], str]] = {
    "view": view,
    "create": create,
    "str_replace": str_replace,
    "insert": insert,
    "delete": delete,
    "rename": rename,
}
