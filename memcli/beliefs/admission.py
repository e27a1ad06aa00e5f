"""What becomes of new memories when their text is already there, or contradicts an existing one.

Looks around and asks the LLM without a lock, decides and writes under it; if another command came between, looks once
more. A crash leaves all of it or nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from ..errors import ChangedError
from ..formats.entry import EPISODIC, Entry
from ..store import access_log
from ..store.entries import NearEntry
from ..store.journal import Applied, apply, exclusive
from ..store.lock import change_mark, one_by_one
from ..store.workspace import Workspace
from .forgotten import note_said_again, purged_files, read_forgotten
from .neighbours import FLOOR, Nearby, is_comparable, look_around
from .plan import Draft, Plan, entry_of
from .settlement import Settlement
from .supersession import are_apart, is_same_slot, says

if TYPE_CHECKING:
    from .llm_judge import Heard, LlmJudge, Pair

Seen = TypeVar("Seen")
Result = TypeVar("Result")

UNHEARD: "Heard" = ({}, "")
"""The verdicts where no judge was asked."""
LOOKS = 3
"""Looks without the lock before one is made under it."""
LOCKED_LOOK = 0.0
"""Seconds that entries without a vector may take in the look under the lock: nothing is embedded there."""
REPEATS_FROM = 0.65
"""Cosine from which a text may repeat another: of 231 pairs with p(same) of .9 or more none lay below .69."""
JUDGED = 5
"""Texts with which a judge compares a new one."""
COMPARED = 800
"""Characters of the nearest memories that are compared with one new text: embedding them takes time."""


def with_current(
    workspace: Workspace,
    command: str,
    look: Callable[[Seen | None, float | None], Seen],
    decide: Callable[[Seen], tuple[Plan, Result]],
    seen: Seen | None = None,
) -> tuple[Result, Applied]:
    """Look at memory without the lock, decide and apply under it on what is current; return the result of `decide`.

    `look` gets what was seen last (`seen` at first) and the seconds that embedding may take (None: as long as a search
    may). Where another command changed memory between the look and the lock, or a file is no longer as a step expects
    it (an editor takes no lock), all is given up and begun again, in turn with other commands; the last look is made
    under the lock. `decide` returns a plan and its result and may be called again. What the plan confirms is noted once
    its steps are done.

    Raises what `look` and `decide` raise, BusyError where the lock is not had, and ChangedError where files
    change under each of the looks; nothing is done then.
    """
    for left in reversed(range(LOOKS)):
        with one_by_one(workspace, command):
            mark = change_mark(workspace)
            seen = look(seen, None)
            with exclusive(workspace, command) as held:
                if not held.has_seen(mark):
                    if left:
                        continue
                    seen = look(seen, LOCKED_LOOK)
                plan, result = decide(seen)
                try:
                    applied = apply(workspace, plan.steps, held)
                except ChangedError:
                    if left:
                        continue
                    raise
                access_log.confirm(workspace, plan.confirmed)
                note_said_again(workspace, plan.said_again)
        return result, applied
    raise AssertionError("unreachable")


def admit(
    workspace: Workspace,
    drafts: Sequence[Draft],
    command: str,
    judge: "LlmJudge | None" = None,
    *,
    by_key_alone: bool = False,
    begin: Callable[[Plan], object] = lambda _: None,
) -> Plan:
    """Admit drafts in their order, and return what became of each.

    With `by_key_alone` only what fills the same slot is looked at, and no model is opened. `begin` is called under the
    lock before anything is done, and may raise to have it left. Raises UsageError, RefusedError and BusyError, which
    leave everything as it was, but for an UnfinishedError.
    """
    heard = UNHEARD

    def decide(seen: Nearby) -> tuple[Plan, Plan]:
        plan = settle_drafts(workspace, seen, heard)
        begin(plan)
        return plan, plan

    seen = None
    if judge is not None and not by_key_alone:
        seen = look(workspace, drafts)
        heard = ask_judge(workspace, seen, judge)

    look_again = partial(look, workspace, drafts, by_key_alone=by_key_alone)
    return with_current(workspace, command, look_again, decide, seen)[0]


def look(
    workspace: Workspace,
    drafts: Sequence[Draft],
    last: Nearby | None = None,
    budget: float | None = None,
    *,
    keep: bool = True,
    by_key_alone: bool = False,
) -> Nearby:
    """Return what is near to drafts in the index as it is now; `last` spares embedding them again.

    `budget` is the time in seconds that entries without a vector may take; without `keep` no index is made.
    """
    entries = tuple(entry_of(workspace, draft) for draft in drafts)
    bodies = ["" if by_key_alone or not is_settled_here(entry) else entry.body for entry in entries]
    seen = replace(_looked(workspace, entries, bodies, last, budget, keep=keep), drafts=tuple(drafts), entries=entries)
    if seen.comparer.embedder is not None:
        seen.comparer.compare(_pairs(workspace, seen))
    return seen


def near_to(workspace: Workspace, entry: Entry) -> tuple[NearEntry, ...]:
    """Return what lies near to a memory that is to be kept as it is, the nearest first."""
    bodies = [entry.body if is_settled_here(entry) and is_comparable(entry.body) else ""]
    near = _looked(workspace, [entry], bodies, None, None, keep=True).near[0] if bodies[0].strip() else {}
    return Settlement(workspace).near_to(entry, near) if near else ()


def ask_judge(workspace: Workspace, seen: Nearby, judge: "LlmJudge") -> "Heard":
    """Ask a judge about every draft and what is nearest to it; takes as long as an LLM does, so not under a lock."""
    pairs: list[Pair] = []
    for entry, olds in _neighbours(workspace, seen, FLOOR):
        pairs += [(old, entry.body) for old in olds][:JUDGED]
    return judge.compare(pairs)


def settle_drafts(workspace: Workspace, seen: Nearby, heard: "Heard" = UNHEARD) -> Plan:
    """Decide about drafts by the files as they are now; for one who holds the lock and applies the plan.

    The verdicts of a judge hold for the texts it was shown.
    """
    return settle_batches(workspace, seen, [len(seen.drafts)], heard)[0]


def settle_batches(workspace: Workspace, seen: Nearby, sizes: Sequence[int], heard: "Heard") -> list[Plan]:
    """Decide about drafts of several conversations, so many of each; their plans are applied together.

    A file that several of them change belongs to the plan of the first.
    """
    settlement = Settlement(workspace, seen, heard[0])
    settlement.forgotten = read_forgotten(workspace, seen.forgotten)
    if workspace.is_trusted:
        settlement.forgotten += purged_files(workspace, {entry.body for entry in seen.entries})
    for draft, entry, near, before in zip(seen.drafts, seen.entries, seen.near, seen.before, strict=True):
        settlement.decide(draft, entry, near, before, is_open=is_settled_here(entry))
    notices = tuple(notice for notice in (seen.notice, seen.comparer.notice, *settlement.lifted) if notice)
    plans = [
        replace(settlement.plan(range(end - size, end)), unheard=heard[1])
        for size, end in zip(sizes, accumulate(sizes), strict=True)
    ]
    plans[0] = replace(plans[0], notices=notices, said_again=tuple(settlement.said_again))
    return plans


def _looked(
    workspace: Workspace,
    entries: Sequence[Entry],
    bodies: Sequence[str],
    last: Nearby | None,
    budget: float | None,
    *,
    keep: bool,
) -> Nearby:
    """Return what is near to the drafts that are beliefs; of long documents only exact twins."""
    texts = [(entry.type, body if is_comparable(body) else "") for entry, body in zip(entries, bodies, strict=True)]
    documents = {number: body for number, body in enumerate(bodies) if not is_comparable(body)}
    keys = [entry.key if is_settled_here(entry) else "" for entry in entries]
    barred = [entry.body for entry in entries] if workspace.has_archive else []
    if not any(bodies) and not any(keys) and not barred:
        return Nearby([{} for _ in texts], [{} for _ in texts])
    return look_around(workspace, texts, last, documents=documents, keys=keys, barred=barred, budget=budget, keep=keep)


def _pairs(workspace: Workspace, seen: Nearby) -> list[tuple[str, str]]:
    """Return every text with each that is compared with it: the nearest, as many as there is time to embed."""
    pairs = []
    for entry, olds in _neighbours(workspace, seen, REPEATS_FROM):
        room = COMPARED
        for old in olds:
            if room == COMPARED or len(old) <= room:
                room -= len(old)
                pairs.append((old, entry.body))
    return pairs


def _neighbours(workspace: Workspace, seen: Nearby, floor: float) -> Iterator[tuple[Entry, list[str]]]:
    """Yield every belief with the existing texts, and those of earlier drafts, that are as near to it as `floor`.

    Texts without a vector, which may be near, are included.
    """
    settlement = Settlement(workspace)
    for entry, near, before in zip(seen.entries, seen.near, seen.before, strict=True):
        if not is_settled_here(entry) or not is_comparable(entry.body):
            continue
        paths = [path for path, cosine in near.items() if cosine is None or cosine >= floor]
        files = [file.entry for file in map(settlement.current, paths) if file]
        olds = [*files, *(seen.entries[number] for number, cosine in before.items() if cosine >= floor)]
        yield entry, [old.body for old in olds if _is_open(old, entry)]


def _is_open(old: Entry, new: Entry) -> bool:
    """Return whether only their texts can show what two memories are to each other."""
    is_clear = says(old, new.body) or is_same_slot(old, new) or are_apart(old, new)
    return is_comparable(old.body) and not is_clear


def is_settled_here(entry: Entry) -> bool:
    """Return whether a memory is one belief among others: episodes stand for themselves."""
    return entry.type not in EPISODIC and entry.status == "active"
