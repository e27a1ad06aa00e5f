"""Decide, draft after draft, what becomes of new memories, and collect the changes that follow; write nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..errors import MemError
from ..formats.entry import EPISODIC, Entry, read_entry
from ..formats.frontmatter import document
from ..formats.text_lines import shorten
from ..formats.times import stamp
from ..store.access_log import Access, confirmations
from ..store.entries import revised
from ..store.journal import Change
from ..store.workspace import Workspace
from .comparison import Compared, Verdict, compare, normalized, nothing_learned
from .merging import (
    are_apart,
    are_of_one_kind,
    is_believed_over,
    is_earlier_value,
    is_same_slot,
    is_trusted_less,
    kind_of,
    may_replace,
    says,
    slot_of,
    told_anew,
)
from .plan import Admitted, Draft, Plan, free_entry
from .supersession import EntryFile, conflicting_text, read_entry_file, superseded_text

NO_VERDICTS: Mapping[tuple[str, str], Verdict] = {}
FLAGGED = 3
"""Memories that a new one is flagged with at most, the nearest first."""


class Settlement:
    """One run of drafts: the standing entries they touch, as they will be, and what became of each draft."""

    def __init__(
        self,
        workspace: Workspace,
        verdicts: Mapping[tuple[str, str], Verdict] = NO_VERDICTS,
        likelihoods: Compared = nothing_learned,
    ) -> None:
        """Start with nothing read; `verdicts` of a judge hold for pairs of texts (old, new)."""
        self.workspace = workspace
        self.verdicts = verdicts
        self.likelihoods = likelihoods
        self.admitted: list[Admitted] = []
        self.confirmed: dict[int, tuple[str, Access]] = {}  # draft → id, how often it was said again, and where
        self._waiting = confirmations(workspace)
        self._files: dict[str, EntryFile | None] = {}
        self._before: dict[str, str | None] = {}  # path → text on disk; None for a file to be made
        self._said: dict[tuple[str, str], str] = {}  # kind and plain text → path of the entry that says it
        self._filled: dict[tuple[str, str], list[str]] = {}  # key and project → paths of what this run put there
        self._changed: dict[str, int] = {}  # path → number of the draft that changed it first
        self._reasons: list[tuple[int, str]] = []  # number of a draft, and what became of it

    def current(self, path: str) -> EntryFile | None:
        """Return an entry as the decisions so far leave it; None where it cannot be believed or changed."""
        if path not in self._files:
            try:
                found = read_entry_file(self.workspace, path)
            except MemError:
                self._files[path] = None
            else:
                self._files[path] = found
                self._before[path] = found.text
        found_now = self._files[path]
        is_belief = found_now is not None and found_now.entry.type not in EPISODIC
        return found_now if is_belief and found_now is not None and found_now.entry.status == "active" else None

    def decide(
        self,
        draft: Draft,
        entry: Entry,
        near: Mapping[str, float | None],
        before: Mapping[int, float],
        *,
        is_open: bool,
    ) -> None:
        """Decide about one draft.

        `near` has the cosines of entries by their paths (None where no vector tells), `before` those of earlier drafts
        of this run by their numbers.
        """
        weighed = self._weighed(entry, near, before) if is_open else []
        self._act(draft, entry, weighed)
        self._said.setdefault((kind_of(entry.type), normalized(entry.body)), self.admitted[-1].path)
        if entry.key:
            self._filled.setdefault(slot_of(entry), []).append(self.admitted[-1].path)

    def _act(self, draft: Draft, entry: Entry, weighed: Sequence[tuple[EntryFile, Verdict]]) -> None:
        against = []
        # What fills the slot is settled with first: its place is taken, and nothing else takes the new value in.
        filling = [item for item in weighed if is_same_slot(item[0].entry, entry)]
        for one, verdict in filling or weighed:
            if verdict.kind == "same" and verdict.sure:
                if not _may_be_one(one.entry, entry):
                    if is_same_slot(one.entry, entry):  # another type fills the slot now
                        against.append((one, Verdict("update", True, f"the key {entry.key}")))
                else:
                    if not is_trusted_less(entry, one.entry) or says(one.entry, entry.body):
                        self._confirm(draft, one, entry, verdict)
                        return
                    # Who is trusted less puts no words into the mouth of what stands: both are kept.
                    against.append((one, replace(verdict, sure=False)))
            elif verdict.kind != "distinct":
                against.append((one, verdict))
        self._create(draft, entry, against)

    def plan(self, drafts: range) -> Plan:
        """Return the changes that began with some of the drafts, by their numbers, as one plan; apply those of all."""
        changes = []
        for path, number in self._changed.items():
            one = self._files[path]
            if number in drafts and one is not None and one.text != self._before[path]:
                changes.append(Change(path, self._before[path], one.text))
        return Plan(tuple(changes), tuple(reason for number, reason in self._reasons if number in drafts))

    def _weighed(
        self, entry: Entry, near: Mapping[str, float | None], before: Mapping[int, float]
    ) -> list[tuple[EntryFile, Verdict]]:
        """Compare with everything near, the nearest first, each entry once."""
        cosines = dict(near) | {self.admitted[number].path: cosine for number, cosine in before.items()}
        if twin := self._said.get((kind_of(entry.type), normalized(entry.body))):
            cosines[twin] = 1.0
        if entry.key:
            cosines |= dict.fromkeys(self._filled.get(slot_of(entry), ()), 1.0)
        found = []
        for path, cosine in sorted(cosines.items(), key=lambda item: -2.0 if item[1] is None else -item[1]):
            one = self.current(path)
            if one is None or are_apart(one.entry, entry):
                continue
            found.append((one, self._compared(one.entry, entry, cosine)))
        return found

    def _compared(self, old: Entry, new: Entry, cosine: float | None) -> Verdict:
        if says(old, new.body):
            return Verdict("same", True, "the same words")
        if is_same_slot(old, new):
            return Verdict("update", True, f"the key {new.key}")
        if known := self.verdicts.get((old.body, new.body)):
            return known
        verdict = compare(old.body, new.body, self.likelihoods(old.body, new.body))
        near_enough = self.workspace.settings["write.merge_similarity"]
        if near_enough and cosine is not None and cosine >= near_enough and not verdict.sure:
            return Verdict("same", True, f"as like as write.merge_similarity asks ({cosine:.2f})")
        return verdict

    def _confirm(self, draft: Draft, one: EntryFile, entry: Entry, verdict: Verdict) -> None:
        """Count that a memory was said again; into its file goes only what it did not say yet."""
        now = stamp(self.workspace.now)
        moment = now if draft.is_told_now else min(entry.updated_at, now)
        identifier = one.entry.id
        told, body = told_anew(one.entry, entry)
        if told:
            self._put(one.path, revised(self.workspace, one.path, one.text, told, body, touch=False))
        self._explain(f"{identifier} is confirmed: {shorten(entry.body, 80)}")
        is_ours = one.path in self._before and self._before[one.path] is None  # made in this run
        if is_ours and draft.confirms:
            self._put(one.path, self._counted(one.path, entry, moment))
        elif draft.confirms:
            sources = tuple(str(source) for source in entry.sources)
            noted = Access(entry.strength, max(moment, one.entry.updated_at), sources)
            self.confirmed[len(self.admitted)] = (identifier, noted)
        counted = sum(noted.count for name, noted in self.confirmed.values() if name == identifier)
        waiting = self._waiting[identifier].count if identifier in self._waiting else 0
        stands = self._files[one.path] or one
        strength = stands.entry.strength + waiting + counted
        self.admitted.append(Admitted("merged", identifier, one.path, reason=verdict.reason, strength=strength))

    def _counted(self, path: str, entry: Entry, moment: str) -> str:
        """Return the text of an entry of this run with a confirmation: nobody else has its file yet."""
        now = self._files[path]
        assert now is not None
        sources = [*now.entry.sources, *(one for one in entry.sources if one not in now.entry.sources)]
        told = {"strength": now.entry.strength + entry.strength, "updated_at": max(moment, now.entry.updated_at)}
        return revised(self.workspace, path, now.text, {**told, "sources": sources}, touch=False)

    def _create(self, draft: Draft, entry: Entry, against: Sequence[tuple[EntryFile, Verdict]]) -> None:
        """Make a new entry: what it surely updates is superseded, the undecided are flagged."""
        identifier, path, text = self._made(draft, entry)
        is_now = draft.is_told_now
        later = [one for one, _ in against if is_earlier_value(one.entry, entry, is_told_now=is_now)]
        sure = [one for one, verdict in against if verdict.sure and may_replace(one.entry, entry)]
        won = [one for one in sure if not later and is_believed_over(one.entry, entry, is_told_now=is_now)]
        flagged = [] if later else _flagged([pair for pair in against if pair[0] not in won])
        unsure = [one for one, _ in flagged]
        alike = [one.entry.id for one, verdict in flagged if verdict.kind == "same"]
        told: dict[str, object] = {}
        if later:
            told = {"status": "superseded", "superseded_by": later[0].entry.id}
            told["superseded_at"] = later[0].entry.created_at
        if won:
            told["references"] = [
                *entry.references,
                *(one.entry.id for one in won if one.entry.id not in entry.references),
            ]
            # What takes the place of what fills a slot fills it from then on.
            if not entry.key and (key := next((one.entry.key for one in won if one.entry.key), "")):
                told["key"] = key
        if unsure:
            told["conflicts_with"] = [*entry.conflicts_with, *(one.entry.id for one in unsure)]
        if alike:
            told["likely_same"] = [*entry.likely_same, *alike]
        if told:
            text = revised(self.workspace, path, text, told, touch=False)
        self._before[path] = None
        self._put(path, text)
        for one in won:
            self._put(one.path, superseded_text(self.workspace, one, identifier))
        for one in unsure:
            is_alike = one.entry.id in alike
            self._put(one.path, conflicting_text(self.workspace, one, identifier, is_likely_same=is_alike))
        reason = next((verdict.reason for one, verdict in against if one in [*later, *won, *unsure]), "")
        for one in won:
            self._explain(f"{one.entry.id} is superseded by {identifier}: {reason}")
        for one in later[:1]:
            self._explain(f"{identifier} is superseded by {one.entry.id}: {reason}")
        for one in unsure:
            self._explain(f"{one.entry.id} and {identifier} are flagged: {reason}")
        self.admitted.append(
            Admitted(
                "created",
                identifier,
                path,
                tuple(one.entry.id for one in won),
                later[0].entry.id if later else "",
                tuple(one.entry.id for one in unsure),
                tuple(alike),
                reason,
            )
        )

    def _made(self, draft: Draft, entry: Entry) -> tuple[str, str, str]:
        if draft.text:
            return entry.id, draft.path, draft.text
        return free_entry(self.workspace, draft.told, draft.body, draft.noise, self._files)

    def _put(self, path: str, text: str) -> None:
        """Remember how a file will stand."""
        entry, _ = read_entry(document.parse(text), path, self.workspace.now)
        self._files[path] = EntryFile(path, text, entry)
        self._changed.setdefault(path, len(self.admitted))

    def _explain(self, reason: str) -> None:
        """Say what became of the draft at hand."""
        self._reasons.append((len(self.admitted), reason))


def _flagged(against: Sequence[tuple[EntryFile, Verdict]]) -> list[tuple[EntryFile, Verdict]]:
    """Choose what a memory is flagged with: the nearest; of those that probably say the same only the nearest one."""
    alike = [pair for pair in against if pair[1].kind == "same"]
    return [pair for pair in against if pair not in alike[1:]][:FLAGGED]


def _may_be_one(old: Entry, new: Entry) -> bool:
    """Tell whether two memories that say the same are the same memory."""
    return are_of_one_kind(old.type, new.type) and (old.project == new.project or not (old.project and new.project))
