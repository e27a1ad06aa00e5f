"""`mem hook`: what agents, git and cron run, and how it gets there."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import MemError, NotFoundError, UsageError
from . import context, output
from .app import STYLE
from .options import AsJson, DryRun, InScope, InWorkspace

if TYPE_CHECKING:
    from ..integrations.install.skill import FileChange
    from ..integrations.install.targets import Ground

hook_app = typer.Typer(help="Let agents, git and cron run mem.", no_args_is_help=True, **STYLE)
_ON_PATH = "put mem into a folder of PATH"
_Target = Annotated[str, typer.Argument(metavar="TARGET", help="claude-code, codex, git or cron.")]
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
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Let an agent, git or cron run mem; in this project unless --user is given.

    The hooks of Claude Code go into .claude/settings.local.json, which is yours alone; --shared takes settings.json.
    Whose workspace keeps the conversations, their notes and history is settled here and recorded, so that no hook asks.

    Settings of agents keep what others put there, and a copy of the file as it was lies beside it. Lines in git's
    scripts stand between marks. Installing twice is installing once. Cron gets a line that tends this workspace.
    """
    ground = _ground(target, project=project, user=user)
    if target == "cron":
        _cron(workspace, scope, dry_run=dry_run, as_json=as_json, is_removal=False)
        return
    from ..integrations.install.targets import install_plan

    if shared and (user or target == "git"):
        raise UsageError("--shared is for the hooks of an agent in a project", "leave it out")
    plan = install_plan(target, ground, tools=tools, shared=shared)
    words = {} if target == "git" else _words(workspace, scope, notes, dry_run=dry_run)
    _make(plan, dry_run=dry_run, as_json=as_json, words=words)
    if not as_json and not dry_run:
        _tell_words(words, [] if shared else [str(one.path) for one in plan if one.after is not None])
    _tell_idle(target, ground, workspace, scope)
    if target == "codex" and not dry_run:
        output.note("Codex runs hooks once its config.toml has `hooks = true` under [features]")


