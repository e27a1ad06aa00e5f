"""Decide, draft after draft, what becomes of new memories, and keep the changes that follow; writes nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import MemError, RefusedError
from ..store.entries import TRIES, entry_text, revised
from ..store.journal import Change
from ..store.workspace import Workspace
from ..text import frontmatter
from ..text.entry import EPISODIC, Entry, read_entry
from ..text.summary import shorten
from ..text.times import stamp
from .beliefs import Verdict, compare, plain, thresholds
from .merging import are_of_one_kind, kind_of, merged_body, merged_fields
from .neighbours import Neighbour
from .plan import Plan
from .supersession import Standing, conflicting_text, standing, superseded_text


@dataclass(frozen=True)
class Draft:
    """A memory that wants in: the fields told, its text, and the random source of its id."""

    told: Mapping[str, Any]
    body: str
    noise: Callable[[int], bytes]
    path: str = ""  # of a file that stands elsewhere already; empty: as the layout has it
    text: str = ""  # that file's text; it keeps its id and every byte but for the marks that it gets

    @property
    def is_told_now(self) -> bool:
        """Tell whether it has no date of its own."""
        return not self.text and not self.told.get("created_at")


@dataclass(frozen=True)
class Admitted:
    """What became of a draft."""

    action: str  # created or merged
    id: str  # of the entry that says it now
    path: str
    supersedes: tuple[str, ...] = ()  # ids it took the place of
    superseded_by: str = ""  # id of the entry that is believed in its stead
    conflicts_with: tuple[str, ...] = ()
    reason: str = ""
    strength: int = 1  # how often it was confirmed, this time included


FLAGGED = 3  # memories that a new one is marked as contradicting, the nearest first


class Admission:
    """One run of drafts: the standing entries they touch, as they will be, and what became of each draft."""

    def __init__(self, workspace: Workspace, model: str, verdicts: Mapping[tuple[str, str], Verdict]) -> None:
        """Start with nothing read; `verdicts` of a judge hold for pairs of texts, `model` gave the cosines."""
        self.workspace = workspace
        self.limits = thresholds(model)
        self.verdicts = verdicts
        self.admitted: list[Admitted] = []
        self._files: dict[str, Standing | None] = {}
        self._before: dict[str, str | None] = {}  # path → text on disk; None for a file to be made
        self._said: dict[tuple[str, str], str] = {}  # kind and plain text of a draft → path of the entry that says it
        self._reasons: list[str] = []

    def standing(self, path: str) -> Standing | None:
        """Give an entry as it will stand after what was decided so far; None where it cannot be believed or changed."""
        if path not in self._files:
            try:
                found = standing(self.workspace, path)
            except MemError:
                self._files[path] = None
            else:
                self._files[path] = found
                self._before[path] = found.text
        found_now = self._files[path]
        is_belief = found_now is not None and found_now.entry.type not in EPISODIC
        return found_now if is_belief and found_now is not None and found_now.entry.status == "active" else None

    def settle(
        self, draft: Draft, entry: Entry, near: Sequence[Neighbour], before: Mapping[int, float], *, is_open: bool
    ) -> None:
        """Decide about one draft; `before` names earlier drafts of this run by their number, with their cosines."""
        weighed = self._weighed(entry, near, before) if is_open else []
        self._decide(draft, entry, weighed)
        self._said.setdefault((kind_of(entry.type), plain(entry.body)), self.admitted[-1].path)

    def _decide(self, draft: Draft, entry: Entry, weighed: Sequence[tuple[Standing, Verdict]]) -> None:
        for one, verdict in weighed:
            if verdict.kind == "same" and verdict.sure and _may_be_one(one.entry, entry):
                body = merged_body(one.entry.body, entry.body)
                if entry.trust >= one.entry.trust or body == one.entry.body:
                    self._merge(draft, one, entry, body, verdict)
                    return
                # Who is trusted less confirms what stands, but puts no words into its mouth.
        against = [(one, verdict) for one, verdict in weighed if verdict.is_against]
        self._create(draft, entry, against)

    def plan(self) -> Plan:
        """Give all changes as one plan."""
        changes = []
        for path, one in self._files.items():
            if one is not None and one.text != self._before[path]:
                changes.append(Change(path, self._before[path], one.text))
        return Plan(tuple(changes), tuple(self._reasons))

    def _weighed(
        self, entry: Entry, near: Sequence[Neighbour], before: Mapping[int, float]
    ) -> list[tuple[Standing, Verdict]]:
        """Compare with everything near, the nearest first, each entry once."""
        cosines: dict[str, float | None] = {one.path: one.cosine for one in near}
        cosines |= {self.admitted[number].path: cosine for number, cosine in before.items()}
        if twin := self._said.get((kind_of(entry.type), plain(entry.body))):
            cosines[twin] = 1.0
        found = []
        for path, cosine in sorted(cosines.items(), key=lambda item: -2.0 if item[1] is None else -item[1]):
            one = self.standing(path)
            if one is None or _are_apart(one.entry, entry):
                continue
            verdict = self.verdicts.get((one.entry.body, entry.body)) or compare(
                one.entry.body, entry.body, cosine, self.limits
            )
            found.append((one, verdict))
        return found

    def _merge(self, draft: Draft, one: Standing, entry: Entry, body: str, verdict: Verdict) -> None:
        now = stamp(self.workspace.now)
        told = merged_fields(one.entry, entry, now if draft.is_told_now else min(entry.updated_at, now))
        text = revised(self.workspace, one.path, one.text, told, None if body == one.entry.body else body)
        self._put(one.path, text)
        self.admitted.append(
            Admitted("merged", one.entry.id, one.path, reason=verdict.reason, strength=told["strength"])
        )
        self._reasons.append(f"{one.entry.id} is confirmed: {shorten(entry.body, 80)}")

    def _create(self, draft: Draft, entry: Entry, against: Sequence[tuple[Standing, Verdict]]) -> None:
        """Make a new entry and settle what it contradicts: the loser is superseded, the undecided are marked."""
        identifier, path, text = self._made(draft, entry)
        lost = [one for one, verdict in against if verdict.sure and not _wins(one.entry, entry, draft)]
        won = [] if lost else [one for one, verdict in against if verdict.sure and _decides(one.entry, entry)]
        unsure = [one for one, _ in against if one not in lost and one not in won][:FLAGGED]
        if lost:
            unsure = []
        told: dict[str, object] = {}
        if lost:
            told = {"status": "superseded", "superseded_by": lost[0].entry.id}
        if won:
            told["references"] = [
                *entry.references,
                *(one.entry.id for one in won if one.entry.id not in entry.references),
            ]
        if unsure:
            told["conflicts_with"] = [*entry.conflicts_with, *(one.entry.id for one in unsure)]
        if told:
            text = revised(self.workspace, path, text, told, touch=False)
        self._before[path] = None
        self._put(path, text)
        for one in won:
            self._put(one.path, superseded_text(self.workspace, one, identifier))
        for one in unsure:
            self._put(one.path, conflicting_text(self.workspace, one, identifier))
        reason = next((verdict.reason for one, verdict in against if one in [*lost, *won, *unsure]), "")
        self.admitted.append(
            Admitted(
                "created",
                identifier,
                path,
                tuple(one.entry.id for one in won),
                lost[0].entry.id if lost else "",
                tuple(one.entry.id for one in unsure),
                reason,
            )
        )
        self._reasons += [f"{one.entry.id} is superseded by {identifier}: {reason}" for one in won]
        self._reasons += [f"{identifier} is superseded by {one.entry.id}, which is trusted more" for one in lost[:1]]
        self._reasons += [f"{one.entry.id} and {identifier} may contradict each other" for one in unsure]

    def _made(self, draft: Draft, entry: Entry) -> tuple[str, str, str]:
        if draft.text:
            return entry.id, draft.path, draft.text
        for attempt in range(TRIES):
            identifier, path, text = entry_text(self.workspace, draft.told, draft.body, draft.noise(attempt))
            if path not in self._files and not self.workspace.path(path).exists():
                return identifier, path, text
        raise RefusedError(f"no free name for {shorten(draft.body, 60)!r} after {TRIES} tries", "give one with --path")

    def _put(self, path: str, text: str) -> None:
        """Remember how a file will stand."""
        entry, _ = read_entry(frontmatter.parse(text), path, self.workspace.now)
        self._files[path] = Standing(path, text, entry)


def _are_apart(old: Entry, new: Entry) -> bool:
    """Tell whether two memories are about different things by name, whatever their texts say."""
    titles, projects = (old.title, new.title), (old.project, new.project)
    return any(all(pair) and plain(pair[0]) != plain(pair[1]) for pair in (titles, projects))


def _may_be_one(old: Entry, new: Entry) -> bool:
    """Tell whether two memories that say the same are the same memory."""
    return are_of_one_kind(old.type, new.type) and old.project == new.project


def _decides(old: Entry, new: Entry) -> bool:
    """Tell whether one may take the other's place: what holds for one project or title need not for the rest."""
    return old.project == new.project and plain(old.title) == plain(new.title)


def _wins(old: Entry, new: Entry, draft: Draft) -> bool:
    """Tell whether the new memory is believed: a user's correction wins, else higher trust, else the newer one.

    What is told now without a date of its own is the newer one, whatever the clocks of the two say.
    """
    if not _decides(old, new):
        return True
    corrects = new.source == "user" and (new.type == "correction" or _opens_by_correcting(new.body))
    if corrects:
        return True
    if old.source == "user" and old.type == "correction" and new.source != "user":
        return False
    if old.trust != new.trust:
        return new.trust > old.trust
    return draft.is_told_now or max(new.created_at, new.updated_at) >= max(old.created_at, old.updated_at)


def _opens_by_correcting(body: str) -> bool:
    from .claims.reading import claims

    return any(claim.corrects for claim in claims(body)[:1])
