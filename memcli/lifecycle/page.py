"""The page of long-term memory as consolidation finds it: its text, or why it is left alone."""

from dataclasses import dataclass

from ..store import files
from ..store.workspace import Workspace
from ..text.conflict import conflict_marker


@dataclass(frozen=True)
class Page:
    """The page; `text` is empty where there is none or it cannot be changed."""

    path: str
    before: str | None  # for a step: None where there is no file
    text: str
    problem: str = ""


def read_page(workspace: Workspace) -> Page:
    """Read the page; what is no UTF-8 or in conflict is left byte for byte, and said."""
    path = workspace.layout.memory
    target = workspace.path(path)
    if not target.exists():
        return Page(path, None, "")
    try:
        text = files.read(target).decode("utf-8")
    except UnicodeDecodeError:
        return Page(path, None, "", f"{path} is not UTF-8")
    marker = conflict_marker(text)
    if marker is not None:
        return Page(path, None, "", f"{path}:{marker} is a git conflict marker")
    return Page(path, text, text)
