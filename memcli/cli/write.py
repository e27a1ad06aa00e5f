"""`mem write`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..api.choice import require_types
from ..errors import UsageError
from ..formats.entry import SOURCES, TYPES
from ..store import entries
from ..store.privacy import require_open
from ..store.workspace import Workspace
from . import context, output, value_completion
from .admission import (
    AllowSecret,
    Judge,
    Redact,
    document,
    judge_of,
    kept_by_trust,
    looked_through,
    relations,
    tell_unheard,
)
from .options import AsJson, InScope, InWorkspace


def write(
    text: Annotated[
        str, typer.Argument(metavar="[TEXT]", help="What to remember; - reads standard input.", show_default=False)
    ] = "",
    file: Annotated[
        str, typer.Option("--file", metavar="FILE", help="Read the text from a file.", show_default=False)
    ] = "",
    identifier: Annotated[
        str,
        typer.Option(
            "--id",
            metavar="ID",
            autocompletion=value_completion.ids,
            help="Change this entry instead of making one.",
            show_default=False,
        ),
    ] = "",
    path: Annotated[
        str,
        typer.Option(
            "--path",
            metavar="PATH",
            help="Keep it at this place below the entries, such as projects/hdrpop/status.md.",
            show_default=False,
        ),
    ] = "",
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="KEY",
            autocompletion=value_completion.keys,
            help="The slot it fills, such as staging/port: what filled it before is superseded.",
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--type",
            "-t",
            autocompletion=value_completion.types,
            help=f"What it claims: {', '.join(TYPES)}.",
            show_default="fact",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="A short name.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "--tags", help="A tag; repeat it or separate tags with commas.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="The project it belongs to.")] = None,
    source: Annotated[
        str | None,
        typer.Option(help=f"Who said it: {', '.join(SOURCES)}.", show_default="user at a terminal, else observed"),
    ] = None,
    trust: Annotated[
        str | None, typer.Option(metavar="0..1", help="How far to trust it; follows from the source.")
    ] = None,
    confidence: Annotated[str | None, typer.Option(metavar="0..1", help="How sure whoever wrote it was.")] = None,
    salience: Annotated[str | None, typer.Option(metavar="0..1", help="How much it matters.")] = None,
    strength: Annotated[int | None, typer.Option(help="How often it was confirmed.")] = None,
    sources: Annotated[
        list[str] | None, typer.Option("--sources", help="A session, message range or commit it came from.")
    ] = None,
    references: Annotated[list[str] | None, typer.Option("--references", help="An id or a link it refers to.")] = None,
    about: Annotated[
        list[str] | None, typer.Option("--files", help="A file it is about; path:12-20 keeps watch over these lines.")
    ] = None,
    status: Annotated[str | None, typer.Option(help="active, superseded or archived.")] = None,
    superseded_by: Annotated[str | None, typer.Option(metavar="ID", help="The entry that took its place.")] = None,
    conflicts_with: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="An entry that says otherwise.")
    ] = None,
    pinned: Annotated[bool | None, typer.Option("--pinned/--no-pinned", help="Never let it decay.")] = None,
    expires_at: Annotated[str | None, typer.Option(metavar="DATE", help="When it stops being true.")] = None,
    created_at: Annotated[
        str | None, typer.Option(metavar="DATE", help="When it was first known.", show_default="now")
    ] = None,
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Anything else worth keeping.")
    ] = None,
    supersedes: Annotated[
        str,
        typer.Option(
            metavar="ID",
            autocompletion=value_completion.ids,
            help="The entry it takes the place of.",
            show_default=False,
        ),
    ] = "",
    no_dedup: Annotated[
        bool, typer.Option("--no-dedup", help="Keep it as it is, whatever is known already; loads no model.")
    ] = False,
    judge: Judge = False,
    redact: Redact = False,
    allow_secret: AllowSecret = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Remember something, or change an entry with --id.

    What is known in the same words, but for letter case, white space and closing full stops, is confirmed and not kept
    twice; of another wording of the same both stay. It takes the place of what --supersedes names, of what fills the
    same --key, and of what it repeats to say that it is over ("no longer", "moved from … to", "instead of",
    "Correction:"); what is trusted more, such as the user's word, is flagged with it instead. What else may contradict
    it, as a change told in other words does, is flagged on both. At a --path of your own it is kept as it is; written
    there again, it changes the entry.

    What is typed at a terminal is the user's word. An agent, a script or a pipe says --source user for what the user
    said; without it the entry is `observed`, which counts for less.

    Of lines named by --files a hash is kept in `cited`: search and recall say when they changed, and so does
    `mem check --cited`.

    With --id only the fields given and, where there is one, the text change; an empty value takes a field away. The old
    text stays in the archive with its own source: `mem read ID --history` lists it. Other words that no user is known
    to have said make the entry `observed`.
    """
    told: dict[str, Any] = {
        "type": kind, "key": key, "title": title, "tags": _split(tag), "project": project, "source": source,
        "trust": trust, "confidence": confidence, "salience": salience, "strength": strength, "sources": sources,
        "references": references, "files": about, "status": status, "superseded_by": superseded_by,
        "conflicts_with": conflicts_with, "pinned": pinned, "expires_at": expires_at, "created_at": created_at,
        "metadata": _pairs(metadata),
    }  # fmt: skip
    told = {key: value for key, value in told.items() if value is not None}
    if kind and kind not in TYPES:
        require_types([kind], [context.writing(workspace, scope)])
    body = _body(text, file, allow_secret=allow_secret)
    if identifier and path:
        raise UsageError("--id changes an entry where it is", "leave out --path")
    if supersedes and (identifier or path):
        raise UsageError("--supersedes makes a new entry in a place of its own", "leave out --id and --path")
    if judge and (identifier or path or supersedes):
        raise UsageError("--judge compares a new memory with what is known", "leave out --id, --path and --supersedes")
    if identifier:
        where, place = context.locate(workspace, scope, identifier, strict=True)
        if body is None and not told:
            raise UsageError("nothing to change", "give a text or a field")
        kept, told = looked_through(where, body or "", told, redact=redact, allow=allow_secret)
        told |= _cited(where, told, allow_secret=allow_secret)
        by = context.author(where, source or "")
        changed = entries.update(where, place.path, told, None if body is None else kept, by=by)
        done = _as_it_is(where, changed, told)
    else:
        if body is None:
            raise UsageError("nothing to remember", 'give the text: mem write "…", or - to read standard input')
        where = context.writing(workspace, scope)
        by = context.author(where, source or "")
        body, told = looked_through(where, body, told, redact=redact, allow=allow_secret)
        told |= _cited(where, told, allow_secret=allow_secret)
        if path and not allow_secret:
            for target in (path, f"{where.layout.entries}/{path}"):
                require_open(where.root / target)
        by_hand = any(told.get(key) for key in ("status", "superseded_by", "conflicts_with"))
        if supersedes:
            done = _in_place_of(where, workspace, scope, supersedes, {"source": by, **told}, body)
        elif path or by_hand or (no_dedup and not key and not judge):
            written = entries.write(where, told, body, context.noise(body), context.within(where, path), by=by)
            done = _as_it_is(where, written, told)
        else:
            done = _admitted(where, {"source": by, **told}, body, judge=judge, by_key_alone=no_dedup)
    _tell(where, done, as_json=as_json)
    if done.pop("error", ""):
        raise typer.Exit(7)


