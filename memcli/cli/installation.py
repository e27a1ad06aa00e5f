"""Make the changes of an installation and show them, and let cron or systemd tend a workspace."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..api.workspace import Workspace, surroundings
from . import context, output

if TYPE_CHECKING:
    from ..api.installation import FileChange


def make(plan: Sequence["FileChange"], *, dry_run: bool, as_json: bool, also: dict[str, Any] | None = None) -> None:
    """Make the changes unless --dry-run is given, and show them."""
    from ..integrations.install.skill import diff_of, make_changes

    if not dry_run:
        make_changes(plan)
    if as_json:
        rows = [{"action": one.action, "path": str(one.path)} for one in plan]
        output.say_json({"files": rows, "applied": not dry_run, "diff": diff_of(plan), **(also or {})})
    elif dry_run:
        output.say(diff_of(plan), end="")
    else:
        for one in plan:
            output.say_row((one.action, context.shown(one.path) if output.is_watched() else str(one.path)))
        if not plan and output.is_heard():
            output.note("nothing to change")


def schedule(target: str, where: Workspace, *, dry_run: bool, as_json: bool, is_removal: bool = False) -> None:
    """Let cron or systemd tend a workspace each night, or no more; `dry_run` shows what would be put there."""
    from ..integrations.install import nightly
    from ..integrations.install.targets import tending_line, tending_units

    if target == "cron":
        line = tending_line(surroundings(), where.root)
        if not dry_run:
            nightly.change_crontab(line, is_removal=is_removal)
        output.say_json({"line": line, "applied": not dry_run}) if as_json else output.say(line)
        return
    units = tending_units(surroundings(), where.root)
    commands = nightly.commands_of(units, is_removal=is_removal)
    plan = (nightly.no_units_plan if is_removal else nightly.units_plan)(units)
    told = {"commands": [" ".join(words) for words in commands]}
    if not is_removal:
        make(plan, dry_run=dry_run, as_json=as_json, also=told)
        reason = "" if dry_run else nightly.carry_out(commands)
    else:
        reason = "" if dry_run or not plan else nightly.carry_out(commands[:1])
        make(plan, dry_run=dry_run, as_json=as_json, also=told)
        if not dry_run and plan:
            nightly.unlink_started(units)
            reason = reason or nightly.carry_out(commands[1:])
    if reason:
        output.note(f"{reason}: run `{' && '.join(told['commands'])}` where you are logged in")
