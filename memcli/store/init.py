"""Make a workspace, in mem's own layout or over the folder of another tool, adding files and changing none."""

import os
from pathlib import Path
from shlex import quote
from typing import Annotated

from ..dataclass import dataclass
from ..errors import RefusedError, UsageError
from ..git import merge_driver
from ..results import Result
from . import atomic_files, trust
from .file_steps import PREFIX
from .layouts import GOLEMCORE, LAYOUTS, MARKDOWN, MEM, Recognised, recognise
from .redaction import Redactor, secret_in_name
from .settings import FORMAT, FORMAT_KEY
from .workspace import MARKER, Surroundings, opened

MARKER_TEXT = f"""\
# This folder is a memory that `mem` keeps: plain markdown, yours to edit.
# Settings go here, one a line, such as `search.limit: 8`; `mem config list` shows them all.
{FORMAT_KEY}: {FORMAT}
"""
PAGE_TEXT = """\
# Memory
"""


@dataclass(frozen=True)
class Made(Result):
    """A workspace that was made or completed."""

    root: Path
    layout: Annotated[str, "how the folder is laid out"]
    why: Annotated[str, "what gave the layout away; empty where it was asked for"]  # or is mem's own
    made: Annotated[tuple[str, ...], "names of the files that were made"]
    top: Path | None  # the git repository another tool's folder is in
    outside: Annotated[int, "markdown files of the folder that lie outside the workspace"] = 0

    @property
    def workspace(self) -> Annotated[str, "the folder of the workspace"]:
        """Return the folder."""
        return str(self.root)

    @property
    def repository(
        self,
    ) -> Annotated[str | None, "the git repository another tool's folder is in; null where none"]:
        """Return the folder of the git repository."""
        return str(self.top) if self.top else None

    @property
    def is_own_layout(self) -> bool:
        """Tell whether it is laid out as mem does, and not as another tool."""
        return self.layout == MEM.name

    @property
    def is_markdown(self) -> bool:
        """Tell whether every markdown file of the folder is a memory."""
        return self.layout == MARKDOWN.name

    @property
    def has_items(self) -> bool:
        """Tell whether the folder has records of golemcore's that an import makes entries of."""
        return self.layout == GOLEMCORE.name and (self.root / "memory" / "items").is_dir()


def init(around: Surroundings, folder: Path | None = None, layout: str = "") -> Made:
    """Make a workspace, or complete one. Nothing that exists is changed but `.gitignore` and `.gitattributes`, which
    get the lines they lack. A git repository around it is told how to merge memories.

    Without a folder it is the current one where that is a workspace or the folder of a tool that is known, else
    `memory` in it. Raises UsageError for a layout that does not fit.
    """
    if layout and layout not in LAYOUTS:
        raise UsageError(f"no layout {layout!r}", f"use one of {', '.join(LAYOUTS)}")
    chosen = _chosen(around.folder, folder, layout)
    root = chosen.root
    given = root.relative_to(around.folder) if root.is_relative_to(around.folder) else root.name
    if rule := secret_in_name(Redactor("the folder"), str(given)):
        raise RefusedError(f"the folder looks like a secret ({rule})", "choose another name")
    if root.exists() and not root.is_dir():
        raise RefusedError(f"{root} is a file", "name a folder")
    if (root / MARKER).exists():
        chosen = _as_it_is(around, chosen, layout)
    else:
        _require_fitting(around, chosen, asked=bool(layout))
    theirs = chosen.layout != MEM.name
    created = _create(root, chosen.layout)
    if MARKER in created:
        trust.record(around.state_folder, root.resolve(), trusted=True)
    repository = _repository(root)
    if repository:
        merge_driver.install(root)
    outside = 0 if theirs else _outside(root)
    return Made(root, chosen.layout, chosen.why, tuple(created), repository if theirs else None, outside)


def _outside(root: Path) -> int:
    """Count the markdown files that mem's own layout does not read; a project's own pages alone are none."""
    outside = []
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if not name.startswith(".") and name != "node_modules"]
        paths = (Path(folder, name).relative_to(root).as_posix() for name in names if name.endswith(".md"))
        outside += [path for path in paths if MEM.kind_of(path) is None and not Path(path).name.startswith(".")]
    return len(outside) if any(not Path(path).stem.isupper() for path in outside) else 0


