"""Long-term memory for agents and people, kept as plain markdown and worked from the shell or from Python.

`open_workspace` opens a workspace; the functions of `memcli.api` work on it.
"""

__version__ = "0.1.0"
__all__ = ["__version__", "open_workspace"]

TYPE_CHECKING = False  # `typing` would cost `mem --version` more than all the rest
if TYPE_CHECKING:
    from .api.workspace import open_workspace
else:

    def __getattr__(name: str) -> object:
        """Import `open_workspace` when it is first asked for; AttributeError for what the package does not have."""
        if name == "open_workspace":
            from .api.workspace import open_workspace

            return open_workspace
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
