"""`mem completion`."""

from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

from ..errors import UsageError
from . import output

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
