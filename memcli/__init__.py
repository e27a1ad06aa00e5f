"""Long-term memory for agents and people, stored as Markdown files.

from memcli import open_workspace, search, write
"""

from collections.abc import Callable, Mapping

__version__ = "1.0.0"
__all__ = ["open_workspace", "search", "write"]


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


__getattr__ = import_lazily(__name__, {"api": "open_workspace search write"})