def _cited(where: Workspace, told: dict[str, Any], *, allow_secret: bool) -> dict[str, Any]:
    """Cite the lines that --files names; what is cited goes with the files."""
    if "files" not in told or not any(":" in name for name in told["files"]):
        return {"cited": []} if "files" in told else {}
    from ..beliefs.citations import cite

    found, unwatched = cite(where, told["files"], Path.cwd(), allow_secret=allow_secret)
    for why in unwatched:
        output.note(f"{why}: its lines are not watched")
    return {"cited": found}


def _as_it_is(where: Workspace, written: entries.Written, told: dict[str, Any]) -> dict[str, Any]:
    """Tell what was done to a file, and what its key took the place of."""
    done: dict[str, Any] = {"action": written.action, "id": written.id, "path": written.path}
    if told.get("key"):
        from ..beliefs.slots import fill

        filled = fill(where, written.path, "mem write")
        named = (("supersedes", filled.supersedes), ("conflicts_with", filled.conflicts_with))
        done |= {name: list(ids) for name, ids in named if ids}
    return done


def _in_place_of(
    where: Workspace, workspace: str, scope: str, old: str, told: dict[str, Any], body: str
) -> dict[str, Any]:
    """Make a new entry and mark the one it takes the place of, as one change."""
    from ..beliefs.plan import applied, without_lines
    from ..beliefs.supersession import replacing_plan, standing

    there, place = context.locate(workspace, scope, old, strict=True)
    if there.root != where.root:
        raise UsageError(f"{old} is in another workspace", "name the workspace with --workspace or --scope")
    before = standing(where, place.path)
    by_user = told["source"] == "user" or context.is_typed()
    new = replacing_plan(where, before, told, body, context.noise(body), by_user=by_user)
    gone = [] if new.is_flagged else [before.entry.id]
    applied(where, new.plan + without_lines(where, gone), "mem write")
    flagged = [before.entry.id] if new.is_flagged else []
    if new.is_flagged:
        output.note(kept_by_trust(before.entry.id, new.id))
    if told.get("key") and told["key"] != before.entry.key:
        from ..beliefs.slots import fill

        filled = fill(where, new.path, "mem write")
        gone += filled.supersedes
        flagged += filled.conflicts_with
    done = {"action": "created", "id": new.id, "path": new.path}
    return done | ({"supersedes": gone} if gone else {}) | ({"conflicts_with": flagged} if flagged else {})


