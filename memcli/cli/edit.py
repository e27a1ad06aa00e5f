"""`mem edit`, `mem supersede`, `mem forget` and `mem restore`."""

import os
from shlex import quote
from typing import Annotated, Any

import typer

from ..api import edit as api
from ..errors import RefusedError, UsageError
from . import completion, output, workspaces
from .options import COMMON, AllowSecret, Common, DryRun, Redact, Source
from .output import relations, tell_redacted

_MOST_NAMED = 5

_Names = Annotated[
    list[str],
    typer.Argument(metavar="ID...", autocompletion=completion.ids, help="Ids, unique parts of them, or paths."),
]


def edit(
    name: Annotated[
        str,
        typer.Argument(metavar="ID", autocompletion=completion.ids, help="An id, a unique part of one, or a path."),
    ],
    replace: Annotated[
        tuple[str, str] | None,
        typer.Option("--replace", metavar="OLD NEW", help="Replace words that stand there exactly once."),
    ] = None,
    patch: Annotated[
        str,
        typer.Option(
            "--patch", metavar="FILE", help="Apply a unified diff; - reads standard input.", show_default=False
        ),
    ] = "",
    source: Source = "",
    redact: Redact = False,
    allow_secret: AllowSecret = False,
    common: Common = COMMON,
) -> None:
    """Change the text of an entry or of another file, in place or in your editor.

    Without --replace or --patch it opens $VISUAL or $EDITOR. What would break the file's frontmatter is refused.
    MEMORY.md, history and notes are changed by their path; mem write --id MEMORY.md puts another text in its place.

    Where an agent, a script or a pipe changes an entry's words without --source user, they are no longer the user's:
    the entry becomes `observed`, and the old text stays in the archive with its own source.
    """
    if replace and patch:
        raise UsageError("two changes at once", "give --replace or --patch, not both")
    opened = workspaces.reading(common)
    how: dict[str, Any] = {"source": source, "redact": redact, "allow_secret": allow_secret, "by": workspaces.speaker()}
    if replace:
        done = api.replace_words(opened, name, *replace, **how)
    elif patch:
        diff = workspaces.text_of(patch, "the diff", allow_secret=allow_secret)
        done = api.apply_patch(opened, name, diff, **how)
    else:
        copy = api.begin_edit(opened, name, **how)
        _open_editor(copy)
        done = api.end_edit(copy)
    tell_redacted(done.redacted)
    output.notes(done.notices)
    path = workspaces.here(done.workspace, done.path)
    if common.as_json:
        output.say_json(done.as_dict())
        return
    remark = relations(done.supersedes, done.superseded_by)
    if output.is_watched():
        output.say_wrapped(f"{done.action} {done.id} ({path})" + (f": {remark}" if remark else ""))
    else:
        output.say_row((done.action, done.id, path, *([remark] if remark else ())))


def _open_editor(copy: api.EditCopy) -> None:
    """Let a person edit a copy; where that fails the copy goes, and the error says that nothing was changed."""
    import shlex
    import subprocess

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    if not editor and not workspaces.at_terminal():
        copy.discard()
        raise UsageError("no change given", "use --replace OLD NEW or --patch FILE, or set $EDITOR")
    try:
        code = subprocess.run([*shlex.split(editor or "vi"), str(copy.file)], check=False).returncode
    except (OSError, ValueError) as error:
        copy.discard()
        raise UsageError(f"cannot run the editor {editor!r} ({error})", "set $EDITOR") from None
    if code:
        copy.discard()
        raise RefusedError(f"the editor ended with {code}", "nothing was changed")


def supersede(
    old: Annotated[str, typer.Argument(metavar="OLD", autocompletion=completion.ids, help="The entry that is over.")],
    new: Annotated[str, typer.Argument(metavar="NEW", autocompletion=completion.ids, help="The entry that holds now.")],
    source: Source = "",
    dry_run: DryRun = False,
    common: Common = COMMON,
) -> None:
    """Let one entry take the place of another.

    The old one stays where it is, out of search, and says what replaced it; `mem read --history` shows the chain and
    `mem restore` brings it back into use. What is trusted more, such as the user's word, gives way to the user alone,
    at a terminal or with --source user: otherwise both are flagged, and `mem review` settles it.
    """
    opened = workspaces.reading(common)
    done = api.supersede(opened, old, new, source=source, by=workspaces.speaker(), dry_run=dry_run)
    output.notes(done.notices)
    if common.as_json:
        output.say_json(done.as_dict())
    elif done.diff is not None:
        output.say(done.diff, end="")
    elif output.is_watched() and not done.is_flagged:
        output.say_wrapped(f"{done.id} is {'' if done.action == 'unchanged' else 'now '}superseded by {done.by}")
    else:
        output.say_row((done.action, done.id, done.by))


