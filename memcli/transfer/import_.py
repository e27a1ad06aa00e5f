"""Bring the lines of an export, or of another tool, into a workspace: each file whole or not at all, and none twice.

Never overwrites what stands there, and never leaves the workspace. Secrets are blanked out, and memories are let in by
`admitting`.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO

from ..beliefs.admission import Admitted
from ..errors import MemError, NotFoundError, RefusedError
from ..formats.entry import Entry, read_entry
from ..formats.frontmatter import document as frontmatter
from ..formats.times import parse_time
from ..index.filters import Filter
from ..store import atomic_files
from ..store.init import PAGE_TEXT
from ..store.local_log import note_added
from ..store.placement import place
from ..store.privacy import require_open
from ..store.redaction import Redacted, Redactor, nameable, names_blanked, redactor
from ..store.workspace import Workspace
from .admitting import Candidate, Known, candidate, is_same_memory, let_in, name_of
from .bundle import SETTINGS, USUAL_MODES, Parcel, take_settings, unpacked
from .export import passes
from .foreign_memories import is_made_here, parcel_from
from .json_lines import JsonLine, is_another_tools_store, json_lines, place_in

if TYPE_CHECKING:
    from ..beliefs.llm_judge import LlmJudge

TOGETHER = 1000
"""Memories that are let in as one change."""


@dataclass(frozen=True)
class Outcome:
    """What became of one line."""

    line: int
    action: str  # created, merged, unchanged, conflict, refused, left out
    path: str = ""
    reason: str = ""
    id: str = ""  # of the entry that says it now
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    conflicts_with: tuple[str, ...] = ()
    likely_same: tuple[str, ...] = ()


class Intake:
    """One run over one file."""

    def __init__(
        self,
        workspace: Workspace,
        wanted: Filter,
        known: Known,
        *,
        dedup: bool = True,
        judge: "LlmJudge | None" = None,
        dry_run: bool = False,
        allow_secret: bool = False,
    ) -> None:
        """Take where the memories go and which are wanted; a dry run writes nothing and says the same.

        Without `dedup` memories are compared with nothing that stands; a judge says what each is to what does.
        Memories of one's own that come into an empty workspace are not asked about; all others wait for somebody to
        look at them.
        """
        self.workspace = workspace
        self.wanted = wanted
        self.known = known
        self.dedup = dedup
        self.judge = judge
        self.dry_run = dry_run
        self._guard = None if allow_secret else redactor(workspace, "")
        self._names = redactor(workspace, "")
        self.notices: list[str] = []  # what is to be said of the whole
        self.unheard = ""  # why the judge said nothing of some
        self._made: list[str] = []  # ids of entries for somebody to look at
        self._planned: dict[str, str] = {}  # path → digest of what is about to be made, or would be
        self._together: set[str] = set()  # paths that stand here and in the file: they lived together before

    @property
    def redacted(self) -> Sequence[Redacted]:
        """Tell where secrets were blanked out."""
        return self._guard.found if self._guard else ()

    def run(self, stream: BinaryIO, name: str = "an import") -> Iterator[Outcome]:
        """Take in line after line and say what became of each, in their order; `name` is what is imported."""
        try:
            yield from self._run(stream)
        finally:
            if not self.dry_run:
                note_added(self.workspace, self._made, name)

    def _run(self, stream: BinaryIO) -> Iterator[Outcome]:
        waiting: list[Outcome | Candidate] = []
        count = 0
        for line in json_lines(stream):
            try:
                taken = self._take(line)
            except (ValueError, MemError) as error:
                taken = Outcome(line.number, "refused", "", str(error))
            except RecursionError:
                taken = Outcome(line.number, "refused", "", "its lists and objects are nested too deeply")
            if isinstance(taken, Outcome) and not waiting:
                yield taken
                continue
            waiting.append(taken)
            count += isinstance(taken, Candidate)
            if count == TOGETHER:
                yield from self._let_in(waiting)
                waiting, count = [], 0
        yield from self._let_in(waiting)

    def _take(self, line: JsonLine) -> "Outcome | Candidate":
        if line.record is None:
            raise ValueError(line.fault)
        layout = self.workspace.layout
        own = "path" in line.record
        parcel = unpacked(line.record) if own else parcel_from(line.record, layout, self.workspace.now)
        if parcel.kind == SETTINGS:
            return self._take_settings(line, parcel)
        if is_another_tools_store(layout, parcel):
            return Outcome(line.number, "left out", parcel.path, "import the file by itself")
        path = nameable(self._names, place_in(layout, parcel))
        if self._guard is not None:
            require_open(self.workspace.root / path)
        parcel = replace(parcel, path=path, kind=parcel.kind or layout.kind_of(path) or "")
        entry = self._entry(parcel)
        if not passes(self.wanted, parcel, entry):
            return Outcome(line.number, "left out", parcel.path)
        parcel = admitted(self._guard, parcel)
        entry = self._entry(parcel)
        action, reason = self._compared(parcel, entry)
        if not action and entry is not None and self.dedup and not (own and self.known.is_empty):
            found = candidate(line.number, parcel, entry)
            if found is not None:
                self._planned[parcel.path] = atomic_files.digest(parcel.data)
                self.known.ids.setdefault(entry.id, parcel.path)
                return found
        if not action:
            action, reason = self._place(parcel)
        if action == "created" and entry is not None and entry.id != parcel.path:
            self.known.ids.setdefault(entry.id, parcel.path)
        if action == "created" and entry is not None and not (own and self.known.is_empty):
            self._made.append(entry.id)
        if own and action in ("created", "unchanged"):
            self._together.add(parcel.path)
        return Outcome(line.number, action, parcel.path, reason)

    def _take_settings(self, line: JsonLine, parcel: Parcel) -> Outcome:
        if not passes(self.wanted, parcel, None):
            return Outcome(line.number, "left out", parcel.path)
        action, notice = take_settings(self.workspace, admitted(self._guard, parcel), dry_run=self.dry_run)
        self.notices += [notice] if notice else []
        return Outcome(line.number, action, parcel.path, notice)

    def _let_in(self, waiting: Sequence["Outcome | Candidate"]) -> Iterator[Outcome]:
        """Settle what waits as one change and give all outcomes in their order."""
        candidates = [one for one in waiting if isinstance(one, Candidate)]
        if not candidates:
            return
        faults: dict[str, tuple[str, str]] = {}

        def put(parcel: Parcel) -> None:
            action, reason = self._place(parcel)
            if action != "created":
                faults[parcel.path] = action, reason

        if not self.dry_run:
            for held in candidates:
                self._planned.pop(held.parcel.path, None)
        try:
            done = let_in(self.workspace, candidates, frozenset(self._together), put, self.judge, dry_run=self.dry_run)
        except MemError as error:
            for one in waiting:
                yield one if isinstance(one, Outcome) else Outcome(one.line, "refused", one.parcel.path, str(error))
            return
        self.notices += [one for one in done.notices if one not in self.notices]
        self.unheard = self.unheard or done.unheard
        became = iter(done.admitted)
        for one in waiting:
            yield one if isinstance(one, Outcome) else self._told(one, next(became), faults, put)

    def _told(
        self,
        one: Candidate,
        done: Admitted | None,
        faults: dict[str, tuple[str, str]],
        put: Callable[[Parcel], None],
    ) -> Outcome:
        path = one.parcel.path
        if done is None:
            put(one.parcel)
        if path in faults:
            return Outcome(one.line, faults[path][0], path, faults[path][1])
        self._together.add(path)
        if done is None or (done.action == "created" and not done.superseded_by):
            self._made.append(one.entry.id)
        if done is None:
            return Outcome(one.line, "created", path, id=one.entry.id)
        if done.action == "merged":
            self.known.ids.pop(one.entry.id, None)
            return Outcome(one.line, "merged", done.path, done.reason, done.id)
        settled = done.supersedes, done.superseded_by, done.conflicts_with, done.likely_same
        return Outcome(one.line, "created", path, done.reason, done.id, *settled)

    def _entry(self, parcel: Parcel) -> Entry | None:
        if parcel.kind != "entry":
            return None
        document = frontmatter.parse(parcel.data.decode("utf-8", "replace"))
        modified = parse_time(parcel.modified) or self.workspace.now
        return Entry(id=parcel.path, body="") if document.problem else read_entry(document, parcel.path, modified)[0]

    def _compared(self, parcel: Parcel, entry: Entry | None) -> tuple[str, str]:
        """Say why a file is not to be made, if its name or its id is taken; nothing where both are free."""
        digest = atomic_files.digest(parcel.data)
        there = self._standing(parcel.path)
        if there == digest or (there and is_made_here(parcel.path)):
            return "unchanged", ""
        if entry is not None and (place := self.known.taken_in.get(name_of(parcel, entry))):
            return "unchanged", f"{place} took it in"
        other = self.known.ids.get(entry.id, parcel.path) if entry is not None else parcel.path
        if other != parcel.path:
            if self._standing(other) == digest or self._is_same_memory(other, parcel):
                return "unchanged", f"it stands at {other}"
            return "conflict", f"{other} has its id {entry.id if entry else ''} and says something else"
        if there is None or self._is_fresh_page(parcel, there):
            return "", ""
        if entry is not None and self._is_same_memory(parcel.path, parcel):
            return "unchanged", ""
        return "conflict", "it exists and says something else"

    def _place(self, parcel: Parcel) -> tuple[str, str]:
        """Make the file as it is; give what was done and why nothing was."""
        digest = atomic_files.digest(parcel.data)
        if self.dry_run:
            self._planned[parcel.path] = digest
            return "created", ""
        there = self._standing(parcel.path)
        fresh = there if there is not None and self._is_fresh_page(parcel, there) else None
        try:
            modified = parse_time(parcel.modified)
            mode = 0o666 if parcel.mode in USUAL_MODES else parcel.mode
            place(self.workspace, parcel.path, parcel.data, mode, modified, over=fresh)
        except FileExistsError:  # by somebody else, just now
            is_same = self._standing(parcel.path) == digest
            return ("unchanged", "") if is_same else ("conflict", "somebody else made it just now")
        return "created", ""

    def _is_fresh_page(self, parcel: Parcel, there: str) -> bool:
        return parcel.path == self.workspace.layout.memory and there == _FRESH_PAGE

    def _is_same_memory(self, path: str, parcel: Parcel) -> bool:
        try:
            return is_same_memory(atomic_files.read(self.workspace.path(path)), parcel.data)
        except MemError:
            return False

    def _standing(self, path: str) -> str | None:
        """Give the digest of what stands at a path; None where nothing does."""
        if path in self._planned:
            return self._planned[path]
        try:
            return atomic_files.digest(atomic_files.read(self.workspace.path(path)))
        except NotFoundError:
            return None


_FRESH_PAGE = atomic_files.digest(PAGE_TEXT.encode())
"""The page of a workspace just made: nobody's words, so an imported page may take its place."""


def admitted(guard: Redactor | None, parcel: Parcel) -> Parcel:
    """Give a file without its secrets: the one gate that everything imported passes.

    RefusedError keeps it out.
    """
    if guard is None:
        return parcel
    try:
        text, encoding = parcel.data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:  # one byte that is none must not let a secret in: search shows such files too
        text, encoding = parcel.data.decode("latin-1"), "latin-1"
    guard.name = parcel.path
    clean = _without_secrets(guard, text) if parcel.kind == "session" else names_blanked(guard, guard.text(text))
    return parcel if clean == text else replace(parcel, data=clean.encode(encoding))


def _without_secrets(guard: Redactor, text: str) -> str:
    """Blank out the secrets of lines of JSON, which must stay what they are."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        clean = guard.text(line, number + 1, one_line=True)
        if clean is line:
            continue
        try:
            json.loads(clean)
        except ValueError:
            raise RefusedError(f"line {number + 1} of it holds a secret", "blank it out, or --allow-secret") from None
        lines[number] = clean
    return "\n".join(lines)
