"""Bring the files of a workspace from the format that an older mem wrote to the one of this mem, as one plan.

`mem.yaml` says the format. A workspace of a later format is refused where settings are read; here formats only grow.
"""

from collections.abc import Iterator
from contextlib import suppress

from ..beliefs.plan import Plan, applied
from ..errors import MemError, RefusedError
from ..formats.text_lines import BOM
from ..git import merge_driver
from ..store.archive import archived, settled
from ..store.entries import decoded
from ..store.file_changes import read_bytes
from ..store.init import ignored_lines
from ..store.journal import Change
from ..store.plan_steps import text_of_file
from ..store.settings import FORMAT_KEY, format_number, stated_settings
from ..store.workspace import MARKER, Workspace
from .checks import check, mend_plan

UNSTATED = 0
"""The format of a workspace whose `mem.yaml` says none: it was made before there was a number."""


def format_of(workspace: Workspace) -> int:
    """Return the format that a workspace says it has."""
    stated = stated_settings(_text(workspace, MARKER)).get(FORMAT_KEY)
    return UNSTATED if stated is None else format_number(workspace.root / MARKER, stated)


def upgrade_plan(workspace: Workspace) -> Plan:
    """Return what brings a workspace to the format of this mem; nothing where it has that."""
    if format_of(workspace) != UNSTATED:
        return Plan()
    completed = list(_completed(workspace))
    ids = mend_plan(workspace, check(workspace).readings, ())
    mended = {step.path for step in ids.steps}  # what is changed in the archive is marked with it
    for path in archived(workspace):
        with suppress(MemError, OSError):  # what cannot be read stays as it is
            text = text_of_file(workspace.root / path) or ""
            if path not in mended and (new := settled(workspace.layout, path, text)) != text:
                completed.append((Change(path, text, new), "it lies in the archive on purpose"))
    return Plan(tuple(step for step, _ in completed), tuple(f"{step.path}: {why}" for step, why in completed)) + ids


def upgrade(workspace: Workspace, plan: Plan) -> None:
    """Make the changes of a plan, all or none; raise RefusedError if a file changed meanwhile."""
    applied(workspace, plan, "mem upgrade")


def _completed(workspace: Workspace) -> Iterator[tuple[Change, str]]:
    """Yield what the files beside the memories lack, with the reason."""
    root = workspace.root
    yield _with_more(workspace, MARKER, f"{FORMAT_KEY}: 1\n"), "says the format"
    present = _text(workspace, ".gitignore").splitlines()
    missing = [line for line in ignored_lines(root, workspace.layout.name) if line not in present]
    if missing:
        lines = "".join(f"{line}\n" for line in missing)
        yield _with_more(workspace, ".gitignore", lines), "what is derived or private stays out of git"
    if attributes := merge_driver.attributes_to_add(root):
        yield _with_more(workspace, merge_driver.ATTRIBUTES, attributes), "git merges memories by `mem merge-driver`"


def _with_more(workspace: Workspace, path: str, lines: str) -> Change:
    """Return the change that puts lines at the end of a file, in the line ends it has."""
    before = _text(workspace, path)
    newline = "\r\n" if "\r\n" in before else "\n"
    gap = newline if before.removeprefix(BOM) and not before.endswith("\n") else ""
    after = before + gap + lines.replace("\n", newline)
    old, new = ({} if path != MARKER else stated_settings(text) for text in (before, after))
    if path == MARKER and new != {**old, FORMAT_KEY: 1}:
        raise RefusedError(f"{path} has no end that a setting could be put to", f"write `{FORMAT_KEY}: 1` into it")
    return Change(path, before if (workspace.root / path).exists() else None, after)


def _text(workspace: Workspace, path: str) -> str:
    return decoded(path, read_bytes(workspace.root / path) or b"")
