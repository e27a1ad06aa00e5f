"""`mem export` and `mem import`."""

from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Annotated

import typer

from ..api import transfer as api
from ..api.choice import Choice
from ..api.workspace import Workspace
from ..errors import UsageError
from ..results import number_of
from . import output, workspaces
from .app import STYLE
from .options import COMMON, AllowSecret, Commands, Common, Judge, choosing, in_format
from .output import judge_progress, relations, tell_redacted, tell_unheard

TOLD = 10
"""Lines on stderr about what was not taken in; the rest is counted."""


@choosing
def export(
    form: Annotated[str, in_format(api.FORMATS, f"{' or '.join(api.FORMATS)}; only jsonl can be imported.")] = "jsonl",
    file: Annotated[
        str,
        typer.Option("-o", "--output", metavar="FILE", help="Write to a file, whole or not at all.", show_default="-"),
    ] = "-",
    own_notes: Annotated[bool, typer.Option("--own-notes", help="Of a vault your own notes too.")] = False,
    choice: Choice = Choice(),
    common: Common = COMMON,
) -> None:
    """Write memories as lines of JSON, a file a line, or as one markdown document.

    The lines hold every byte of memories of any status, so that `mem import` in an empty workspace makes the same files
    of them: entries, the archive with what was forgotten and earlier texts, MEMORY.md, notes and history. --kind all
    takes conversations in too, --status active leaves out what is not in use, to hand it on. Settings in mem.yaml and
    what waits in the inbox come along where nothing was filtered out. The index, undo and counts of reads stay. Exit
    code 3 where a file could not be read.
    """
    if common.as_json and file == "-":
        raise UsageError("standard output is the export itself", "name a file with -o, or leave out --json")
    where = workspaces.writing(common, "exported from", even_off=True)
    target = file if file != "-" else lambda piece: output.say(piece, end="", raw=form == "jsonl")
    done = api.export(where, target, format=form, choice=choice, own_notes=own_notes)
    output.notes(done.notices)
    for problem in done.problems:
        output.note(str(replace(problem, path=workspaces.here(where, problem.path))))
    if common.as_json:
        output.say_json(done.as_dict())
    elif done.file:
        output.note(f"{number_of(done.files, 'file')} in {file}")
    if done.problems:
        raise typer.Exit(3)


import_app = Commands(**STYLE)


@import_app.command("import")
@choosing
def import_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="An export, an archive, a table or a folder; - reads standard input.")
    ],
    columns: Annotated[
        str,
        typer.Option("--map", metavar="FIELD=COLUMN,…", help="Columns of a table: text=content,tags=labels."),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done and do nothing.")] = False,
    no_dedup: Annotated[
        bool, typer.Option("--no-dedup", help="Keep memories as they are, whatever is known already; loads no model.")
    ] = False,
    judge: Judge = False,
    allow_secret: AllowSecret = False,
    choice: Choice = Choice(),
    common: Common = COMMON,
) -> None:
    """Bring memories in from an export of mem, or from what another tool has.

    Prints what is created. A file that is there already is passed over; one that is there and says something else is a
    conflict: it is named, and nothing is overwritten. A memory that says what another one here says is merged into it,
    and what contradicts is settled or marked, as `mem write` does; an export comes into an empty workspace byte for
    byte. Secrets are blanked out and named. Importing again, also after an interruption, goes on where it stopped.
    Besides mem's own lines it reads mem0's pages and backups, the graph of the MCP memory server, notes of basic-memory
    and agent-memory-git (a file or a folder), what Claude and ChatGPT export (also as .zip), jcode's global.json,
    tables (CSV, TSV) and records with a content, one a line or as one document. What they say is retired stays so;
    vectors are left out. Imported again they follow the other tool: a later change and a retraction come in, unless it
    was changed later, restored or forgotten here. A memory counts for no more trust than its source has: user 1.0,
    observed 0.7 (also where nothing is said), inferred 0.5. Exit code 3 where something was not taken in.

    The text of a record stands under content, memory, text or body. Its other keys may be those of an entry's
    frontmatter, such as id, type, title, tags, key, project, created_at, updated_at, source, trust and expires_at, or
    what other tools call them, such as createdAt or labels. What has another key becomes metadata.
    """
    where = workspaces.writing(common, "imported into", make=True)
    name = "standard input" if file == "-" else file
    with workspaces.opened(file, "lines") if file == "-" else nullcontext(file) as source:
        done = api.import_memories(
            where,
            source,
            choice=choice,
            dedup=not no_dedup,
            judge=judge,
            dry_run=dry_run,
            allow_secret=allow_secret,
            columns=columns,
            progress=judge_progress(),
            on_line=_teller(where, name, dry_run=dry_run, as_json=common.as_json),
        )
    output.notes(done.notices)
    tell_unheard(done.unheard)
    tell_redacted(done.redacted)
    if common.as_json:
        output.say_json(done.as_dict())
    elif done.counts:
        output.note(", ".join(f"{number:,} {action}" for action, number in sorted(done.counts.items())))
    else:
        output.note(f"{name} holds no memories")
    if done.counts.get("conflict") or done.counts.get("refused"):
        raise typer.Exit(3)
    if done.unheard:
        raise typer.Exit(7)


def _teller(where: Workspace, name: str, *, dry_run: bool, as_json: bool) -> Callable[[api.ImportedLine], None]:
    """Return what says of each line what became of it; of many that were not taken in only the first are told."""
    counts: Counter[str] = Counter()

    def tell(line: api.ImportedLine) -> None:
        counts[line.action] += 1
        if line.action in ("conflict", "refused", "forgotten", "held", "waits"):
            if counts[line.action] <= TOLD:
                output.note(f"{name}:{line.line}: {f'{line.path}: ' if line.path else ''}{line.reason}")
            elif counts[line.action] == TOLD + 1:
                output.note("more of the same follows")
        elif line.action in ("merged", "updated") and not as_json:
            action = f"would {line.action.removesuffix('d')}" if dry_run else line.action
            output.say_row((action, workspaces.here(where, line.path), line.id))
        elif line.action == "created" and not as_json:
            remark = relations(line.supersedes, line.superseded_by, line.conflicts_with)
            row = ("would create" if dry_run else "created", workspaces.here(where, line.path))
            output.say_row((*row, remark) if remark else row)

    return tell
