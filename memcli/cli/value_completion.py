"""What may stand where the cursor is: ids, tags, sessions, settings. Loads nothing heavy and never fails."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

from ..errors import UsageError
from . import output

Answers = list[tuple[str, str]]


def ids(incomplete: str) -> Answers:
    """Offer ids of entries, with what they say."""
    from ..index.peek import ids as found

    return _everywhere(lambda derived: found(derived, incomplete))


def tags(incomplete: str) -> Answers:
    """Offer tags, the most used first."""
    from ..index.peek import tags as found

    return _everywhere(lambda derived: found(derived, incomplete))


def keys(incomplete: str) -> Answers:
    """Offer the keys that entries fill, with what they say."""
    from ..index.peek import keys as found

    return _everywhere(lambda derived: found(derived, incomplete))


def sessions(incomplete: str) -> Answers:
    """Offer the ids of sessions."""
    from ..formats.session_metadata import session_id

    def names(derived: Path) -> Answers:
        folders = sorted((derived.parent / "sessions").iterdir())
        known = [session_id(folder.name) or folder.name for folder in folders if folder.is_dir()]
        return [(name, "") for name in known if name.startswith(incomplete)]

    return _everywhere(names)


def settings(incomplete: str) -> Answers:
    """Offer the names of settings."""
    from ..store.settings_table import TABLE

    return [(setting.name, setting.doc) for setting in TABLE if setting.name.startswith(incomplete)]


def types(incomplete: str) -> Answers:
    """Offer the types of entries."""
    from ..formats.entry import TYPES

    return [(name, "") for name in TYPES if name.startswith(incomplete)]


def among(values: Sequence[str]) -> Callable[[str], Answers]:
    """Offer what an option takes."""

    def offered(incomplete: str) -> Answers:
        return [(value, "") for value in values if value.startswith(incomplete)]

    return offered


def _everywhere(look: Callable[[Path], Answers]) -> Answers:
    """Look in every workspace in reach; what cannot be read has nothing to offer."""
    found: Answers = []
    with _quietly():
        from ..store.workspace import find
        from .context import surroundings

        for workspace in find(surroundings()):
            with _quietly():
                found += look(workspace.derived)
    return found


@contextmanager
def _quietly() -> Iterator[None]:
    """Let a mistake of the world offer nothing: a message would land in the middle of a command line."""
    from ..errors import MemError

    try:
        yield
    except (MemError, OSError, ValueError):
        return


SHELLS = ("bash", "zsh", "fish")


def completion(
    shell: Annotated[
        str, typer.Argument(metavar="SHELL", help=f"One of {', '.join(SHELLS)}.", autocompletion=lambda: list(SHELLS))
    ],
) -> None:
    """Print the completion script for your shell.

    bash: eval "$(mem completion bash)" in ~/.bashrc; zsh: the same with zsh in ~/.zshrc, after compinit;
    fish: mem completion fish > ~/.config/fish/completions/mem.fish
    """
    if shell not in SHELLS:
        raise UsageError(f"no completion for {shell!r}", f"use one of {', '.join(SHELLS)}")
    output.say(get_completion_script(prog_name="mem", complete_var="_MEM_COMPLETE", shell=shell), raw=True)