def move(
    name: Annotated[
        str,
        typer.Argument(metavar="ID", autocompletion=completion.ids, help="An id, a unique part of one, or a path."),
    ],
    to: Annotated[
        str,
        typer.Option("--to", metavar="SCOPE", help="project, user, or a name from the setting workspaces."),
    ],
    allow_secret: AllowSecret = False,
    common: Common = COMMON,
) -> None:
    """Move an entry into another workspace, such as one you share.

    The file goes as it is, with its id. What looks like a secret or personal data is refused. Its earlier texts stay
    behind, and so does what git has committed there. To take it back, move it back.
    """
    done = api.move(workspaces.reading(common), name, to, allow_secret=allow_secret)
    output.notes(done.notices)
    path = workspaces.here(done.workspace, done.path)
    if common.as_json:
        output.say_json(done.as_dict())
    elif output.is_watched():
        output.say(f"moved {done.id} ({path}), {done.audience}")
    else:
        output.say_row(("moved", done.id, path))


def forget(
    names: _Names,
    purge: Annotated[bool, typer.Option("--purge", help="Delete for good instead.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="Why, to be read in the archived file.")] = "",
    source: Source = "",
    common: Common = COMMON,
) -> None:
    """Move entries to the archive.

    An archived memory is out of search but for --archived, and `mem restore` brings it back byte for byte. What says
    the same, but for letter case, white space and closing full stops, is kept no more, wherever it comes from: an older
    conversation, an import, an agent. The user's own word, said later, lifts that. `mem ls --forgotten` lists them.
    Its line of MEMORY.md goes with it, and what else says the same is named.

    With --purge go an entry's earlier texts too, duplicates that were folded into it, its line of MEMORY.md, and what
    `.mem/` keeps of it. Other files that say the same, such as notes and conversations, are named and stay; so is what
    git has committed.
    """
    if purge and reason:
        raise UsageError("what is purged has no file for a reason", "leave out --reason")
    by = source or workspaces.speaker()
    done = api.forget(workspaces.reading(common), names, purge=purge, by=by, reason=reason)
    _tell_each(done, as_json=common.as_json)


def restore(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID...", autocompletion=completion.ids, help="Ids, unique parts of them, or paths."),
    ] = None,
    common: Common = COMMON,
) -> None:
    """Bring entries back from the archive, superseded ones back into use, and the text of before an edit.

    An entry comes back byte for byte; of a superseded one the marks go, and it is flagged together with what took its
    place. An earlier text, which `mem read --history` lists, takes its entry's place again; MEMORY.md and the notes of
    a day, named by their path, say again what they said before the last change. For `mem decay` the age of what is
    restored counts from today, so that it does not go again at once.
    """
    if not names:
        raise UsageError("nothing is named", "`mem ls --status archived` lists what was forgotten")
    _tell_each(api.restore(workspaces.reading(common), names), as_json=common.as_json)


def _tell_each(done: "api.RestoreReport", *, as_json: bool) -> None:
    output.notes(notice for entry in done.entries for notice in entry.notices)
    if isinstance(done, api.ForgetReport) and done.remnants:
        named = [workspaces.here(*path) for path in done.remnants[:_MOST_NAMED]]
        named += [f"{len(done.remnants) - _MOST_NAMED:,} more"] * (len(done.remnants) > _MOST_NAMED)
        output.note(f"what was deleted is still said in {', '.join(named)}: edit or delete these")
    if isinstance(done, api.ForgetReport) and done.committed:
        paths = " ".join(f"--path {quote(path)}" for path in done.committed)
        output.note(
            f"git keeps what was committed: `git filter-repo --invert-paths {paths}` takes it out of its history"
        )
    if isinstance(done, api.ForgetReport) and done.unreached:
        output.note(f"the server has it until the next `mem index`: {done.unreached}")
    for wrong in done.failed:
        output.failure(wrong.error, [wrong.given], as_json=as_json)
    if as_json:
        output.say_json(done.as_dict())
    else:
        for entry in done.entries:
            path = workspaces.here(entry.workspace, entry.path)
            if output.is_watched():
                output.say_wrapped(f"{entry.action} {entry.name} ({path})")
            else:
                output.say_row((entry.action, entry.name, path))
            for removed_path in entry.removed:
                output.say_row((entry.action, entry.name, workspaces.here(entry.workspace, removed_path)))
    if done.failed:
        raise typer.Exit(3 if done.entries else done.failed[-1].error.exit_code)
