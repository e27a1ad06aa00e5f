"""mem context: print the text for the start of a session."""

from typing import Annotated

from typer import Option

from ..api import open_all
from ..context import Context
from ..recall.shown import load_shown
from ..recall.start import HEADINGS, PAGE, build_start
from .render import Result

FIELDS = ("section", "text", "why", "id", "lines", "tokens", "left_out")


def run_context(
    context: Context,
    session: Annotated[str, Option(help="Id of a session: record what it was shown.")] = "",
    resumed: Annotated[
        bool, Option("--resumed", help="Print only what the session was not shown yet.")
    ] = False,
    explain: Annotated[
        bool, Option("--explain", help="Show why each line is there, and how many tokens it uses.")
    ] = False,
) -> Result:
    """Print what an agent is shown when a session starts.

    It consists of the protocol, MEMORY.md, the rules of this project, where work stopped, and the
    latest memories.
    """
    workspaces = open_all(context)
    shown = load_shown(str(context.state_folder or ""), session)
    start = build_start(workspaces, shown, is_resumed=resumed)
    shown.save()
    data = {
        "lines": start.lines,
        "text": start.text,
        "tokens": start.count_tokens(),
        "left_out": start.left_out,
    }
    if not explain:
        return Result(data, start.text.splitlines())
    page_tokens = start.count_tokens(PAGE)
    lines = [f"{start.count_tokens() - page_tokens} tokens, plus {page_tokens} for MEMORY.md"]
    for section, heading in HEADINGS.items():
        chosen = [line for line in start.lines if line.section == section]
        if chosen:
            lines.append(f"{heading[3:]}: {start.count_tokens(section)} tokens")
            lines += [f"  {line.text}  ({line.why})" for line in chosen if line.text.strip()]
    if start.left_out:
        lines.append(f"Left out: {start.left_out:,}")
    return Result(data, lines)
