"""Decide, draft after draft, what becomes of new memories, and collect the changes that follow; write nothing."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from ..errors import MemError
from ..formats.entry import EPISODIC, Entry, read_entry, slot_of
from ..formats.frontmatter import document
from ..formats.ids import past, stamp
from ..formats.text_lines import normalized, shorten
from ..store import atomic_files
from ..store.access_log import Access, confirmations
from ..store.entries import Admitted, NearEntry, revised, unforgotten
from ..store.journal import Change, Move, Step
from ..store.workspace import Workspace
from .forgotten import (
    forgotten_like,
    held_back,
    held_text,
    inbox_path,
    is_held,
    is_lifted,
    lifted,
    read_forgotten,
    refusal,
)
from .neighbours import DISTINCT, Nearby, Verdict, correction_in, is_correction_of
from .plan import Draft, Plan, free_entry
from .supersession import (
    EntryFile,
    are_apart,
    are_of_one_kind,
    conflicting_text,
    has_same_values,
    is_believed_over,
    is_earlier_value,
    is_same_slot,
    is_trusted_less,
    kind_of,
    may_replace,
    read_entry_file,
    says,
    superseded_text,
    told_anew,
)

REPEAT = 0.9
"""Learned probability of saying the same from which a text confirms another one: 0 of 967 distinct pairs have it."""
NAMED = 3
"""Memories that a new one is told to lie near, at most."""
NEAR = 0.55
"""Cosine from which a memory is named as near: .86 of the updates of two authors reach it, .36 of nearest strangers."""
FLAGGED = 3
"""Memories that a new one is flagged with at most, the nearest first."""


class Settlement:
    """One run of drafts: the standing entries they touch, as they will be, and what became of each draft."""

    def __init__(
        self,
        workspace: Workspace,
        seen: Nearby | None = None,
        verdicts: Mapping[tuple[str, str], Verdict] | None = None,
    ) -> None:
        """Start with nothing read; `seen` is what lies near to the drafts, verdicts of a judge are of (old, new)."""
        self.workspace = workspace
        self.seen = seen or Nearby([], [])
        self.verdicts = verdicts or {}
        self.admitted: list[Admitted] = []
        self.forgotten: list[EntryFile] = []  # archived files that may say what a draft says
        self._moves: dict[int, Move] = {}  # draft → what it brings back
        self.said_again: list[str] = []  # texts that were deleted for good here, and that the user says again
        self.lifted: list[str] = []  # lines about those that the user's word lifted
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
                file = read_entry_file(self.workspace, path)
            except MemError:
                self._files[path] = None
            else:
                self._files[path] = file
                self._before[path] = file.text
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
        forgotten = forgotten_like(entry, self.forgotten) if entry.status == "active" else []
        if forgotten and not is_lifted(entry, forgotten, is_told_now=draft.is_told_now):
            self._explain(f"left out: {refusal(forgotten[0])}")
            barring = forgotten[0]
            self.admitted.append(Admitted("forgotten", barring.entry.id, barring.path, reason=refusal(barring)))
            return
        for file in forgotten:
            if file.path:
                self._before[file.path] = file.text
                self._put(file.path, unforgotten(self.workspace, file.path, file.text))
            else:
                self.said_again.append(entry.body)
            self.lifted.append(lifted(file))
            self.forgotten.remove(file)
        cosines = self._cosines(entry, near, before) if is_open else {}
        weighed = self._weighed(entry, cosines)
        if is_open and not _is_said(weighed) and (back := self._brought_back(draft, entry)):
            weighed.insert(0, (back, Verdict("same", True, "the same words: it had faded, and is back")))
        if draft.waits and not _is_said(weighed):
            self._hold(draft, entry, None)
            return
        is_known = entry.key or _is_said(weighed)
        if is_open and not is_known and (alike := self._said_otherwise(draft, entry)):
            self._hold(draft, entry, alike)
            return
        self._act(draft, entry, [(file, verdict) for file, verdict in weighed if verdict.kind != "distinct"])
        if self.admitted[-1].action == "created":
            self.admitted[-1] = replace(self.admitted[-1], near=self._named(self.admitted[-1], weighed, cosines))
        self._said.setdefault((kind_of(entry.type), normalized(entry.body)), self.admitted[-1].path)
        if entry.key:
            self._filled.setdefault(slot_of(entry.key, entry.project), []).append(self.admitted[-1].path)

    def _act(self, draft: Draft, entry: Entry, weighed: Sequence[tuple[EntryFile, Verdict]]) -> None:
        against = []
        # What fills the slot is settled with first: its place is taken, and nothing else takes the new value in.
        in_same_slot = [item for item in weighed if is_same_slot(item[0].entry, entry)]
        for file, verdict in in_same_slot or weighed:
            if verdict.kind != "same":
                against.append((file, verdict))
            elif _may_be_one(file.entry, entry):
                self._confirm(draft, file, entry, verdict)
                return
            elif is_same_slot(file.entry, entry):  # another type fills the slot now
                against.append((file, Verdict("update", True, f"the key {entry.key}")))
        self._create(draft, entry, against)

    def _brought_back(self, draft: Draft, entry: Entry) -> EntryFile | None:
        """Bring back an archived memory that a draft says again word for word: nobody had forgotten it."""
        path = self.seen.faded.get(entry.body, "")
        path_then = path.removeprefix(self.workspace.layout.archive)
        with suppress(MemError):
            file = read_entry_file(self.workspace, path) if path and entry.status == "active" else None
            is_over = file is None or file.entry.forgotten_at or file.entry.version_of or file.entry.status != "active"
            if file is None or is_over or path_then in self._files or self.workspace.path(path_then).exists():
                return None
            if not draft.confirms or not _may_be_one(file.entry, entry) or file.entry.key != entry.key:
                return None
            digest = atomic_files.digest(file.text.encode("utf-8", "surrogateescape"))
            self._moves[len(self.admitted)] = Move(path, path_then, digest)
            self._before[path_then] = file.text
            self._files[path_then] = back = EntryFile(path_then, file.text, file.entry)
            return back
        return None

    def _said_otherwise(self, draft: Draft, entry: Entry) -> EntryFile | None:
        """Return what was forgotten and what a draft may say in other words, unless it is the user's later word."""
        alike = self.seen.alike
        paths = alike[len(self.admitted)] if alike and entry.status == "active" else {}
        for file in read_forgotten(self.workspace, [path for path in paths if path not in self._files]):
            if is_held(entry, file.entry) and not is_lifted(entry, [file], is_told_now=draft.is_told_now):
                return file
        return None

    def _hold(self, draft: Draft, entry: Entry, forgotten: EntryFile | None) -> None:
        """Put a draft into the inbox, once, for a person to decide; it may say what is `forgotten`, or is only new."""
        path = inbox_path(self.workspace, entry.body)
        reason = held_back(path, forgotten) if forgotten else f"waits in {path}: `mem review` decides"
        self._explain(reason)
        waiting = self.current(path) if self.workspace.path(path).exists() else self._files.get(path)
        identifier, _, text = (waiting.entry.id, "", "") if waiting else self._made(draft, entry)
        if waiting is None:
            ignore = f"{self.workspace.layout.inbox}.gitignore"
            for name, content in (
                (ignore, "*\n"),
                (path, held_text(self.workspace, text, forgotten)),
            ):
                if name not in self._files and not self.workspace.path(name).exists():
                    self._before[name] = None
                    self._put(name, content)
        self.admitted.append(Admitted("held" if forgotten else "waits", identifier, path, reason=reason))

    def near_to(self, entry: Entry, cosines: Mapping[str, float | None]) -> tuple[NearEntry, ...]:
        """Return what lies near to a memory that is kept as it is, the nearest first."""
        return self._named(Admitted("created", "", ""), self._weighed(entry, cosines), cosines)

    def _named(
        self, admitted: Admitted, weighed: Sequence[tuple[EntryFile, Verdict]], cosines: Mapping[str, float | None]
    ) -> tuple[NearEntry, ...]:
        """Return what lies near to a new entry and is in no relation to it yet, the nearest first."""
        related = {*admitted.supersedes, *admitted.conflicts_with, admitted.superseded_by}
        near = [file.entry for file, _ in weighed if (cosines.get(file.path) or 0.0) >= NEAR]
        holding = (entry for entry in near if not past(entry.expires_at, self.workspace.now))
        return tuple(NearEntry.of(entry) for entry in holding if entry.id not in related)[:NAMED]

    def plan(self, drafts: range) -> Plan:
        """Return what becomes of some of the drafts, by their numbers, and the changes that began with them."""
        changes: list[Step] = [move for number, move in self._moves.items() if number in drafts]
        for path, number in self._changed.items():
            file = self._files[path]
            if number in drafts and file is not None and file.text != self._before[path]:
                changes.append(Change(path, self._before[path], file.text))
        return Plan(
            tuple(changes),
            tuple(reason for number, reason in self._reasons if number in drafts),
            tuple(self.admitted[drafts.start : drafts.stop]),
            confirmed=tuple(access for number, access in self.confirmed.items() if number in drafts),
        )

    def _cosines(
        self, entry: Entry, near: Mapping[str, float | None], before: Mapping[int, float]
    ) -> dict[str, float | None]:
        """Return the cosines of everything near by its path, of what says the same or fills the slot 1."""
        admitted = {number: self.admitted[number] for number in before}
        is_in = {number: done.path for number, done in admitted.items() if done.is_let_in}
        cosines = dict(near) | {path: before[number] for number, path in is_in.items()}
        if twin := self._said.get((kind_of(entry.type), normalized(entry.body))):
            cosines[twin] = 1.0
        in_slot = self._filled.get(slot_of(entry.key, entry.project), ()) if entry.key else ()
        return cosines | dict.fromkeys(in_slot, 1.0)

    def _weighed(self, entry: Entry, cosines: Mapping[str, float | None]) -> list[tuple[EntryFile, Verdict]]:
        """Compare with everything near, the nearest first, each entry once."""
        weighed = []
        for path, cosine in sorted(cosines.items(), key=lambda item: -2.0 if item[1] is None else -item[1]):
            file = self.current(path)
            if file is not None and not are_apart(file.entry, entry):
                weighed.append((file, self._compared(file.entry, entry, cosine)))
        return weighed

    def _compared(self, old: Entry, new: Entry, cosine: float | None) -> Verdict:
        """Return what a new memory is to an old one for certain, or all but certain: anything else is distinct."""
        if says(old, new.body):
            return Verdict("same", True, "the same words")
        if is_same_slot(old, new):
            return Verdict("update", True, f"the key {new.key}")
        if verdict := self.verdicts.get((old.body, new.body)):
            return verdict if verdict.sure or verdict.kind == "conflict" else DISTINCT
        if correction_in(new.body):
            is_meant = is_correction_of(new.body, old.body)
            return Verdict("update", True, "says that it is a correction") if is_meant else DISTINCT
        if self.workspace.is_trusted and self.seen.comparer.repeats.get((old.body, new.body), 0.0) >= REPEAT:
            return Verdict("same", True, "the same in other words")
        least = self.workspace.settings["write.merge_similarity"]
        if least and (cosine or 0.0) >= least and not is_trusted_less(new, old) and has_same_values(old.body, new.body):
            return Verdict("same", True, f"as like as write.merge_similarity asks ({cosine:.2f})")
        return DISTINCT

    def _confirm(self, draft: Draft, file: EntryFile, entry: Entry, verdict: Verdict) -> None:
        """Count that a memory was said again; into its file goes only what it did not say yet."""
        now = stamp(self.workspace.now)
        moment = now if draft.is_told_now else min(entry.updated_at, now)
        identifier = file.entry.id
        fields, body = told_anew(file.entry, entry)
        if fields:
            self._put(file.path, revised(self.workspace, file.path, file.text, fields, body))
        self._explain(f"{identifier} is confirmed: {shorten(entry.body, 80)}")
        is_ours = file.path in self._before and self._before[file.path] is None  # made in this run
        if is_ours and draft.confirms:
            self._put(file.path, self._counted(file.path, entry, moment))
        elif draft.confirms:
            sources = tuple(str(source) for source in entry.sources)
            noted = Access(entry.strength, max(moment, file.entry.updated_at), sources)
            self.confirmed[len(self.admitted)] = (identifier, noted)
        counted = sum(noted.count for name, noted in self.confirmed.values() if name == identifier)
        waiting = self._waiting[identifier].count if identifier in self._waiting else 0
        stands = self._files[file.path] or file
        strength = stands.entry.strength + waiting + counted
        self.admitted.append(Admitted("merged", identifier, file.path, reason=verdict.reason, strength=strength))

    def _counted(self, path: str, entry: Entry, moment: str) -> str:
        """Return the text of an entry of this run with a confirmation: nobody else has its file yet."""
        now = self._files[path]
        assert now is not None
        sources = [*now.entry.sources, *(source for source in entry.sources if source not in now.entry.sources)]
        fields = {"strength": now.entry.strength + entry.strength, "updated_at": max(moment, now.entry.updated_at)}
        return revised(self.workspace, path, now.text, {**fields, "sources": sources})

    def _create(self, draft: Draft, entry: Entry, against: Sequence[tuple[EntryFile, Verdict]]) -> None:
        """Make a new entry: what it updates is superseded; what trust keeps, or a judge finds at odds, is flagged."""
        identifier, path, text = self._made(draft, entry)
        is_now = draft.is_told_now
        updated = [file for file, verdict in against if verdict.kind == "update" and may_replace(file.entry, entry)]
        later = [file for file in updated if is_earlier_value(file.entry, entry, is_told_now=is_now)]
        won = [file for file in updated if not later and is_believed_over(file.entry, entry, is_told_now=is_now)]
        rivals = [file for file, verdict in against if verdict.kind == "conflict" or file in updated]
        flagged = [] if later else [file for file in rivals if file not in won][:FLAGGED]
        reasons = {file.path: verdict.reason for file, verdict in against if verdict.by_llm}
        fields: dict[str, object] = {}
        if later:
            fields = {"status": "superseded", "superseded_by": later[0].entry.id}
            fields["superseded_at"] = later[0].entry.created_at
            if reason := reasons.get(later[0].path):
                fields["verdict_reasons"] = [f"{later[0].entry.id}: {reason}"]
        if won:
            fields["references"] = list(dict.fromkeys([*entry.references, *(file.entry.id for file in won)]))
            # What takes the place of what fills a slot fills it from then on.
            if not entry.key and (key := next((file.entry.key for file in won if file.entry.key), "")):
                fields["key"] = key
        if fields:
            text = revised(self.workspace, path, text, fields)
        self._before[path] = None
        self._put(path, text)
        for file in won:
            self._put(file.path, superseded_text(self.workspace, file, identifier, reason=reasons.get(file.path, "")))
        for file in flagged:
            new = self._files[path]
            assert new is not None
            self._put(path, conflicting_text(self.workspace, new, file.entry, reasons.get(file.path, "")))
            self._put(file.path, conflicting_text(self.workspace, file, new.entry, reasons.get(file.path, "")))
        reason = next((verdict.reason for file, verdict in against if file in [*later, *won, *flagged]), "")
        for file in won:
            self._explain(f"{file.entry.id} is superseded by {identifier}: {reason}")
        for file in later[:1]:
            self._explain(f"{identifier} is superseded by {file.entry.id}: {reason}")
        for file in flagged:
            self._explain(f"{file.entry.id} and {identifier} are flagged: {reason}")
        self.admitted.append(
            Admitted(
                "created",
                identifier,
                path,
                tuple(file.entry.id for file in won),
                later[0].entry.id if later else "",
                tuple(file.entry.id for file in flagged),
                reason=reason,
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


def _is_said(weighed: Sequence[tuple[EntryFile, Verdict]]) -> bool:
    """Return whether something says the same."""
    return any(verdict.kind == "same" for _, verdict in weighed)


def _may_be_one(old: Entry, new: Entry) -> bool:
    """Tell whether two memories that say the same are the same memory."""
    return are_of_one_kind(old.type, new.type) and (old.project == new.project or not (old.project and new.project))
