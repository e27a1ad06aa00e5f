"""mem demo: show mem at work on a temporary memory."""

import io
import shlex
import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory

from ..agents.quick import build_places
from ..api import CommonOptions, Context, open_all
from ..data import table
from ..recall import Shown, build_action_context
from .main import run
from .terminal import Result

DEMO_FIELDS = ("text", "command", "output", "steps")
WIDTH = 80
END = """\
This memory was temporary and is deleted now.
To create a memory in your project: mem init"""


def run_demo(context: Context) -> Result:
    """Show what mem does: save, find, replace, remind an agent, forget, undo.

    It runs real commands in a temporary folder, and changes nothing of yours.

    \b
    Examples:
      mem demo
    """
    steps = []
    with TemporaryDirectory(prefix="mem-demo-") as home:
        inner = build_demo_context(context, Path(home).resolve())
        for step in table("demo.toml")["steps"]:
            output = run_step(inner, step["command"])
            steps.append({**step, "output": output})
            if not context.common.as_json:
                context.stdout.write(format_step(step, output))
                context.stdout.flush()
    return Result({"steps": steps}, ["", *END.splitlines()])


def build_demo_context(context: Context, home: Path) -> Context:
    """Return a context with a temporary home, and without the user's settings."""
    folder = home / "shop"
    folder.mkdir()
    # A setting such as MEM_WORKSPACE would let the demo write into the user's memory.
    names = ("PATH", "TZ", "NO_COLOR", *(["TERM"] if context.is_terminal else []))
    environment = {name: context.environment[name] for name in names if name in context.environment}
    return context._replace(
        environment={**environment, "HOME": str(home)},
        folder=folder,
        stdin=io.StringIO(),
        width=WIDTH,
        height=0,
        is_terminal=True,
        common=CommonOptions(),
        cleanups=None,
    )


def run_step(context: Context, command: str) -> str:
    """Return the output of a command, or the text that an agent reads before it."""
    program, *arguments = shlex.split(command)
    if program != "mem":
        return show_reminder(context, command)
    output = io.StringIO()
    run(context._replace(stdout=output, stderr=output), arguments)
    return output.getvalue()


def show_reminder(context: Context, command: str) -> str:
    """Return what the hook answers before a tool call."""
    workspaces = open_all(context)
    places, tokens = build_places(workspaces)
    return build_action_context(
        places,
        str(context.folder),
        {"command": command},
        Shown("", {}),
        tokens=tokens,
        now=workspaces[0].stamp,
    )


def format_step(step: dict[str, str], output: str) -> str:
    lines = [f"\n{step['text']}\n"] if step["text"] else []
    prompt = "$" if step["command"].startswith("mem ") else "agent$"
    lines.append(f"{prompt} {step['command']}")
    for line in output.strip().splitlines():
        # The text for an agent is not made for a terminal.
        lines += textwrap.wrap(line, WIDTH, subsequent_indent="  ") or [""]
    return "".join(f"{line}\n" for line in lines)
