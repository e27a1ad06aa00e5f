"""Long-term memory for agents and people, stored as Markdown files.

from memcli import open_workspace, search, write
"""

__version__ = "1.0.0"
__all__ = ["open_workspace", "search", "write"]


def __getattr__(name: str) -> object:
    # Imported when used: `import memcli` must not load the index.
    if name in __all__:
        from . import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
