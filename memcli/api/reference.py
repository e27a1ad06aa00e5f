"""What can be named in the workspaces in reach: ids, tags, keys, sessions, types and settings."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from ..errors import MemError
from ..formats.entry_fields import TYPES
from ..formats.text_lines import shorten
from ..index import completions
from ..results import schema_of
from ..store.settings import TABLE, Setting, written
from ..store.workspace import Surroundings, find

Names = list[tuple[str, str]]
"""Each with what is said of it; empty where there is nothing to say."""


def ids(around: Surroundings, beginning: str) -> Names:
    """Return ids of entries that begin so, or end so, with what they say; the latest first, at most 50 a workspace."""
    return _everywhere(around, lambda derived: completions.ids(derived, beginning))


def tags(around: Surroundings, beginning: str) -> Names:
    """Return tags that begin so with the number of their entries, the most used first."""
    return _everywhere(around, lambda derived: completions.tags(derived, beginning))


def keys(around: Surroundings, beginning: str) -> Names:
    """Return the keys that begin so and that entries fill, with what these say."""
    return _everywhere(around, lambda derived: completions.keys(derived, beginning))


def sessions(around: Surroundings, beginning: str) -> Names:
    """Return the ids of sessions that begin so."""
    from ..formats.session_event import session_id

    def names(derived: Path) -> Names:
        folders = sorted((derived.parent / "sessions").iterdir())
        names = [session_id(folder.name) or folder.name for folder in folders if folder.is_dir()]
        return [(name, "") for name in names if name.startswith(beginning)]

    return _everywhere(around, names)


def settings(beginning: str) -> Names:
    """Return the names of settings that begin so, with what each is for."""
    return [(setting.name, setting.doc) for setting in TABLE if setting.name.startswith(beginning)]


def entry_fields() -> dict[str, str]:
    """Return the keys of an entry's frontmatter in the order of a new file, with what the class says of each."""
    import ast
    import inspect

    from ..formats.entry import FIELDS, Entry

    (source,) = ast.parse(inspect.getsource(Entry)).body
    descriptions: dict[str, str] = {}
    for field, text in pairwise(getattr(source, "body", ())):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(says))):
                descriptions[name] = " ".join(says.split())
    return {name: descriptions.get(name, "") for name in FIELDS}


def transcript_writers() -> tuple[str, ...]:
    """Return the tools and services whose conversations are read, as people call them."""
    from ..transcripts.registry import WRITERS

    return WRITERS


def types(beginning: str) -> Names:
    """Return the types of entries that begin so."""
    return [(name, "") for name in TYPES if name.startswith(beginning)]


def _everywhere(around: Surroundings, look: Callable[[Path], Names]) -> Names:
    """Look in every workspace in reach; what cannot be read has nothing to offer."""
    names: Names = []
    with _quietly():
        for workspace in find(around):
            with _quietly():
                names += look(workspace.derived)
    return names


@contextmanager
def _quietly() -> Iterator[None]:
    """Let a mistake of the user's world offer nothing: a message would land in the middle of a command line."""
    try:
        yield
    except (MemError, OSError, ValueError):
        return
