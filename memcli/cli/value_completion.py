"""What may stand where the cursor is: ids, tags, sessions, settings. Loads nothing heavy and never fails."""

from collections.abc import Callable, Sequence
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

from ..errors import MemError, UsageError
from . import output

Answers = list[tuple[str, str]]


def ids(incomplete: str) -> Answers:
    """Offer ids of entries, with what they say."""
    return _offered("ids", incomplete)


def tags(incomplete: str) -> Answers:
    """Offer tags, the most used first."""
    return _offered("tags", incomplete)


def keys(incomplete: str) -> Answers:
    """Offer the keys that entries fill, with what they say."""
    return _offered("keys", incomplete)


def sessions(incomplete: str) -> Answers:
    """Offer the ids of sessions."""
    return _offered("sessions", incomplete)


def settings(incomplete: str) -> Answers:
    """Offer the names of settings."""
    from ..api import reference

    return reference.settings(incomplete)


def types(incomplete: str) -> Answers:
    """Offer the types of entries."""
    from ..api import reference

    return reference.types(incomplete)


def among(values: Sequence[str]) -> Callable[[str], Answers]:
    """Offer what an option takes."""

    def offered(incomplete: str) -> Answers:
        return [(value, "") for value in values if value.startswith(incomplete)]

    return offered


def _offered(what: str, incomplete: str) -> Answers:
    """Return names of one kind from every workspace in reach; none where the world is not as it should be."""
    from ..api import reference
    from ..api.workspace import surroundings

    try:
        found: Answers = getattr(reference, what)(surroundings(), incomplete)
    except MemError:
        return []
    return found


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
