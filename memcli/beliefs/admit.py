"""The way in: what becomes of new memories when what they say is already there, or contradicts what is.

Looks around and asks the LLM without a lock, decides and writes under it; where somebody else came between, it looks
once more. A crash leaves all of it or nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from ..formats.entry import EPISODIC, Entry, read_entry
from ..formats.frontmatter.document import parse
from ..store import local_log
from ..store.entries import drafted
from ..store.journal import apply, exclusive
from ..store.local_log import Access
from ..store.lock import next_turn, one_by_one, turn
from ..store.workspace import Workspace
from .admission import NO_VERDICTS, Admission, Admitted, Draft
from .comparison import is_comparable
from .merging import says
from .neighbours import Surroundings, look_around
from .pair_model import FLOOR
from .plan import Plan
from .precedence import are_apart, is_same_slot

if TYPE_CHECKING:
    from .llm_judge import Heard, LlmJudge, Pair

JUDGED = 5  # texts with which a judge compares a new one
COMPARED = 800  # characters of the nearest memories that are compared with one new text: embedding them takes time
SECOND_LOOK = 0.3  # seconds that entries without a vector may take while the lock is held


@dataclass(frozen=True)
class Settled:
    """What became of all drafts, the plan that did it, and what had to be said on the way."""

    admitted: tuple[Admitted, ...]
    plan: Plan
    notices: tuple[str, ...] = ()
    error: str = ""  # why the judge was not heard; the rules decided then
    confirmed: tuple[tuple[str, Access], ...] = ()  # to be counted once the plan is applied

    @property
    def superseded(self) -> frozenset[str]:
        """Give the ids of what stood before and is believed no more."""
        return frozenset(one for done in self.admitted for one in done.supersedes)

    @property
    def made(self) -> list[str]:
        """Give the ids of what was made and is believed."""
        return [done.id for done in self.admitted if done.action == "created" and not done.superseded_by]


@dataclass(frozen=True)
class Looked:
    """Drafts, and what was found around them before anything is decided."""

    drafts: tuple[Draft, ...]
    entries: tuple[Entry, ...]  # as the drafts would be made
    seen: Surroundings
    mark: str  # of the turn they were looked around in

    def is_current(self, workspace: Workspace) -> bool:
        """Tell whether nobody has changed memory since."""
        return turn(workspace) == self.mark


def admit(
    workspace: Workspace,
    drafts: Sequence[Draft],
    command: str,
    judge: "LlmJudge | None" = None,
    *,
    by_key_alone: bool = False,
) -> Settled:
    """Let drafts in, in their order; UsageError, RefusedError and BusyError leave everything as it was.

    With `by_key_alone` only what fills the same slot is looked at, and no model is opened.
    """
    looked, heard = None, None
    if judge is not None and not by_key_alone:
        looked = look(workspace, drafts)
        heard = ask_judge(workspace, looked, judge)
    with one_by_one(workspace, command):
        looked = look(workspace, drafts, looked, by_key_alone=by_key_alone)
        with exclusive(workspace, command) as held:
            if not looked.is_current(workspace):
                looked = look(workspace, drafts, looked, budget=SECOND_LOOK, by_key_alone=by_key_alone)
            settled = settle(workspace, looked, heard)
            next_turn(workspace)
            apply(workspace, (settled.plan + _off_the_page(workspace, settled.superseded)).steps, held)
            local_log.confirm(workspace, settled.confirmed)
    return settled


def look(
    workspace: Workspace,
    drafts: Sequence[Draft],
    last: Looked | None = None,
    *,
    budget: float | None = None,
    keep: bool = True,
    by_key_alone: bool = False,
) -> Looked:
    """Look around for drafts as things stand; `last` spares embedding them again.

    `budget` is the time in seconds that entries without a vector may take; without `keep` no index is made.
    """
    entries = tuple(_entry(workspace, draft) for draft in drafts)
    mark = turn(workspace)
    bodies = ["" if by_key_alone or not is_settled_here(entry) else entry.body for entry in entries]
    seen = _looked(workspace, entries, bodies, last.seen if last else None, budget, keep=keep)
    if seen.embedder is not None:
        seen.learned.ask(seen.embedder, _pairs(workspace, entries, seen), seen.read)
    return Looked(tuple(drafts), entries, seen, mark)


def ask_judge(workspace: Workspace, looked: Looked, judge: "LlmJudge") -> "Heard":
    """Ask a judge about every draft and what is nearest to it; takes as long as an LLM does, so not under a lock."""
    pairs: list[Pair] = []
    for entry, olds in _neighbours(workspace, looked.entries, looked.seen):
        pairs += [(old, entry.body) for old in olds][:JUDGED]
    return judge.compare(pairs)


def settle(workspace: Workspace, looked: Looked, heard: "Heard | None" = None) -> Settled:
    """Decide about drafts by the files as they are now; for one who holds the lock and applies the plan.

    What a judge said holds for the texts it was shown.
    """
    return settle_each(workspace, looked, [len(looked.drafts)], heard)[0]


def settle_each(
    workspace: Workspace, looked: Looked, sizes: Sequence[int], heard: "Heard | None" = None
) -> list[Settled]:
    """Decide about drafts of several conversations, so many of each; their plans are applied together.

    A file that several of them change belongs to the plan of the first.
    """
    admission = Admission(workspace, heard.verdicts if heard else NO_VERDICTS, looked.seen.learned)
    for number, (draft, entry) in enumerate(zip(looked.drafts, looked.entries, strict=True)):
        near, before = looked.seen.near[number], looked.seen.before[number]
        admission.settle(draft, entry, near, before, is_open=is_settled_here(entry))
    notices = tuple(notice for notice in (looked.seen.notice, looked.seen.learned.notice) if notice)
    error = heard.error if heard else ""
    ends = list(accumulate(sizes))
    parts = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    return [
        Settled(
            tuple(admission.admitted[part]),
            admission.plan(range(part.start, part.stop)),
            () if number else notices,
            error,
            tuple(one for at, one in admission.confirmed.items() if part.start <= at < part.stop),
        )
        for number, part in enumerate(parts)
    ]


def _entry(workspace: Workspace, draft: Draft) -> Entry:
    """Give the entry that a draft would make."""
    if draft.text:
        return read_entry(parse(draft.text), draft.path, workspace.now)[0]
    return drafted(workspace, draft.told, draft.body)


def _off_the_page(workspace: Workspace, ids: frozenset[str]) -> Plan:
    if not ids:
        return Plan()
    from .plan import without_lines

    return without_lines(workspace, ids)


def _looked(
    workspace: Workspace,
    entries: Sequence[Entry],
    bodies: Sequence[str],
    last: Surroundings | None,
    budget: float | None,
    *,
    keep: bool,
) -> Surroundings:
    """Look around for those drafts that are beliefs; of long documents only twins are looked for."""
    texts = [(entry.type, body if is_comparable(body) else "") for entry, body in zip(entries, bodies, strict=True)]
    documents = {number: body for number, body in enumerate(bodies) if not is_comparable(body)}
    keys = [entry.key if is_settled_here(entry) else "" for entry in entries]
    if not any(bodies) and not any(keys):
        return Surroundings([[] for _ in texts], [{} for _ in texts])
    return look_around(workspace, texts, last, documents=documents, keys=keys, budget=budget, keep=keep)


def _pairs(workspace: Workspace, entries: Sequence[Entry], seen: Surroundings) -> list[tuple[str, str]]:
    """Give every text with each that is compared with it: the nearest, as many as there is time to embed."""
    found = []
    for entry, olds in _neighbours(workspace, entries, seen):
        room = COMPARED
        for old in olds:
            if room == COMPARED or len(old) <= room:
                room -= len(old)
                found.append((old, entry.body))
    return found


def _neighbours(
    workspace: Workspace, entries: Sequence[Entry], seen: Surroundings
) -> Iterator[tuple[Entry, list[str]]]:
    """Yield every belief with the standing texts, and those of earlier drafts, that it may repeat or contradict."""
    admission = Admission(workspace)
    for entry, near, before in zip(entries, seen.near, seen.before, strict=True):
        if not is_settled_here(entry) or not is_comparable(entry.body):
            continue
        paths = [one.path for one in near if one.cosine is None or one.cosine >= FLOOR]
        standing = [one.entry for one in map(admission.standing, paths) if one]
        olds = [*standing, *(entries[number] for number, cosine in before.items() if cosine >= FLOOR)]
        yield entry, [old.body for old in olds if _is_open(old, entry)]


def _is_open(old: Entry, new: Entry) -> bool:
    """Tell whether only their texts can tell what two memories are to each other."""
    is_told = says(old, new.body) or is_same_slot(old, new) or are_apart(old, new)
    return is_comparable(old.body) and not is_told


def is_settled_here(entry: Entry) -> bool:
    """Tell whether a memory is one belief among others: episodes stand for themselves."""
    return entry.type not in EPISODIC and entry.status == "active"
