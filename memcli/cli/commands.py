"""The table of commands. The overview, shell completion and the man pages are made from it."""

from typing import Annotated, NamedTuple

from typer import Argument

from ..context import Context
from ..errors import UsageError
from .terminal import Result

# The modules of commands that have no module with their name.
MODULES = {
    "edit": "write",
    "note": "write",
    "ls": "read",
    "tags": "read",
    "forget": "write",
    "restore": "write",
    "history": "undo",
    "check": "status",
    "doctor": "status",
    "index": "status",
    "trust": "init",
    "help": "main",
    "completion": "commands",
    "grep": "read",
    "tend": "upkeep",
    "decay": "upkeep",
    "promote": "upkeep",
    "export": "transfer",
    "import": "transfer",
    "context": "recall",
    "ui": "serve",
    "memory-tool": "mcp",
    "consolidate": "session",
    "hook": "hook_install",
    "merge-driver": "sync",
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
    examples: tuple[str, ...] = ()
    takes_text: bool = False  # which may start with a dash
    is_undoable: bool = False  # `mem undo` reverts it


COMMANDS: dict[str, Command] = {
    "init": Command(
        "Start",
        "create a workspace",
        ("mem init", "mem init notes/", "mem init --shared", "mem init --yes"),
    ),
    "status": Command(
        "Start", "show the workspace in use, and why", ("mem status", "mem status --all")
    ),
    "doctor": Command("Start", "check the setup", ("mem doctor", "mem doctor --json")),
    "config": Command(
        "Start",
        "read and change settings",
        ("mem config list", "mem config set timezone Europe/Lisbon", "mem config unset timezone"),
    ),
    "trust": Command("Start", "trust a workspace that came with a repository", ("mem trust",)),
    "demo": Command("Start", "show mem at work in half a minute", ("mem demo",)),
    "completion": Command(
        "Start", "print a shell completion script", ('eval "$(mem completion bash)"',)
    ),
    "help": Command("Start", "show help of a command", ("mem help search",)),
    "write": Command(
        "Write",
        "save a memory, or replace one",
        (
            'mem write "User prefers dark mode." --type preference',
            'mem write "Staging listens on port 7654." --key staging/port',
            'mem write "We deploy on Mondays." --supersedes 4kq7tz',
            "git log -1 --format=%B | mem write -",
        ),
        takes_text=True,
        is_undoable=True,
    ),
    "edit": Command(
        "Write",
        "change a memory or another file",
        (
            "mem edit 4kq7tz",
            'mem edit 4kq7tz --replace "port 6543" "port 7654"',
            "mem edit MEMORY.md",
            "mem edit 4kq7tz --scope user",
        ),
        is_undoable=True,
    ),
    "note": Command(
        "Write", "add a line to today's notes", ('mem note "ordered a new valve body"',), True, True
    ),
    "forget": Command(
        "Write",
        "hide memories, or delete them",
        (
            "mem forget 4kq7tz",
            "mem forget --about Kubernetes --dry-run",
            "mem forget 4kq7tz --purge",
        ),
        is_undoable=True,
    ),
    "restore": Command(
        "Write",
        "bring back a forgotten, faded or superseded memory",
        ("mem restore 4kq7tz",),
        is_undoable=True,
    ),
    "review": Command(
        "Write",
        "answer the questions that need your decision",
        ("mem review", "mem review --duplicates", "mem review --json", "mem review 3f2a1c newer"),
        is_undoable=True,
    ),
    "undo": Command(
        "Write",
        "revert a command",
        ("mem undo", "mem undo --list", "mem undo 17"),
        is_undoable=True,
    ),
    "search": Command(
        "Find",
        "find by meaning and by words",
        (
            'mem search "when is the heating serviced"',
            "mem search deploy --type lesson --since 'last month'",
            'mem search recipe --where "rating>=4" -n 3',
        ),
        takes_text=True,
    ),
    "grep": Command(
        "Find",
        "find lines by exact text or expression",
        ("mem grep 'port 6543'", "mem grep -E 'v[0-9]+\\.[0-9]+' notes/"),
        takes_text=True,
    ),
    "read": Command(
        "Find", "show a memory or file", ("mem read 4kq7tz", "mem read MEMORY.md#projects")
    ),
    "ls": Command("Find", "list memories", ("mem ls", "mem ls --type preference --json id,text")),
    "tags": Command("Find", "list tags with counts", ("mem tags",)),
    "recall": Command(
        "Find",
        "print the memories for a prompt",
        (
            'mem recall "Write the config for staging"',
            'mem recall "Deploy the shop" --format block',
            "mem recall - --explain",
        ),
        takes_text=True,
    ),
    "context": Command(
        "Find",
        "print the text for the start of a session",
        ("mem context", "mem context --explain"),
    ),
    "session": Command(
        "Learn",
        "record, list, show, import, compact and delete conversations",
        (
            "mem session ls",
            "mem session import ~/.claude/projects/shop/1c2d.jsonl",
            'mem session append standup "We ship on Fridays."',
            "mem session show standup",
        ),
        takes_text=True,
        is_undoable=True,
    ),
    "consolidate": Command(
        "Learn",
        "turn conversations into history and memories",
        (
            "mem consolidate",
            "mem consolidate --all --dry-run",
            "mem consolidate --ask > prompt.txt",
            "mem consolidate --answer answer.json",
        ),
        is_undoable=True,
    ),
    "history": Command(
        "Learn",
        "list the log, or add to it",
        ("mem history", 'mem history --add "Released 1.2."'),
        is_undoable=True,
    ),
    "promote": Command(
        "Learn",
        "put confirmed memories into MEMORY.md, or remove their lines",
        ("mem promote 4kq7tz", "mem promote --auto --dry-run", "mem promote 4kq7tz --remove"),
        is_undoable=True,
    ),
    "decay": Command(
        "Learn",
        "show what has faded, and mark it",
        ("mem decay --dry-run", "mem decay", "mem decay --max-fraction 0.5"),
        is_undoable=True,
    ),
    "tend": Command(
        "Learn",
        "do the pending maintenance; meant for cron",
        ("mem tend", "mem tend --dry-run"),
    ),
    "check": Command(
        "Maintain",
        "find problems in files, and fix them",
        ("mem check", "mem check --fix"),
    ),
    "index": Command(
        "Maintain", "update the search index now", ("mem index", "mem index --rebuild")
    ),
    "export": Command(
        "Share",
        "write the memory to a file or folder",
        (
            "mem export memory.jsonl",
            "mem export memory.md",
            "mem export backup/ --all",
            "mem export bundle/ --format okf",
            "mem export --type preference > preferences.jsonl",
        ),
    ),
    "import": Command(
        "Share",
        "bring in memories from a file or folder",
        (
            "mem import memory.jsonl",
            "mem import backup/ --dry-run",
            "mem import ~/vault",
            "mem import people.csv --map text=what,owner=who",
        ),
        is_undoable=True,
    ),
    "sync": Command(
        "Share",
        "exchange memories with your other machines",
        (
            "mem sync git@github.com:ana/memory.git --scope user",
            "mem sync --scope user",
            "mem sync --scope user --dry-run",
        ),
    ),
    "hook": Command(
        "Share",
        "connect agents, git, cron and systemd",
        (
            "mem hook install claude-code",
            "mem hook ls",
            "mem hook uninstall claude-code",
            "mem hook install git",
        ),
    ),
    "mcp": Command("Share", "serve the memory to agents over MCP", ("mem mcp",)),
    "ui": Command("Share", "show the memory in your browser", ("mem ui", "mem ui --port 8765")),
    "serve": Command(
        "Share",
        "answer reading commands faster from a running process",
        ("mem serve", "mem serve --idle 0", "mem serve --stop"),
    ),
    "merge-driver": Command(
        "",
        "merge three versions of a memory for git",
        ("mem merge-driver base.md ours.md theirs.md 7 memory/MEMORY.md",),
    ),
    "memory-tool": Command(
        "",
        "carry out a command of Anthropic's memory tool",
        ('echo \'{"command": "view", "path": "/memories"}\' | mem memory-tool',),
    ),
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
