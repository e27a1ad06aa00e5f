"""The table of commands. The overview, shell completion and the man pages are made from it."""

from typing import Annotated, NamedTuple

from typer import Argument

from ..api import Context, UsageError
from .terminal import Result

# The modules of commands that have no module with their name.
MODULES = {
    "commands": ("completion",),
    "hook_install": ("hook",),
    "init": ("trust",),
    "main": ("help",),
    "mcp": ("memory-tool",),
    "read": ("grep", "ls", "tags"),
    "recall": ("context",),
    "serve": ("ui",),
    "session": ("consolidate",),
    "status": ("check", "doctor", "index"),
    "sync": ("merge-driver",),
    "transfer": ("export", "import"),
    "undo": ("history",),
    "upkeep": ("decay", "promote", "tend"),
    "write": ("edit", "forget", "note", "restore"),
}
GROUPS = ("Start", "Write", "Find", "Learn", "Maintain", "Share")
COMPLETION_FIELDS = ("script",)
# Not `{words}`: these scripts are full of braces.
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


class Command(NamedTuple):
    """A command as the overview and the manual show it."""

    group: str  # one of GROUPS; empty if only programs call it
    summary: str
    takes_text: bool = False  # which may start with a dash


COMMANDS: dict[str, Command] = {
    "init": Command("Start", "create a workspace"),
    "status": Command("Start", "show the workspace in use, and why"),
    "doctor": Command("Start", "check the setup"),
    "config": Command("Start", "read and change settings"),
    "trust": Command("Start", "trust a workspace that came with a repository"),
    "demo": Command("Start", "show mem at work in half a minute"),
    "completion": Command("Start", "print a shell completion script"),
    "help": Command("Start", "show help of a command"),
    "write": Command("Write", "save a memory, or replace one", takes_text=True),
    "edit": Command("Write", "change a memory or another file"),
    "note": Command("Write", "add a line to today's notes", takes_text=True),
    "forget": Command("Write", "hide memories, or delete them"),
    "restore": Command("Write", "bring back a forgotten, faded or superseded memory"),
    "review": Command("Write", "answer the questions that need your decision"),
    "undo": Command("Write", "revert a command"),
    "search": Command("Find", "find by meaning and by words", takes_text=True),
    "grep": Command("Find", "find lines by exact text or expression", takes_text=True),
    "read": Command("Find", "show a memory or file"),
    "ls": Command("Find", "list memories"),
    "tags": Command("Find", "list tags with counts"),
    "recall": Command("Find", "print the memories for a prompt", takes_text=True),
    "context": Command("Find", "print the text for the start of a session"),
    "session": Command(
        "Learn",
        "record, list, show, import, compact and delete conversations",
        takes_text=True,
    ),
    "consolidate": Command("Learn", "turn conversations into history and memories"),
    "history": Command("Learn", "list the log, or add to it"),
    "promote": Command("Learn", "put confirmed memories into MEMORY.md, or remove their lines"),
    "decay": Command("Learn", "show what has faded, and mark it"),
    "tend": Command("Learn", "do the pending maintenance; meant for cron"),
    "check": Command("Maintain", "find problems in files, and fix them"),
    "index": Command("Maintain", "update the search index now"),
    "export": Command("Share", "write the memory to a file or folder"),
    "import": Command("Share", "bring in memories from a file or folder"),
    "sync": Command("Share", "exchange memories with your other machines"),
    "hook": Command("Share", "connect agents, git, cron and systemd"),
    "mcp": Command("Share", "serve the memory to agents over MCP"),
    "ui": Command("Share", "show the memory in your browser"),
    "serve": Command("Share", "answer reading commands faster from a running process"),
    "merge-driver": Command("", "merge three versions of a memory for git"),
    "memory-tool": Command("", "carry out a command of Anthropic's memory tool"),
}


def run_completion(
    context: Context,
    shell: Annotated[str, Argument(help="bash, zsh or fish.")],
) -> Result:
    """Print a script that completes commands in your shell.

    \b
    Examples:
      eval "$(mem completion bash)"
    """
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
