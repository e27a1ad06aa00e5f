"""`mem hook`: what agents, git, cron and systemd run, and how it gets there."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..api.workspace import Workspace, surroundings
from ..errors import MemError, NotFoundError, UsageError
from ..integrations import AGENTS
from . import output, workspaces
from .app import STYLE
from .options import COMMON, AsJson, Commands, Common, DryRun, InScope, InWorkspace

if TYPE_CHECKING:
    from ..api.installation import FileChange
    from ..integrations.install.targets import Destination


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
            output.say_row((change.action, workspaces.shown(change.path) if output.is_watched() else change.path_))
        if not plan and output.is_heard():
            output.note("nothing to change")


def print_schedule(target: str, where: Workspace, *, as_json: bool, is_removal: bool = False) -> None:
    """Print what lets cron or systemd tend a workspace each night, or what of it is to be taken out again."""
    from ..api.installation import propose
    from ..integrations.install.targets import commands_of, script, tending_line, tending_units

    if target == "cron":
        line = tending_line(surroundings(), where.root)
        output.say_json({"line": line, "applied": False}) if as_json else output.say(line)
        output.note(f"printed, not done: `crontab -e` {'takes the line out' if is_removal else 'puts the line in'}")
        return
    units = tending_units(surroundings(), where.root)
    if as_json:
        plan = [propose(path, None if is_removal else text.encode()) for path, text in units.items()]
        commands = commands_of(units, is_removal=is_removal)
        make(
            [change for change in plan if change.before != change.after],
            dry_run=True,
            as_json=True,
            also={"commands": commands},
        )
        return
    output.say(script(units, is_removal=is_removal), raw=True)
    output.note("printed, not run: pipe it into `sh`")


hook_app = Commands(help="Install and run the hooks of agents, git, cron and systemd.", no_args_is_help=True, **STYLE)
_ON_PATH = "put mem into a folder of PATH"
_Target = Annotated[str, typer.Argument(metavar="TARGET", help=f"{', '.join(AGENTS)}, git, cron or systemd.")]
_Project = Annotated[bool, typer.Option("--project", help="In this project: the default.")]
_User = Annotated[bool, typer.Option("--user", help="For all your projects.")]


@hook_app.command("install")
def install(
    target: _Target,
    project: _Project = False,
    user: _User = False,
    tools: Annotated[
        bool, typer.Option("--tool-errors", help="Recall after a failed tool call too; runs after each of them.")
    ] = False,
    shared: Annotated[
        bool, typer.Option("--shared", help="In the settings that are committed: for all who work on the project.")
    ] = False,
    notes: Annotated[
        str,
        typer.Option(
            "--notes",
            metavar="WHOSE",
            help="Whose workspace keeps what is said: project or user.",
            show_default="user where the repository has a remote",
        ),
    ] = "",
    dry_run: DryRun = False,
    common: Common = COMMON,
) -> None:
    """Let an agent or git run mem; print what lets cron or systemd.

    The hooks of Claude Code go into .claude/settings.local.json, which is yours alone; --shared takes settings.json.
    Whose workspace keeps the conversations, their notes and history is settled here and recorded, so that no hook asks.
    The protocol (`mem help protocol`) goes between marks into the page an agent reads: CLAUDE.md, AGENTS.md, GEMINI.md.

    The hooks are this project's unless --user is given. Settings of agents keep what others put there, and a copy of
    the file as it was lies beside it. Lines in git's scripts stand between marks; git also learns to merge memories by
    their fields: see `mem help merge-driver`.
    Installing twice is installing once. For cron a line is printed, for systemd a script that puts a timer of yours
    there (`mem hook install systemd | sh`): both tend this workspace each night.
    """
    from ..integrations.install.targets import SCHEDULERS, destination_of, install_plan

    to = destination_of(target, surroundings(), project=project, user=user)
    if target in SCHEDULERS:
        print_schedule(target, workspaces.writing(common), as_json=common.as_json)
        return
    plan = install_plan(target, to, tools=tools, shared=shared)
    if target == "git":
        plan += _merging(to, common, dry_run=dry_run)
    keeper = {} if target == "git" else _keeper(common, notes, dry_run=dry_run)
    make(plan, dry_run=dry_run, as_json=common.as_json, also=keeper)
    if not common.as_json and not dry_run:
        _tell_keeper(keeper, [] if shared else [change.path for change in plan if change.after is not None])
    _tell_idle(target, to, common)
    if target in AGENTS and AGENTS[target].condition and not dry_run:
        output.note(AGENTS[target].condition)


@hook_app.command("uninstall")
def uninstall(
    target: _Target,
    project: _Project = False,
    user: _User = False,
    dry_run: DryRun = False,
    common: Common = COMMON,
) -> None:
    """Take the hooks out again.

    Files are then as they were before, byte for byte. A repository forgets the merge driver too; .gitattributes, which
    others share, stays. What to take out of the crontab is printed, and a script that takes the timer of systemd away.
    """
    from ..api.installation import uninstall_merge_driver
    from ..integrations.install.targets import SCHEDULERS, destination_of, uninstall_plan

    to = destination_of(target, surroundings(), project=project, user=user)
    if target in SCHEDULERS:
        print_schedule(target, workspaces.writing(common), as_json=common.as_json, is_removal=True)
    elif common.workspace or common.scope:
        raise UsageError(f"hooks of {target} are taken out for every workspace", "leave out --workspace and --scope")
    else:
        plan = uninstall_plan(target, to)
        if target == "git" and not dry_run:
            uninstall_merge_driver(to.project)
        make(plan, dry_run=dry_run, as_json=common.as_json)


@hook_app.command("status")
def status(
    target: Annotated[str, typer.Argument(metavar="[TARGET]", help="An agent or git; without: all of them.")] = "",
    project: _Project = False,
    user: _User = False,
    as_json: AsJson = False,
) -> None:
    """Show which hooks are installed where."""
    from ..integrations.install.targets import all_statuses

    report = all_statuses(target, surroundings(), project=project, user=user)
    for fault in report.faults:
        output.note(fault)
    if as_json:
        output.say_json(report.as_dict())
        return
    for row in report.hooks:
        output.say_row((row.target, row.scope, " ".join(row.events) or "not installed", row.path))
    for row in report.hooks:
        if row.missing:
            again = f"`mem hook install {row.target}{' --user' if row.scope == 'user' else ''}` again"
            output.note(f"{row.path}: {row.missing} is not found, so these hooks do nothing: {_ON_PATH} or {again}")


@hook_app.command("doctor")
def doctor(
    agent: Annotated[str, typer.Argument(metavar="[AGENT]", help=f"{', '.join(AGENTS)}; without: all.")] = "",
    as_json: AsJson = False,
) -> None:
    """Try the installed hooks of agents.

    Shows what came of each event, how long it took and how many tokens it costs. The hooks are run here as mem writes
    them, with sample events, and nothing is kept. An entry of a settings file that differs is shown and never run. The
    exit code is 0 when all is fine and 1 when something is wrong.
    """
    from ..integrations.install.doctor import diagnose

    diagnosis = diagnose(agent, surroundings())
    if as_json:
        output.say_json(diagnosis.as_dict())
    else:
        for tried in diagnosis.tried:
            values = (tried.agent, tried.event, tried.outcome, f"{tried.milliseconds} ms", f"{tried.tokens} tokens")
            output.say_row((*values, tried.error) if tried.error else values)
        for line in (*diagnosis.faults, *diagnosis.notes):
            output.note(line)
    if not diagnosis.is_fine:
        raise typer.Exit(1)


@hook_app.command("skill")
def skill(
    project: _Project = False,
    user: _User = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take it away again.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Write a SKILL.md, which tells agents when to use mem."""
    from ..integrations.install.skill import no_skill_plan, skill_plan
    from ..integrations.install.targets import destination_of

    paths = destination_of("skill", surroundings(), project=project, user=user).skills
    make((no_skill_plan if remove else skill_plan)(paths), dry_run=dry_run, as_json=as_json)


