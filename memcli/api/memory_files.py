"""The files of a workspace as the memory tool of Anthropic's API changes them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..store import text_files
from ..store.layouts import SESSION_FOLDER as SESSIONS
from ..store.text_files import exists, is_private, read_file, require_nameable
from ..store.workspace import Workspace
from .workspace import recorded

if TYPE_CHECKING:
    from ..store.entries import NearEntry


rename_file = recorded("memory-tool rename")(text_files.rename_file)


@recorded("memory-tool edit")
def change_file(workspace: Workspace, path: str, change: Callable[[str], str], *, name: str, by: str) -> str:
    """Change a file's text, as `editing.change_file`; raise RefusedError where it would say what was forgotten."""
    from ..beliefs.forgotten import ForgottenGuard

    guarded = ForgottenGuard(workspace, path, by).change(change)
    return text_files.change_file(workspace, path, guarded, name=name, by=by)


@recorded("memory-tool delete")
def archive_file(workspace: Workspace, path: str) -> None:
    """Move a file or a folder to the archive, entries as forgotten; raise RefusedError if it cannot be there."""
    from ..beliefs.forgotten import forgetting
    from ..beliefs.plan import applied

    text_files.require_all_ours(workspace, path)
    applied(workspace, forgetting(workspace, [path], by="observed").plan, "mem memory-tool")


@recorded("memory-tool create")
def create_file(workspace: Workspace, path: str, text: str, *, name: str, by: str) -> "tuple[NearEntry, ...]":
    """Make a file of a text, as `editing.create_file`; return what lies near to it where it is an entry.

    Raise RefusedError for an entry that says what was forgotten.
    """
    from ..formats.frontmatter.document import parse

    near: tuple[NearEntry, ...] = ()
    document = parse(text)
    if workspace.layout.kind_of(path) == "entry" and (body := document.body.strip()):
        from ..beliefs.admission import near_to
        from ..beliefs.forgotten import pass_by_the_forgotten
        from ..formats.entry import read_entry

        pass_by_the_forgotten(workspace, {"source": by}, body, "mem memory-tool")
        near = near_to(workspace, read_entry(document, path, workspace.now)[0])
    text_files.create_file(workspace, path, text, name=name, by=by)
    return near


def path_of_key(workspace: Workspace, key: str) -> str:
    """Return the path of the one active entry that fills a key, however it is spelled; empty for none or several."""
    from ..formats.entry import same_key
    from ..index.lookups import ask_current, keys_in_use

    wanted = same_key(key)
    in_use = ask_current(workspace, keys_in_use) if wanted else []
    paths = [path for other, path in in_use if same_key(other) == wanted]
    return paths[0] if len(paths) == 1 else ""
