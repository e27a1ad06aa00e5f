"""Long-term memory for agents and people, stored as Markdown files.

from memcli import open_workspace, search, write
"""

from collections.abc import Callable, Mapping

TYPE_CHECKING = False  # `typing` takes 5 ms to import. Type checkers know this name.
if TYPE_CHECKING:
    from .api import (
        build_context,
        grep,
        list_memories,
        open_workspace,
        read_memory,
        recall_memories,
        search,
        write,
    )
    from .consolidate.consolidate import build_agent_prompt, consolidate_session, save_agent_reply
    from .reconcile import answer_questions, list_questions, replace_passage
    from .reconcile.forgetting import forget, restore
    from .store.sessions import append_events, list_sessions, read_session
    from .store.undo import undo
    from .store.undo_log import read_log
    from .upkeep.check import find_problems, fix_problems
    from .upkeep.lifecycle import find_fading, mark_faded, promote
    from .upkeep.tend import tend

__version__ = "1.0.0"


def import_lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` that imports the public names of a package when they are used.

    `modules` holds the names of each module, separated by spaces. A command loads only the modules
    that it needs, because imports take most of its time.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> object:
        from importlib import import_module

        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f".{homes[name]}", package), name)

    return load


# The functions for Python programs, described in docs/python.md.
PUBLIC = {
    "api": (
        "build_context grep list_memories open_workspace read_memory recall_memories search write"
    ),
    "consolidate.consolidate": "build_agent_prompt consolidate_session save_agent_reply",
    "reconcile.edit": "replace_passage",
    "reconcile.forgetting": "forget restore",
    "reconcile.review": "answer_questions list_questions",
    "store.sessions": "append_events list_sessions read_session",
    "store.undo": "undo",
    "store.undo_log": "read_log",
    "upkeep.check": "find_problems fix_problems",
    "upkeep.lifecycle": "find_fading mark_faded promote",
    "upkeep.tend": "tend",
}
__all__ = " ".join(PUBLIC.values()).split()
load_public = import_lazily(__name__, PUBLIC)


def __getattr__(name: str) -> object:
    """Return a public function, which checks its arguments."""
    function = load_public(name)
    from .api import check_arguments

    return check_arguments(function)  # type: ignore[arg-type]