@hook_app.command("run")
def run(agent: str = typer.Argument(metavar="AGENT", help=f"{', '.join(AGENTS)}.")) -> None:
    """Answer an event of an agent, given as JSON on standard input.

    Whatever happens, the exit code is 0 and the agent goes on; .mem/log says what went wrong.
    """
    from .hook_run import run

    run([agent])


@hook_app.command("close", hidden=True)
def close(
    session: str = typer.Option("", "--session"),
    transcript: str = typer.Option("", "--transcript"),
    keep: int = typer.Option(0, "--keep"),
    workspace: InWorkspace = "",
    scope: InScope = "",
) -> None:
    """Bring in what hooks kept, and consolidate the session: what a hook leaves to a process of its own."""
    from ..api.agents import close_session, log

    where = workspaces.writing(Common(workspace, scope))
    try:
        close_session(where, session, keep=keep, transcript=transcript)
    except MemError as error:
        log(where, f"hook close {session}: {error}")
        raise


def _keeper(common: Common, notes: str, *, dry_run: bool) -> dict[str, Any]:
    """Settle whose workspace keeps what is said in this project; nothing if there is no workspace yet."""
    from ..integrations.install.targets import require_keeper, settle_keeper

    require_keeper(notes)
    try:
        where = workspaces.reading(common, make=not dry_run)[0]
    except NotFoundError:
        return {}
    return settle_keeper(surroundings(), where, notes, dry_run=dry_run)