def _admitted(
    where: Workspace, told: dict[str, Any], body: str, *, judge: bool, by_key_alone: bool = False
) -> dict[str, Any]:
    from ..beliefs.admission import Draft
    from ..beliefs.admit import admit

    draft = Draft(told, body, context.noise(body))
    asked = judge_of(where, is_wanted=judge, no_dedup=by_key_alone)
    settled = admit(where, [draft], "mem write", asked, by_key_alone=by_key_alone)
    for notice in settled.notices:
        output.note(notice)
    tell_unheard(settled.error)
    return {**document(settled.admitted[0]), "error": settled.error}


def _tell(where: Workspace, done: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        fields = {key: value for key, value in done.items() if key != "error"}
        output.say_json({**fields, "workspace": str(where.root)})
        return
    path = context.here(where, done["path"])
    row = [done["action"], done["id"], path]
    names = ("supersedes", "superseded_by", "conflicts_with", "likely_same")
    remark = relations(**{name: done[name] for name in names if name in done})
    if output.is_watched():
        said = f"confirmed {done['strength']} times" if done["action"] == "merged" else remark
        action = "merged into" if done["action"] == "merged" else done["action"]
        output.say(f"{action} {done['id']} ({path})" + (f": {said}" if said else ""))
        if done.get("conflicts_with"):
            alike = len(done["conflicts_with"]) == len(done.get("likely_same", ()))
            output.note(f"`mem review` settles {'whether they are one' if alike else 'which of them holds'}")
    else:
        output.say_row([*row, remark] if remark else row)


def _body(text: str, file: str, *, allow_secret: bool) -> str | None:
    if text and file:
        raise UsageError("two texts", "give the text or --file, not both")
    if file or text == "-":
        return context.text_of(file or text, "the text", allow_secret=allow_secret)
    return text or None


def _split(values: list[str] | None) -> list[str] | None:
    if values is None:
        return None
    return [tag.strip() for value in values for tag in value.split(",") if tag.strip()]


def _pairs(values: list[str] | None) -> dict[str, str] | None:
    if values is None:
        return None
    pairs = {}
    for value in values:
        key, equals, rest = value.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--metadata {value!r}", "write KEY=VALUE")
        pairs[key.strip()] = rest.strip()
    return pairs