@hook_app.command("uninstall")
def uninstall(
    target: _Target,
    project: _Project = False,
    user: _User = False,
    dry_run: DryRun = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Take the hooks out again; files are then as they were before, byte for byte."""
    ground = _ground(target, project=project, user=user)
    if target == "cron":
        _cron(workspace, scope, dry_run=dry_run, as_json=as_json, is_removal=True)
        return
    from ..integrations.install.targets import uninstall_plan

    _make(uninstall_plan(target, ground), dry_run=dry_run, as_json=as_json)


@hook_app.command("status")
def status(
    target: Annotated[str, typer.Argument(metavar="[TARGET]", help="claude-code, codex or git; without: all.")] = "",
    project: _Project = False,
    user: _User = False,
    as_json: AsJson = False,
) -> None:
    """Show which hooks are installed where."""
    from ..integrations.install.targets import TARGETS
    from ..integrations.install.targets import status as look

    rows: list[dict[str, Any]] = []
    for name in [target] if target else [one for one in TARGETS if one != "cron"]:
        for is_user in [False, True] if not (project or user) and name != "git" else [user]:
            ground = _ground(name, project=not is_user, user=is_user and name != "git")
            try:
                found = look(name, ground)
            except UsageError:  # no repository, hence no scripts of git
                if target:
                    raise
                continue
            except MemError as error:
                if target:
                    raise
                output.note(str(error))
                continue
            whose = "user" if is_user else "project"
            rows += [{"target": name, "scope": whose, **asdict(one)} for one in found]
    if as_json:
        output.say_json({"hooks": rows})
        return
    for row in rows:
        output.say_row((row["target"], row["scope"], " ".join(row["events"]) or "not installed", row["path"]))
    for row in rows:
        if row["missing"]:
            again = f"`mem hook install {row['target']}{' --user' if row['scope'] == 'user' else ''}` again"
            output.note(
                f"{row['path']}: {row['missing']} is not found, so these hooks do nothing: {_ON_PATH} or {again}"
            )


@hook_app.command("skill")
def skill(
    project: _Project = False,
    user: _User = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take both away again.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Teach agents to use mem: a SKILL.md, and a block in AGENTS.md."""
    from ..integrations.install.targets import skill_plan

    plan = skill_plan(_ground("skill", project=project, user=user), is_removal=remove)
    _make(plan, dry_run=dry_run, as_json=as_json)


@hook_app.command("run")
def run(agent: str = typer.Argument(metavar="AGENT", help="claude-code or codex.")) -> None:
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
    from ..integrations.hooks.background import log
    from ..integrations.hooks.turn_flush import close
    from ..llm.command import chosen_llm

    where = context.writing(workspace, scope)
    try:
        close(where, session, chosen_llm(where.settings), context.noise, keep=keep, transcript=transcript)
    except MemError as error:
        log(where, f"hook close {session}: {error}")
        raise


def _ground(target: str, *, project: bool, user: bool) -> "Ground":
    from ..integrations.install.targets import TARGETS, ground_of

    if target not in (*TARGETS, "skill"):
        raise UsageError(f"no target {target!r}", f"use one of {', '.join(TARGETS)}")
    if project and user:
        raise UsageError("--project and --user", "give one of them")
    if user and target in ("git", "cron"):
        raise UsageError(f"--user with {target}", f"{target} hooks belong to one repository or workspace")
    return ground_of(context.surroundings().folder, os.environ, is_user=user)


def _words(workspace: str, scope: str, notes: str, *, dry_run: bool) -> dict[str, Any]:
    """Settle whose workspace keeps what is said in this project; nothing where there is no workspace yet."""
    from ..integrations.install.targets import PLACES, default_place, record_place, shared_files

    if notes and notes not in PLACES:
        raise UsageError(f"no --notes {notes!r}", f"use one of {', '.join(PLACES)}")
    around = context.surroundings()
    try:
        where = context.reading(workspace, scope)[0]
    except NotFoundError:
        return {}
    place = notes or default_place(where)
    if not dry_run:
        record_place(around, where, place)
    kept_in = around.user_root if place == "user" else where.root
    return {"notes": place, "kept_in": str(kept_in), "shared": [] if place == "user" else shared_files(where)}


def _tell_words(words: dict[str, Any], files: Sequence[str]) -> None:
    """Say where what is said is kept, and what of it git would share."""
    from ..integrations.install.targets import is_shared

    if words:
        output.note(f"conversations, their notes and history are kept in {words['kept_in']}")
    if words.get("shared"):
        named = ", ".join(words["shared"])
        output.note(f"git does not ignore {named} there, which will hold people's words: see --notes user")
    for path in files:
        if is_shared(Path(path)):
            output.note(f"{path} is not ignored by git: put it into .git/info/exclude to keep it yours")


def _tell_idle(target: str, ground: "Ground", workspace: str, scope: str) -> None:
    """Say why hooks that were just installed would do nothing."""
    from ..integrations.install.targets import status

    missing = next((one.missing for one in status(target, ground) if one.missing), "")
    if missing:
        link = f": ln -s {ground.place} ~/.local/bin/mem" if ground.place else ""
        output.note(f"{missing} is not found by its name, so these hooks do nothing: {_ON_PATH}{link}")
    try:
        context.reading(workspace, scope)
    except NotFoundError:
        output.note("there is no workspace here yet, so these hooks do nothing: run `mem init`")


def _make(plan: Sequence["FileChange"], *, dry_run: bool, as_json: bool, words: dict[str, Any] | None = None) -> None:
    from ..integrations.install.skill import make, shown

    if not dry_run:
        make(plan)
    if as_json:
        rows = [{"action": one.action, "path": str(one.path)} for one in plan]
        output.say_json({"files": rows, "applied": not dry_run, "diff": shown(plan), **(words or {})})
    elif dry_run:
        output.say(shown(plan), end="")
    else:
        for one in plan:
            output.say_row((one.action, context.shown(one.path) if output.is_watched() else str(one.path)))
        if not plan and output.is_heard():
            output.note("nothing to change")


def _cron(workspace: str, scope: str, *, dry_run: bool, as_json: bool, is_removal: bool) -> None:
    """Put the line into the user's crontab or take it out; --dry-run prints it."""
    from ..integrations.install.git_hooks import line_of, save, table, with_line, without_line

    line = line_of(_program(), context.writing(workspace, scope).root)
    if not dry_run:
        before = table()
        after = without_line(before, line) if is_removal else with_line(before, line)
        if after != before:
            save(after)
    if as_json:
        output.say_json({"line": line, "applied": not dry_run})
    else:
        output.say(line)


def _program() -> str:
    """Name mem by its place, since cron's own path is short."""
    from ..integrations.install.targets import Ground

    return Ground(Path("/"), Path("/"), os.environ, is_user=True).program