def _tell_keeper(keeper: dict[str, Any], files: Sequence[Path]) -> None:
    """Say where conversations are kept, and in a line each what of them and of the hooks git would share."""
    from ..api.installation import is_shared

    if keeper:
        shared = ", which git would share: `--notes user` keeps them yours" if keeper.get("shared") else ""
        output.note(f"conversations are kept in {keeper['kept_in']}{shared}")
    names = [str(workspaces.shown(path)) for path in files if is_shared(path)]
    if names:
        output.note(f"git would share {' and '.join(names)}: .git/info/exclude keeps them yours")


def _tell_idle(target: str, to: "Destination", common: Common) -> None:
    """Say why hooks that were just installed would do nothing."""
    from ..integrations.install.targets import status

    missing = next((hook.missing for hook in status(target, to) if hook.missing), "")
    if missing:
        link = f": ln -s {quote(to.mem_path)} ~/.local/bin/mem" if to.mem_path else ""
        output.note(f"{missing} is not found by its name, so these hooks do nothing: {_ON_PATH}{link}")
    try:
        workspaces.reading(common)
    except NotFoundError:
        output.note("there is no workspace here yet, so these hooks do nothing: run `mem init`")


def _merging(to: "Destination", common: Common, *, dry_run: bool) -> "list[FileChange]":
    """Tell git how to merge memories; return what the attributes of the workspace lack for it."""
    from ..api.installation import attributes_plan, install_merge_driver

    if not dry_run:
        install_merge_driver(to.project)
    try:
        where = workspaces.reading(common)[0]
    except NotFoundError:
        return []
    return attributes_plan(where) if where.root.is_relative_to(to.project.resolve()) else []


def merge_driver(
    base: Annotated[str, typer.Argument(metavar="BASE", help="The file as it was before both: %O.")],
    ours: Annotated[str, typer.Argument(metavar="OURS", help="Our version, replaced by the merged one: %A.")],
    theirs: Annotated[str, typer.Argument(metavar="THEIRS", help="Their version: %B.")],
    size: Annotated[int, typer.Argument(metavar="SIZE", help="How long conflict markers are: %L.", min=1)],
    path: Annotated[str, typer.Argument(metavar="PATH", help="The path in the repository: %P.")],
) -> None:
    """Merge three versions of a memory for git, which runs this itself.

    Entries are merged by the fields of their frontmatter, history and notes by record, MEMORY.md by promoted line,
    mem.yaml by setting; texts by lines, with conflict markers only where both sides changed the same ones. It is
    installed by `mem init`, `mem trust` and `mem hook install git`; `mem check --fix` resolves afterwards what git
    merged without it. The exit code is 0 when all is merged, 3 when markers are left, and anything else makes git merge
    by lines.
    """
    from ..api.installation import run_merge_driver

    if code := run_merge_driver([base, ours, theirs, str(size), path]):
        raise typer.Exit(code)
