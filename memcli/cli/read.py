"""`mem read`."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from itertools import islice
from typing import Annotated, Any

import typer

from ..errors import UsageError
from ..formats.entry import fields_from_others, listed, stated_id
from ..formats.frontmatter import document as frontmatter
from ..formats.jsonl import is_records, records_of
from ..formats.text_lines import BOM, FileProblem, Problem, conflict_marker, decoded
from ..formats.text_lines import lines as lines_of
from ..store import addresses, atomic_files, local_log
from ..store.workspace import Workspace
from . import context, output, value_completion
from .options import AsJson, InScope, InWorkspace


def read(
    name: Annotated[
        str,
        typer.Argument(
            autocompletion=value_completion.ids,
            metavar="[ID]",
            help="An id, a unique part of one, a path, or a hit's address such as MEMORY.md#people.",
            show_default=False,
        ),
    ] = "",
    key: Annotated[
        str,
        typer.Option(
            "--key",
            metavar="KEY",
            autocompletion=value_completion.keys,
            help="Show what fills this key, such as staging/port.",
            show_default=False,
        ),
    ] = "",
    project: Annotated[str, typer.Option(help="With --key: of this project.", show_default=False)] = "",
    as_of: Annotated[
        str, typer.Option("--as-of", metavar="DATE", help="Show what was believed then.", show_default=False)
    ] = "",
    offset: Annotated[int, typer.Option(help="Begin at this character.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Show at most this many characters.", show_default="all")] = None,
    lines: Annotated[
        str, typer.Option("--lines", metavar="A:B", help="Show these lines of the file.", show_default=False)
    ] = "",
    source: Annotated[bool, typer.Option("--source", help="Show what it was taken from: messages, commits.")] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Show what it replaced, what replaced it, and git's log of its file.")
    ] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Show the file as it is, frontmatter and control characters included.")
    ] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Show what an id, a path or a hit's address names.

    Prints the text of the memory; --json adds its fields. Where a page ends before the text does, stderr says how to
    read on.
    """
    if offset < 0 or (limit is not None and limit < 1):
        raise UsageError("a page begins at 0 or later and holds at least one character", "check --offset and --limit")
    if bool(name) == bool(key):
        raise UsageError("nothing to read" if not key else "two names", "name an id or a path, or give --key")
    if key and history:
        from .read_origin import show_values

        show_values(context.reading(workspace, scope), key, project, as_json=as_json)
        return
    where, place = _located(workspace, scope, name, key, project, as_of)
    name = name or str(place)
    kind = where.layout.kind_of(place.path) or "file"
    is_json = is_records(place.path, kind) and not (raw or lines)
    is_talk = kind == "session" and not (raw or lines or is_json)
    text, damage = decoded(b"" if is_talk else atomic_files.read(where.path(place.path)))
    text = records_of(place.path, text).text if is_json else text
    document = frontmatter.parse(text)
    if source:
        from .read_origin import show_origins

        show_origins(where, place.path, document, as_json=as_json)
        return
    if history:
        from .read_origin import show_chain

        show_chain(where, place.path, document, as_json=as_json)
        return
    if is_talk:
        from ..search.provenance import said_at

        content = said_at(where, place.path, place.anchor)
    elif lines:
        content = _lines(text, lines)
    elif place.anchor:
        start, stop = addresses.part(where, place, text)
        content = text[start:stop]
    elif raw or kind != "entry" or document.problem:
        content = text.removeprefix(BOM)
    else:
        content = re.sub(r"\A(?:[ \t]*\r?\n)+", "", document.body)
    page = content[offset:] if limit is None else content[offset : offset + limit]
    after = offset + len(page)
    rest = after if after < len(content) else None
    if kind == "entry" and offset == 0 and not where.layout.is_archived(place.path):
        local_log.note(where, [stated_id(document.fields) or place.path])
    wrong = (damage, document.problem, _conflict(text))
    problems = [FileProblem(place.path, one.line, one.reason, scope=where.scope, left_out=True) for one in wrong if one]
    context.tell_problems([where], problems)
    if as_json:
        is_entry = kind == "entry"
        identifier = stated_id(document.fields) or place.path
        waiting = local_log.confirmations(where).get(identifier) if is_entry else None
        output.say_json({
            "id": (is_entry and stated_id(document.fields)) or (name if is_talk else str(place)),
            "path": place.path,
            "kind": kind,
            "scope": where.scope,
            "content": page,
            "offset": offset,
            "limit": limit,
            "total": len(content),
            "next_offset": rest,
            "fields": _fields(where, local_log.renewed(document.fields, waiting)) if is_entry else {},
            "problems": [asdict(one) for one in problems],
        })  # fmt: skip
        return
    output.say(page, end="" if page.endswith("\n") or not page else "\n", raw=raw)
    if rest is not None:
        output.note(f"{len(page):,} of {len(content):,} characters: mem read {name} --offset {rest}")


def _fields(where: Workspace, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return listed(fields if where.is_trusted else fields_from_others(fields))


def _located(
    workspace: str, scope: str, name: str, key: str, project: str, as_of: str
) -> tuple[Workspace, addresses.Place]:
    """Find what a name or a key means now, or meant at a date."""
    if not (key or as_of):
        return context.locate(workspace, scope, name)
    from ..search.resolve import believed_at, values_of_key

    found_in = context.reading(workspace, scope)
    moment = found_in[0].moment("as-of", as_of, end=True)
    if key:
        where, values = values_of_key(found_in, key, project, moment)
        if len(values) > 1:
            others = ", ".join(one.id for one in values[1:])
            output.note(f"{values[0].id} and {others} both fill {key}: `mem supersede` the one that is over")
        return where, addresses.Place(values[0].path)
    where, place = context.locate(workspace, scope, name)
    if where.layout.kind_of(place.path) != "entry":
        raise UsageError(f"{place.path} is not an entry", "--as-of is for entries; `--history` shows a file's commits")
    from ..beliefs.supersession import chain
    from ..index.index import ask

    document = frontmatter.parse(decoded(atomic_files.read(where.path(place.path)))[0])
    identifier = stated_id(document.fields) or place.path
    links = ask(where, lambda index: chain(index, identifier)).links
    return where, believed_at(where, [one.id for one in links], moment, name)


def _conflict(text: str) -> Problem | None:
    line = conflict_marker(text)
    return None if line is None else Problem(line, "a git conflict marker: resolve the conflict")


def _lines(text: str, span: str) -> str:
    found = re.fullmatch(r"(\d*):(\d*)|(\d+)", span)
    if not found or span == ":":
        raise UsageError(f"--lines {span!r}", "write A:B, such as 10:20")
    first = int(found[3] or found[1] or 1)
    last = int(found[3] or found[2] or 10**9)
    if first < 1 or last < first:
        raise UsageError(f"--lines {span!r}", "lines are counted from 1, the first one first")
    return "".join(islice(lines_of(text), first - 1, last))
