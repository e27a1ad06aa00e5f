"""`mem session append` and `mem session import`: conversations come in."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import UsageError
from ..formats.session_event import moment, role_of
from . import context, output
from .admission import tell_redacted
from .options import AsJson, InScope, InWorkspace
from .session_many import Many, import_many, is_many
from .session_show import complain, counted

_Into = Annotated[str, typer.Option("--session", metavar="ID", help="Into this session.", show_default=False)]


def append(
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="JSON; - reads one event or many from standard input.")
    ] = "",
    into: _Into = "",
    role: Annotated[str, typer.Option(help="user, assistant, system or tool.")] = "user",
    text: Annotated[str | None, typer.Option(help="What was said, or what the tool was given or answered.")] = None,
    tool: Annotated[str, typer.Option(metavar="NAME", help="The tool called; with --role tool, that answers.")] = "",
    error: Annotated[bool, typer.Option("--error", help="The tool failed.")] = False,
    timestamp: Annotated[str, typer.Option(metavar="TIME", help="When it was.", show_default="now")] = "",
    channel: Annotated[str, typer.Option(metavar="TYPE:ID", help="Where a new session takes place.")] = "",
    user: Annotated[str, typer.Option(metavar="ID", help="With whom.")] = "",
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Add a message, a tool call or a tool's answer to a session.

    Without --session a new one is made. Secrets are blanked out and told; recalled memory and what harnesses put into
    prompts are left out. An event whose id stands there already is not added again.
    """
    from ..transcripts.live_events import add_events, objects

    if bool(event) == (text is not None):
        raise UsageError("an event is given as JSON or by --role and --text", 'such as --role user --text "…"')
    if text is None:
        given = objects(context.standard_input("the event") if event == "-" else event)
    else:
        given = [_told(role, text, tool, timestamp, error=error)]
    kind, _, identifier = channel.partition(":")
    told = {"channel_type": kind, "channel_id": identifier, "user_id": user}
    where = context.writing(workspace, scope)
    done = add_events(where, into, given, context.noise(f"{into}\n{event}{text}"), told)
    tell_redacted(done.redacted)
    complain(done.session)
    if as_json:
        output.say_json(
            {
                "session": done.session.id,
                "added": done.added,
                "known": done.known,
                "ids": list(done.ids),
                "messages": done.counts.messages,
                "tokens": done.counts.tokens,
                "waiting": done.counts.waiting,
                "skipped": dict(done.skipped),
                "redacted": [asdict(one) for one in done.redacted],
            }
        )
    elif output.is_watched():
        output.say(f"added {counted(done.added, 'event')} to {done.session.id}")
    else:
        output.say_row(("added", done.session.id, *done.ids))
    if not as_json:
        _tell_skipped(done.skipped, done.known)


def import_(
    file: Annotated[
        str, typer.Argument(metavar="[PATH]", help="A transcript, an export or a folder; - reads standard input.")
    ] = "",
    everything: Annotated[bool, typer.Option("--all", help="All that agents have left on this machine.")] = False,
    since: Annotated[
        str, typer.Option("--since", help="Only what was said from then on: 2026-11, 30d.", show_default=False)
    ] = "",
    project: Annotated[
        list[str] | None,
        typer.Option("--project", metavar="DIR", help="Only conversations that took place in this folder."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be brought in.")] = False,
    into: _Into = "",
    allow_secret: Annotated[
        bool, typer.Option("--allow-secret", help="Take files that a .secretsignore names; secrets are blanked out.")
    ] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Bring conversations in from other tools.

    Reads transcripts of Claude Code, Codex, OpenClaw, pi, Gemini CLI, opencode, Cursor, GitHub Copilot and golemcore,
    the data exports of ChatGPT and Claude.ai, JSON lines with role and content, and chats as text; the format is found
    by content. Imported again, only what is new is added. Exit code 3 when parts could not be read.

    --all looks where these tools keep their conversations. A conversation belongs into the workspace of the folder it
    took place in: in a project's workspace the others are left out, and `--scope user` takes those of no project.
    """
    from ..transcripts.session_import import STANDARD_INPUT, bring_in, own_id

    where = context.writing(workspace, scope)
    if everything == bool(file):
        raise UsageError("say what to import", "give a file or a folder, or --all")
    if everything or is_many(file):
        if into:
            raise UsageError("--session and many conversations", "each goes into a session of its own")
        run = Many(file, since, tuple(project or ()), dry_run, allow_secret)
        import_many(where, run, as_json=as_json)
        return
    if since or project or dry_run:
        raise UsageError("--since, --project and --dry-run are for many conversations", "give a folder, or --all")
    with context.opened(file, "the transcript", allow_secret=allow_secret) as stream:
        name = STANDARD_INPUT if file == "-" else Path(file).name
        done = bring_in(where, stream, name, into or ("" if file == "-" else own_id(Path(file))))
    tell_redacted(done.redacted)
    complain(done.session)
    if as_json:
        output.say_json(
            {
                "session": done.session.id,
                "path": done.session.path,
                "format": done.format,
                "added": done.added,
                "known": done.known,
                "messages": done.counts.messages,
                "tokens": done.counts.tokens,
                "waiting": done.counts.waiting,
                "skipped": dict(done.skipped),
                "unreadable": done.unreadable,
                "redacted": [asdict(one) for one in done.redacted],
            }
        )
    elif output.is_watched():
        output.say(f"imported {counted(done.added, 'event')} into {done.session.id} ({done.format})")
    else:
        output.say_row(("imported", done.session.id, done.added, done.format))
    if not as_json:
        _tell_skipped(done.skipped, done.known)
    if done.unreadable:
        raise typer.Exit(3)


def _told(role: str, text: str, tool: str, timestamp: str, *, error: bool) -> dict[str, Any]:
    if not role_of(role):
        raise UsageError(f"no role {role!r}", "use one of user, assistant, system, tool")
    if timestamp and not moment(timestamp):
        raise UsageError(f"--timestamp {timestamp!r} is no moment", "write 2026-11-21T20:15:03Z")
    answers = role in ("tool", "system") or error
    kind = "message" if not tool else "tool_result" if answers else "tool_call"
    data = {"type": kind, "role": role, "content": text, "timestamp": timestamp, "name": tool, "is_error": error}
    return {key: value for key, value in data.items() if value or key == "content"}


def _tell_skipped(skipped: Mapping[str, int], known: int) -> None:
    """Say on stderr what was left out, by reason."""
    if known:
        output.note(f"{counted(known, 'event')} known already")
    if skipped:
        reasons = sorted(skipped.items(), key=lambda one: (-one[1], one[0]))
        output.note("left out: " + ", ".join(f"{count:,} {reason}" for reason, count in reasons))