def _chosen(here: Path, folder: Path | None, layout: str) -> Recognised:
    """Settle where the workspace is made and in which layout."""
    start = here if folder is None else folder
    for root in (start, here / "memory") if folder is None else (start,):
        if (root / MARKER).exists():
            return Recognised(layout or MEM.name, root, "")
    recognised = recognise(start)
    if recognised and layout in ("", recognised.layout):
        return recognised
    if folder is None and not (layout and (LAYOUTS[layout].is_below or LAYOUTS[layout].is_vault)):
        start = here / "memory"
    return Recognised(layout or MEM.name, start, "")


def _as_it_is(around: Surroundings, chosen: Recognised, asked: str) -> Recognised:
    """Keep the layout a workspace has; raise UsageError if another one was asked for."""
    name = opened(around, chosen.root).settings["layout"]
    if asked == MARKDOWN.name and name == MEM.name and not any((chosen.root / MEM.entries).rglob("*.md")):
        from .settings import set_in_file  # nothing is kept in mem's own layout yet

        set_in_file(chosen.root / MARKER, "layout", asked)
        return Recognised(asked, chosen.root, "it was asked for")
    if asked and asked != name:
        raise UsageError(
            f"{chosen.root} is a workspace of the layout {name}", f"run `mem config set layout {asked}` to change it"
        )
    return Recognised(name, chosen.root, "")


def _require_fitting(around: Surroundings, chosen: Recognised, *, asked: bool) -> None:
    """Refuse a place inside another workspace's memories, and `memory/` where the folder above it is meant."""
    root = chosen.root
    for above in root.parents:
        if (above / MARKER).is_file():
            outer = opened(around, above).layout
            if outer.kind_of((root.relative_to(above) / "any.md").as_posix()):
                raise UsageError(f"{root} belongs to the workspace {above}", f"run `mem init {quote(str(above))}`")
            break
    if asked and LAYOUTS[chosen.layout].is_below and root.name == "memory" and not (root / "memory").is_dir():
        raise UsageError(
            f"the layout {chosen.layout} is of the folder above {root}",
            f"run `mem init --layout {chosen.layout} {quote(str(root.parent))}`",
        )
    upper = None if asked or chosen.why else recognise(root.parent)
    if upper and upper.root == root.parent and LAYOUTS[upper.layout].is_below and root.name == "memory":
        raise UsageError(
            f"{root} belongs to the {upper.layout} folder {root.parent} ({upper.why})",
            f"run `mem init {quote(str(root.parent))}`, or `mem init --layout mem {quote(str(root))}` for one of mem's",
        )


def _create(root: Path, layout: str) -> list[str]:
    """Make what is missing and give the names of it."""
    texts = {MARKER: MARKER_TEXT, MEM.memory: PAGE_TEXT}
    if layout != MEM.name:
        texts = {MARKER: f"{MARKER_TEXT}layout: {layout}\n{_own_page(root, layout)}"}
    created = []
    for name, text in texts.items():
        try:
            atomic_files.create(root / name, text.encode())
        except FileExistsError:
            continue
        created.append(name)
    ignore = root / ".gitignore"
    lines = atomic_files.read(ignore).decode("utf-8", "replace").splitlines() if ignore.exists() else []
    missing = [line for line in ignored_lines(root, layout) if line not in lines]
    if missing:
        atomic_files.append(ignore, "".join(f"{line}\n" for line in missing).encode())
        created.append(ignore.name)
    if fresh := merge_driver.attributes_to_add(root):
        atomic_files.append(root / merge_driver.ATTRIBUTES, fresh.encode())
        created.append(merge_driver.ATTRIBUTES)
    return created


def _own_page(root: Path, layout: str) -> str:
    """Set the page of long-term memory where an old OpenClaw spells it in lower case: a second one would hide it."""
    page = root / LAYOUTS[layout].memory
    lower = page.with_name(page.name.lower())
    return f"paths.memory: {lower.name}\n" if layout == "openclaw" and lower.exists() and not page.exists() else ""


def ignored_lines(root: Path, layout: str) -> tuple[str, ...]:
    """Return what git should ignore; a folder of sessions that another tool made is left to that tool."""
    theirs = layout != MEM.name and (root / "sessions").exists()
    unfinished = f"{PREFIX}*"  # what a killed writer left
    away = f"/{LAYOUTS[layout].archive}sessions/"
    return ("/.mem/", unfinished, away) if theirs else ("/.mem/", unfinished, "/sessions/", away)


def _repository(root: Path) -> Path | None:
    return next((parent for parent in (root, *root.parents) if (parent / ".git").exists()), None)
