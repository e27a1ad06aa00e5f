"""`mem promote`."""

from typing import TYPE_CHECKING, Annotated

import typer

from ..api import maintain
from ..api.choice import require_source
from ..errors import UsageError
from . import output, workspaces
from .options import COMMON, Common, Source

if TYPE_CHECKING:
    from ..api.maintain import Promotion


def promote(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Ids, unique parts of them, or paths.")
    ] = None,
    demote: Annotated[bool, typer.Option("--demote", help="Take the lines of these entries off the page.")] = False,
    auto: Annotated[bool, typer.Option("--auto", help="Show what the rule would promote and drop.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="With --auto: do it.")] = False,
    source: Source = "",
    common: Common = COMMON,
) -> None:
    """Add confirmed memories to MEMORY.md as lines, or remove them.

    Entries named are promoted at once, and with --demote taken off at once. --auto shows as a diff what the rule
    proposes (confirmed three times, or trusted and sure: settings promote.*), and does it with --apply. Lines of
    entries that are superseded, archived or gone leave; over promote.budget bytes the least valuable ones do. Only
    lines between the marks `<!-- mem:promoted -->` are mem's, and one that you change there is yours.

    What no person said goes there on the user's word alone: typed at a terminal, or with --source user.
    """
    require_source(source)
    if auto and demote:
        raise UsageError("--auto with ids" if names else "nothing to promote", "name entries, or give --auto alone")
    where = workspaces.writing(common)
    if demote:
        report = maintain.demote(where, names or ())
    else:
        by = workspaces.speaker()
        found_in = workspaces.reading(common) if names else [where]
        report = maintain.promote(found_in, names or (), auto=auto, apply=apply, source=source, by=by)
    if common.as_json:
        output.say_json(report.as_dict())
    else:
        _show_promotion(report)


def _show_promotion(report: "Promotion") -> None:
    if report.applied:
        rows = [("promoted", *line) for line in report.promoted] + [("changed", *line) for line in report.changed]
        for identifier, why in report.dropped:
            rows.append(("demoted", identifier, "") if why == "demoted" else ("dropped", identifier, why))
        for row in rows:
            output.say_row(row)
    else:
        output.say(report.diff, end="")
        if output.is_heard():
            output.note("`mem promote --auto --apply` does this" if report.plan else "nothing to promote or drop")
    by_reason: dict[str, list[str]] = {}
    for identifier, why in report.passed:
        by_reason.setdefault(why, []).append(identifier)
    for why, ids in by_reason.items():
        output.note(f"{ids[0]}{f' and {len(ids) - 1:,} more stay' if len(ids) > 1 else ' stays'} out: {why}")
