"""mem completion: print a shell completion script."""

from typing import Annotated

from typer import Argument

from ..context import Context
from ..errors import UsageError
from .commands import COMMANDS
from .render import Result

FIELDS = ("script",)
SCRIPTS = {
    "bash": """_mem() {
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "@words" -- "${COMP_WORDS[COMP_CWORD]}"))
  else
    COMPREPLY=($(compgen -W "--help --json --workspace --scope" -- "${COMP_WORDS[COMP_CWORD]}"))
  fi
}
complete -o default -F _mem mem
""",
    "zsh": """#compdef mem
_mem() {
  local -a commands=(@described)
  if (( CURRENT == 2 )); then _describe command commands; else _files; fi
}
compdef _mem mem
""",
    "fish": "@lines",
}


def run_completion(
    context: Context,
    shell: Annotated[str, Argument(help="bash, zsh or fish.")],
) -> Result:
    """Print a script that completes commands in your shell."""
    if shell not in SCRIPTS:
        raise UsageError(f"no completion for {shell!r}", f"one of: {', '.join(SCRIPTS)}")
    # A quote inside single quotes ends them in every shell, so it is written outside.
    summaries = {name: command.summary.replace("'", "'\\''") for name, command in COMMANDS.items()}
    described = " ".join(f"'{name}:{summary}'" for name, summary in summaries.items())
    fish = "\n".join(
        f"complete -c mem -n __fish_use_subcommand -f -a {name} -d '{summary}'"
        for name, summary in summaries.items()
    )
    script = (
        SCRIPTS[shell]
        .replace("@words", " ".join(COMMANDS))
        .replace("@described", described)
        .replace("@lines", fish)
    )
    return Result({"script": script}, script.splitlines())
