"""Drafts of memories, what became of each, and plans: the changes a command means to make, shown as a diff."""

from collections.abc import Collection, Container, Mapping
from typing import TYPE_CHECKING, Any

from ..dataclass import dataclass
from ..errors import RefusedError
from ..formats.entry import Entry, read_entry
from ..formats.frontmatter.document import parse
from ..formats.ids import drawn
from ..formats.text_lines import require_no_conflict, shorten
from ..store import atomic_files
from ..store.entries import TRIES, Admitted, decoded, drafted, entry_text
from ..store.journal import Append, Applied, Change, Move, Step, apply, exclusive
from ..store.page_lines import with_page_lines
from ..store.workspace import Workspace

if TYPE_CHECKING:
    from ..store.access_log import Access


@dataclass(frozen=True)
class Plan:
    """Changes that belong together, with a line of explanation each, and what becomes of the drafts they keep."""

    steps: tuple[Step, ...] = ()
    reasons: tuple[str, ...] = ()
    admitted: tuple[Admitted, ...] = ()  # what becomes of each draft
    notices: tuple[str, ...] = ()
    unheard: str = ""  # why the judge was not heard; the rules decided then
    confirmed: "tuple[tuple[str, Access], ...]" = ()  # to be counted once the plan is applied
    said_again: tuple[str, ...] = ()  # texts that were deleted for good here, and that the user says again

    def __bool__(self) -> bool:
        """Return whether there is anything to do."""
        return bool(self.steps)

    def __add__(self, other: "Plan") -> "Plan":
        """Return this plan and then the other as one."""
        return Plan(
            self.steps + other.steps,
            self.reasons + other.reasons,
            self.admitted + other.admitted,
            self.notices + other.notices,
            self.unheard or other.unheard,
            self.confirmed + other.confirmed,
            self.said_again + other.said_again,
        )

    @property
    def superseded(self) -> frozenset[str]:
        """Return the ids of what stood before and is believed no more."""
        return frozenset(identifier for admitted in self.admitted for identifier in admitted.supersedes)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return a line about each draft that was left out because what it says was forgotten."""
        return tuple(dict.fromkeys(done.reason for done in self.admitted if done.action == "forgotten"))

    @property
    def held_back(self) -> tuple[str, ...]:
        """Return a line about each draft that waits in the inbox."""
        return tuple(dict.fromkeys(done.reason for done in self.admitted if done.action in ("held", "waits")))


def as_diff(plan: Plan, workspace: Workspace | None = None) -> str:
    """Return the plan as a unified diff; with a workspace also what becomes of its promoted lines."""
    if not plan:
        return ""
    from ..formats.unified_diff import unified  # late: what is applied unseen needs none

    pieces = []
    for step in with_page_lines(workspace, plan.steps, workspace.path) if workspace else plan.steps:
        if isinstance(step, Append):
            pieces.append(unified("", step.text, f"{step.path} (end)"))
        elif isinstance(step, Move):
            pieces.append(f"rename from {step.path}\nrename to {step.to}\n")
        else:
            pieces.append(unified(step.before or "", step.after or "", step.path))
    return "".join(pieces)


def applied(workspace: Workspace, plan: Plan, command: str) -> Applied:
    """Apply a plan under the workspace's lock; raise RefusedError when something it builds on has changed meanwhile."""
    if not plan:
        return Applied()
    with exclusive(workspace, command) as held:
        return apply(workspace, plan.steps, held)


def put_away(workspace: Workspace, path: str) -> Move:
    """Return the step that moves an entry to the archive; raise MemError if it cannot be read."""
    digest = atomic_files.digest(atomic_files.read(workspace.path(path)))
    return Move(path, workspace.free_name(workspace.layout.archive + path), digest)


NAMED = 20
"""Ids that a message or a history record lists at most."""


def listed(ids: Collection[str]) -> str:
    """Return ids one after the other, and how many more there are."""
    more = f" and {len(ids) - NAMED:,} more" if len(ids) > NAMED else ""
    return ", ".join(list(ids)[:NAMED]) + more


@dataclass(frozen=True)
class Draft:
    """A memory to be admitted: its given fields, its text, and the random part of its id."""

    told: Mapping[str, Any]
    body: str
    noise: bytes
    path: str = ""  # of a file that stands elsewhere already; empty: as the layout has it
    text: str = ""  # that file's text; it keeps its id and every byte but for the marks that it gets
    confirms: bool = True  # whether it counts that it was said again; text that was pasted once more confirms nothing
    waits: bool = False  # for a person's yes, in the inbox, where it is not known already

    @property
    def is_told_now(self) -> bool:
        """Return whether the draft has no date of its own."""
        return not self.text and not self.told.get("created_at")


def entry_of(workspace: Workspace, draft: Draft) -> Entry:
    """Return the entry that a draft would make."""
    if draft.text:
        return read_entry(parse(draft.text), draft.path, workspace.now)[0]
    return drafted(workspace, draft.told, draft.body)


def free_entry(
    workspace: Workspace,
    fields: Mapping[str, Any],
    body: str,
    noise: bytes,
    taken: Container[str] = (),
) -> tuple[str, str, str]:
    """Return id, path and text of a new entry that a plan is to make where no file stands, and at none of `taken`."""
    for attempt in range(TRIES):
        identifier, path, text = entry_text(workspace, fields, body, drawn(noise, attempt))
        if path not in taken and not workspace.path(path).exists():
            return identifier, path, text
    raise RefusedError(f"no free name for {shorten(body, 60)!r} after {TRIES} tries", "give one with --path")


@dataclass(frozen=True)
class Page:
    """The page; `text` is empty where there is none or it cannot be changed."""

    path: str
    before: str | None  # for a step: None where there is no file
    text: str
    problem: str = ""
    unreadable: RefusedError | None = None  # where not even its bytes could be had


def read_page(workspace: Workspace) -> Page:
    """Read the page; a page that is not UTF-8 or in conflict has a problem and no text."""
    path = workspace.layout.memory
    target = workspace.path(path)
    if not target.exists():
        return Page(path, None, "")
    try:
        data = atomic_files.read(target)
    except RefusedError as error:
        return Page(path, None, "", error.message, error)
    try:
        text = decoded(path, data)
        require_no_conflict(path, text)
    except RefusedError as error:
        return Page(path, None, "", error.message)
    return Page(path, text, text)


def ours_of(text: str, ids: Collection[str]) -> frozenset[str]:
    """Return the ids that have a promoted line on a page which no person has changed."""
    from ..formats.memory_page import read_promoted

    return frozenset(line.id for line in read_promoted(text).lines if line.is_ours and line.id in ids)


def without_lines(workspace: Workspace, ids: Collection[str]) -> Plan:
    """Propose to take the promoted lines of entries that are gone off the page; a page that is left alone stays.

    Raise RefusedError for a page that cannot be read: what it says of them would stand there unnoticed.
    """
    if not ids:
        return Plan()
    from ..formats.memory_page import with_lines  # late: most changes delete nothing

    page = read_page(workspace)
    if page.unreadable:
        raise page.unreadable
    deleted = ours_of(page.text, ids)
    return Plan((Change(page.path, page.before, with_lines(page.text, {}, deleted)),)) if deleted else Plan()
