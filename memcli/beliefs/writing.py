"""Write one entry: as it is, admitted among the existing ones, in place of another one, or as a change of an entry.

Which of the four it is follows from the entry alone, and is decided here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Annotated, Any

from ..dataclass import dataclass, field
from ..errors import RefusedError, UsageError
from ..results import Result
from ..store import entries
from ..store.addresses import from_folder
from ..store.archive import may_have_forgotten
from ..store.entries import Admitted
from ..store.privacy import IGNORE, require_open
from ..store.redaction import Redacted, SecretGuard
from ..store.workspace import Workspace

if TYPE_CHECKING:
    from .llm_judge import LlmJudge

COMMAND = "mem write"


@dataclass(frozen=True)
class NewEntry:
    """What to remember; a field that is None is not given. With `id` it changes the entry that has it.

    The fields are those of an entry's frontmatter. An empty value takes a field of a changed entry away.
    """

    text: str | None = None
    type: str | None = None
    key: str | None = None
    """The slot it fills, such as `staging/port`: what filled it before is superseded."""
    title: str | None = None
    tags: Sequence[str] | None = None
    aliases: Sequence[str] | None = None
    """Other names of what the title names, or names of one thing."""
    project: str | None = None
    source: str | None = None
    """Who said it: `user`, `observed` or `inferred`."""
    trust: float | str | None = None
    """From 0 to 1, as confidence and salience."""
    confidence: float | str | None = None
    salience: float | str | None = None
    strength: int | None = None
    sources: Sequence[str] | None = None
    references: Sequence[str] | None = None
    files: Sequence[str] | None = None
    """Files it is about; of `path:12-20` the lines are watched."""
    status: str | None = None
    superseded_by: str | None = None
    conflicts_with: Sequence[str] | None = None
    pinned: bool | None = None
    expires_at: str | None = None
    created_at: str | None = None
    metadata: Mapping[str, str] | None = None
    id: str = ""
    """An id, a unique part of one, or a path."""
    path: str = ""
    """The place below the entries to keep it at, unless that is left to the layout."""
    supersedes: str = ""
    """The id of the entry it takes the place of."""

    def __post_init__(self) -> None:
        """Raise UsageError for fields that exclude each other, and if there is nothing to remember."""
        if self.id and self.path:
            raise UsageError("an entry that is changed stays where it is", "give an id or a path, not both")
        if self.supersedes and (self.id or self.path):
            raise UsageError("what supersedes an entry is a new one at a new place", "leave out --id and --path")
        if not self.id and self.text is None:
            raise UsageError(
                "nothing to remember", 'give the text: mem write "…", or `-` to read it from standard input'
            )

    @property
    def told(self) -> dict[str, Any]:
        """Return the fields of the frontmatter that are given."""
        names = [field.name for field in fields(self) if field.name not in ("text", "id", "path", "supersedes")]
        values = {name: getattr(self, name) for name in names}
        if self.conflicts_with is not None:  # whoever says so has decided it
            values["verdicts"] = self.conflicts_with
        return {name: _plain(value) for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class Written(Admitted, Result):
    """What became of an entry that was to be written."""

    workspace: Workspace = field(kw_only=True)
    notices: tuple[str, ...] = ()
    """Messages to the person."""
    redacted: tuple[Redacted, ...] = ()
    """Where secrets were blanked out."""
    error: str = ""
    """Why the judge asked for was not heard; the rules decided then."""

    @property
    def workspace_(self) -> Annotated[str, "the folder of the workspace"]:
        """Return the folder."""
        return str(self.workspace.root)


def change_entry(
    workspace: Workspace, path: str, new: NewEntry, guard: SecretGuard, *, by: str, expected: str | None = None
) -> Written:
    """Change the given fields and, where one is given, the text of the entry at a path, if that is as expected."""
    given = new.told
    if new.text is None and not given:
        raise UsageError("nothing to change", "give a text or a field")
    body, given, notices = _looked_through(workspace, new, guard)
    author = workspace.author(new.source or "", by)
    if new.text is not None:
        notices += _past_forgotten(workspace, {"source": author}, body, is_change=True)
    done = entries.update(workspace, path, given, None if new.text is None else body, expected, by=author)
    written = replace(_as_it_is(workspace, done, given), notices=notices, redacted=tuple(guard.redacted))
    if done.action != "updated":
        return written
    from .deduplication import fold_twins

    twins, successor = fold_twins(workspace, done.path, COMMAND)
    return replace(written, supersedes=(*written.supersedes, *twins), superseded_by=successor)


def write_entry(
    workspace: Workspace,
    new: NewEntry,
    guard: SecretGuard,
    *,
    by: str,
    old: str = "",
    dedup: bool,
    judge: "LlmJudge | None",
) -> Written:
    """Make an entry; `old` is the path of the one whose place it takes, `by` who gives the command.

    It is kept as it is at a path of its own, with a status or conflicts of its own, and without `dedup` unless a key or
    a judge asks what is known. Else it is let in among what is known.
    """
    body, given, notices = _looked_through(workspace, new, guard)
    author = workspace.author(new.source or "", by)
    if new.path and not guard.allow:
        for target in (new.path, f"{workspace.layout.entries}/{new.path}"):
            require_open(workspace.root / target, kinds=(IGNORE,))
    by_hand = any(given.get(key) for key in ("status", "superseded_by", "conflicts_with"))
    if old:
        from .replacing import replace_entry

        by_user = "user" in (author, by)
        notices += _past_forgotten(workspace, {"source": author, **given}, body)
        admitted, remarks = replace_entry(workspace, old, {"source": author, **given}, body, COMMAND, by_user=by_user)
        done = Written(**vars(admitted), workspace=workspace, notices=remarks)
    elif new.path or by_hand or not (dedup or new.key or judge):
        path = from_folder(workspace, new.path)
        notices += _past_forgotten(workspace, {"source": author, **given}, body)
        written = entries.write(workspace, given, body, workspace.noise(body), path, by=author)
        done = _as_it_is(workspace, written, given)
    elif judge and not dedup:
        raise UsageError(
            "a judge has nothing to compare with where nothing is compared", "leave out --judge or --no-dedup"
        )
    else:
        done = _admitted(workspace, {"source": author, **given}, body, judge, by_key_alone=not dedup)
    return replace(done, notices=(*notices, *done.notices), redacted=tuple(guard.redacted))


def _past_forgotten(
    workspace: Workspace, given: Mapping[str, Any], body: str, *, is_change: bool = False
) -> tuple[str, ...]:
    """Return what the user's word lifts of what was forgotten; raise RefusedError where it is not the user's."""
    if not may_have_forgotten(workspace, [body]):
        return ()
    from .forgotten import pass_by_the_forgotten  # late: where it was not forgotten no index is opened

    return pass_by_the_forgotten(workspace, given, body, COMMAND, is_change=is_change)


def _looked_through(
    workspace: Workspace, new: NewEntry, guard: SecretGuard
) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """Return text and fields as they may be kept, the lines of files cited, and what is not watched of them."""
    body, given = guard.entry(new.text or "", new.told)
    named = given.get("files", ())
    if not any(":" in name for name in named):
        return body, given | ({"cited": []} if "files" in given else {}), ()
    from .citations import cite

    citations, unwatched = cite(workspace, named, workspace.folder, allow_secret=guard.allow)
    return body, given | {"cited": citations}, tuple(f"{why}: its lines are not watched" for why in unwatched)


def _as_it_is(workspace: Workspace, done: entries.EntryChange, given: Mapping[str, Any]) -> Written:
    """Return what was done to a file, and what its key took the place of."""
    written = Written(done.action, done.id, done.path, workspace=workspace)
    if not given.get("key"):
        return written
    from .replacing import fill

    superseded, flagged = fill(workspace, done.path, COMMAND)
    return replace(written, supersedes=superseded, conflicts_with=flagged)


def _admitted(
    workspace: Workspace, given: dict[str, Any], body: str, judge: "LlmJudge | None", *, by_key_alone: bool
) -> Written:
    from .admission import admit
    from .plan import Draft

    draft = Draft(given, body, workspace.noise(body))
    plan = admit(workspace, [draft], COMMAND, judge, by_key_alone=by_key_alone)
    if plan.left_out:
        raise RefusedError(plan.left_out[0], "`--source user` where the user said so again")
    notices = plan.notices + plan.held_back
    return Written(**vars(plan.admitted[0]), workspace=workspace, notices=notices, error=plan.unheard)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, Sequence) else value
