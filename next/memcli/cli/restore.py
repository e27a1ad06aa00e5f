"""mem restore: bring back a forgotten, faded or superseded memory."""

from typing import Annotated

from typer import Argument

from ..api import open_target
from ..context import Context
from ..reconcile.forget import restore
from .render import Result

FIELDS = ("action", "id", "short_id", "path", "text")


def run_restore(
    context: Context,
    names: Annotated[list[str], Argument(metavar="MEMORY…", help="Ids, paths or titles.")],
) -> Result:
    """Make forgotten, faded or superseded memories active again."""
    done = restore(open_target(context), names)
    lines = [f"Restored: {outcome.text}  ({outcome.short_id})" for outcome in done.outcomes]
    rows = [[outcome.action, outcome.id, outcome.path, outcome.text] for outcome in done.outcomes]
    data = {
        "memories": [{name: getattr(outcome, name) for name in FIELDS} for outcome in done.outcomes]
    }
    return Result(data, lines, rows, done.result.messages)
