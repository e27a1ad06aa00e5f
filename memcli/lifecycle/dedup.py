"""Tidy a whole workspace of memories that say the same: found by their vectors, judged by their words, in one plan.

The oldest of the most trusted stays and takes in the others, which are marked as superseded by it. Doing it again
finds nothing.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ..errors import MemError, UnavailableError
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.refresh import Progress
from ..store.entries import revised
from ..store.journal import Change
from ..store.workspace import Workspace
from ..text.entry import EPISODIC, read_entry
from ..text.frontmatter import parse
from ..text.summary import shorten
from ..text.times import stamp
from .beliefs import Thresholds, compare, plain, thresholds
from .claims.words import LIGHT
from .merging import are_of_one_kind, kind_of, merged_body, merged_fields
from .plan import Plan
from .supersession import Standing, standing, superseded_text

FEW = 30  # texts of the same words of which every pair is looked at
_ENTRIES = Filter(kinds=("entry",))
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Group:
    """Memories that say the same: the one that stays, and those it takes in."""

    kept: str
    merged: tuple[str, ...]
    says: str


@dataclass(frozen=True)
class Tidied:
    """What there is to tidy, and what could not be looked at."""

    plan: Plan
    groups: tuple[Group, ...] = ()
    notices: tuple[str, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Like:
    """Two entries that may say the same."""

    one: str
    other: str
    cosine: float


def dedup_plan(workspace: Workspace, progress: Progress | None = None) -> Tidied:
    """Propose to merge what says the same; what has no vector yet is embedded first."""
    rows, likes, notice, model = ask(workspace, lambda index: _looked(index, progress))
    by_path = {row["path"]: row for row in rows}
    files: dict[str, Standing | None] = {}
    problems: list[tuple[str, str]] = []

    def read(path: str) -> Standing | None:
        if path not in files:
            try:
                files[path] = standing(workspace, path)
            except MemError as error:
                files[path] = None
                problems.append((path, str(error)))
        return files[path]

    limits = thresholds(model)
    cosines: dict[frozenset[str], float] = {}
    for like in likes:
        pair = frozenset((like.one, like.other))
        cosines[pair] = max(like.cosine, cosines.get(pair, -1.0))
    groups: list[Group] = []
    steps: list[Change] = []
    for paths in _connected(cosines):
        members = [one for path in sorted(paths, key=lambda path: _rank(by_path[path])) if (one := read(path))]
        while members:
            kept, *others = members
            whole, taken = _gathered(workspace, kept, others, cosines, limits)
            members = [one for one in others if one not in taken]
            if not taken:
                continue
            steps.append(Change(kept.path, kept.text, whole.text))
            steps += [Change(one.path, one.text, superseded_text(workspace, one, kept.entry.id)) for one in taken]
            ids = tuple(one.entry.id for one in taken)
            groups.append(Group(kept.entry.id, ids, shorten(whole.entry.body, 120)))
    reasons = tuple(f"{group.kept} takes in {', '.join(group.merged)}: {group.says}" for group in groups)
    return Tidied(Plan(tuple(steps), reasons), tuple(groups), (notice,) if notice else (), tuple(problems))


@dataclass(frozen=True)
class _Text:
    """An active entry's text, and what must agree for it to be another one's."""

    path: str
    text: str
    apart: tuple[str, str]  # kind and project

    @property
    def bag(self) -> tuple[str, ...]:
        """Give the words that say something, roughly stemmed, in no order."""
        return tuple(sorted([word.rstrip("s") for word in _WORD.findall(self.text.casefold()) if word not in LIGHT]))

    @property
    def digits(self) -> tuple[str, ...]:
        """Give its numbers."""
        return tuple(sorted(_DIGITS.findall(self.text)))


def _looked(index: Index, progress: Progress | None) -> tuple[list[dict[str, Any]], list[_Like], str, str]:
    """Gather the active entries and the pairs among them worth a judgement."""
    index.refresh()
    rows = [row for row in index.list_entries(_ENTRIES, "path") if row["type"] not in EPISODIC]
    by_file = {row["file"]: row for row in rows}
    found = index.connection.execute(
        "select chunk, chunks.file, substr(text, start + 1, stop - start) from chunks join texts using(file)"
        " where chunks.kind = 'entry' and chunks.status = 'active'"
        " and 1 = (select count(*) from chunks as other where other.file = chunks.file)"
    )
    texts = {
        chunk: _Text(by_file[file]["path"], text, (kind_of(by_file[file]["type"]), by_file[file]["project"]))
        for chunk, file, text in found
        if file in by_file
    }
    notice, model = "", ""
    try:
        index.embedding.embed_missing(None, wanted=_ENTRIES, progress=progress)
        model = index.meta("model") or ""
    except UnavailableError as error:
        notice = f"comparing words alone: {error}"
    likes = [*_twins(index, by_file), *_same_words(index, texts), *(_alike(index, texts, model) if model else ())]
    return rows, likes, notice, model


def _twins(index: Index, by_file: Mapping[int, Mapping[str, Any]]) -> Iterable[_Like]:
    """Pair the documents of several chunks that say the same word for word."""
    found = index.connection.execute(
        "select file, text from texts where file in"
        " (select file from chunks where kind = 'entry' and status = 'active' group by file having count(*) > 1)"
    )
    same: dict[tuple[str, str, str], str] = {}
    for file, text in found:
        if row := by_file.get(file):
            first = same.setdefault((kind_of(row["type"]), row["project"], plain(parse(text).body)), row["path"])
            if first != row["path"]:
                yield _Like(first, row["path"], 1.0)


def _same_words(index: Index, texts: Mapping[int, _Text]) -> Iterable[_Like]:
    """Pair the texts that are made of the same words, whatever their order and endings."""
    from ..index.pairs import cosines_of

    same: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for chunk, text in texts.items():
        same[text.apart + text.bag].append(chunk)
    # Every pair, since nobody knows yet which of them is kept; of very many alike, each with the first.
    pairs = [
        pair
        for chunks in same.values()
        for pair in (combinations(chunks, 2) if len(chunks) <= FEW else ((chunks[0], one) for one in chunks[1:]))
    ]
    for (one, other), cosine in zip(pairs, cosines_of(index, pairs, _ENTRIES), strict=True):
        yield _Like(texts[one].path, texts[other].path, cosine)


def _alike(index: Index, texts: Mapping[int, _Text], model: str) -> Iterable[_Like]:
    """Pair the texts that are near enough and speak of the same numbers."""
    from ..index.pairs import similar_pairs

    digits: dict[int, tuple[str, ...]] = {}
    for pair in similar_pairs(index, thresholds(model).detail, _ENTRIES):
        one, other = texts.get(pair[0]), texts.get(pair[1])
        if one is None or other is None or one.apart != other.apart:
            continue
        for chunk, text in ((pair[0], one), (pair[1], other)):
            if chunk not in digits:
                digits[chunk] = text.digits
        if digits[pair[0]] == digits[pair[1]]:
            yield _Like(one.path, other.path, pair[2])


def _connected(pairs: Iterable[frozenset[str]]) -> list[list[str]]:
    """Gather what hangs together by any pairs."""
    root: dict[str, str] = {}

    def top(path: str) -> str:
        while root.setdefault(path, path) != path:
            root[path] = root[root[path]]
            path = root[path]
        return path

    for pair in pairs:
        one, *rest = sorted(pair)
        for other in rest:
            root[top(other)] = top(one)
    found: dict[str, list[str]] = defaultdict(list)
    for path in root:
        found[top(path)].append(path)
    return sorted(sorted(paths) for paths in found.values())


def _rank(row: Mapping[str, Any]) -> tuple[float, str, str]:
    return -row["trust"], row["created_at"], row["path"]


def _gathered(
    workspace: Workspace,
    kept: Standing,
    others: Sequence[Standing],
    cosines: Mapping[frozenset[str], float],
    limits: Thresholds,
) -> tuple[Standing, list[Standing]]:
    """Let an entry take in those that say the same as it does, until no more do."""
    whole, taken = kept, []
    waiting = list(others)
    grown = True
    while grown:
        grown = False
        for one in list(waiting):
            cosine = cosines.get(frozenset((kept.path, one.path)))
            if not are_of_one_kind(whole.entry.type, one.entry.type):
                continue
            if whole.entry.title and one.entry.title and plain(whole.entry.title) != plain(one.entry.title):
                continue
            verdict = compare(whole.entry.body, one.entry.body, cosine, limits)
            if verdict.kind != "same" or not verdict.sure:
                continue
            body = merged_body(whole.entry.body, one.entry.body)
            told = merged_fields(whole.entry, one.entry, stamp(workspace.now))
            text = revised(workspace, whole.path, whole.text, told, None if body == whole.entry.body else body)
            whole = Standing(whole.path, text, read_entry(parse(text), whole.path, workspace.now)[0])
            taken.append(one)
            waiting.remove(one)
            grown = True
    return whole, taken
