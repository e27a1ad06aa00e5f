"""Make the changes of an installation and show them; print what lets cron or systemd tend a workspace."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..api.workspace import Workspace, surroundings
from . import context, output

if TYPE_CHECKING:
    from ..api.installation import FileChange


def make(plan: Sequence["FileChange"], *, dry_run: bool, as_json: bool, also: dict[str, Any] | None = None) -> None:
    """Make the changes unless --dry-run is given, and show them."""
    from ..integrations.install.skill import HookInstallReport, make_changes

    if not dry_run:
        make_changes(plan)
    report = HookInstallReport(plan, not dry_run, **(also or {}))
    if as_json:
        output.say_json(report.as_dict())
    elif dry_run:
        output.say(report.diff, end="")
    else:
        for change in plan:
            output.say_row((change.action, context.shown(change.path) if output.is_watched() else change.path_))
        if not plan and output.is_heard():
            output.note("nothing to change")


def print_schedule(target: str, where: Workspace, *, as_json: bool, is_removal: bool = False) -> None:
    """Print what lets cron or systemd tend a workspace each night, or what of it is to be taken out again."""
    from ..api.installation import propose
    from ..integrations.install import nightly
    from ..integrations.install.targets import tending_line, tending_units

    if target == "cron":
        line = tending_line(surroundings(), where.root)
        output.say_json({"line": line, "applied": False}) if as_json else output.say(line)
        output.note(f"printed, not done: `crontab -e` {'takes the line out' if is_removal else 'puts the line in'}")
        return
    units = tending_units(surroundings(), where.root)
    if as_json:
        plan = [propose(path, None if is_removal else text.encode()) for path, text in units.items()]
        commands = nightly.commands_of(units, is_removal=is_removal)
        make([one for one in plan if one.before != one.after], dry_run=True, as_json=True, also={"commands": commands})
        return
    output.say(nightly.script(units, is_removal=is_removal), raw=True)
    output.note("printed, not run: pipe it into `sh`")
