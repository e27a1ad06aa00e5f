"""mem restore: bring back a forgotten, faded or superseded memory."""

from typing import Annotated

from typer import Argument

from ..api import open_existing
from ..context import Context
from ..reconcile.forget import restore
from .forget import FIELDS as FIELDS
from .forget import render_outcomes
from .render import Result


def run_restore(
    context: Context,
    names: Annotated[list[str], Argument(metavar="MEMORY…", help="Ids, paths or titles.")],
) -> Result:
    """Make forgotten, faded or superseded memories active again."""
    done = restore(open_existing(context, names), names)
    lines = [f"Restored: {outcome.text}  ({outcome.short_id})" for outcome in done.outcomes]
    return render_outcomes(done, lines, {})
