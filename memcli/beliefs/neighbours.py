"""Find the memories that a new text may repeat or contradict: exact twins, the nearest in meaning, those of its words.

Also what the learned comparison says of them. Takes no lock and decides nothing. Without a model, words and
twins are what is left, and that is said.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from .. import data
from ..dataclass import dataclass
from ..errors import UnavailableError
from ..formats.entry import same_key
from ..formats.text_lines import STOPS, normalized
from ..index.filters import Filter
from ..index.index import Index, ask, ask_readonly
from ..index.lookups import (
    entries_holding,
    forgotten_saying,
    has_chunk_of_type,
    has_forgotten,
    keys_in_use,
    paths_of_chunks,
    sharing_words,
)
from ..index.text_vectors import ReadTexts
from ..store.workspace import Workspace

if TYPE_CHECKING:
    from ..formats.entry import Entry
    from ..index.text_vectors import Embedder
    from .plan import Draft


Kind = Literal["same", "update", "conflict", "distinct"]

LONGEST = 1500
"""Characters of a text that is compared with others; a longer one is a document, of which only twins are known."""
KNOWN = 2048
"""Texts whose words are remembered: each is compared with several others."""


@dataclass(frozen=True)
class Verdict:
    """What a new text is to an old one; `sure` where it may act by itself."""

    kind: Kind
    sure: bool = False
    reason: str = ""
    by_llm: bool = False


DISTINCT = Verdict("distinct")


def is_comparable(text: str) -> bool:
    """Return whether a text is short enough to be a belief and no document."""
    return len(text) <= LONGEST


def are_twins(left: str, right: str) -> bool:
    """Return whether two texts are the same but for white space, letter case and closing full stops.

    The case of a flag, a path, an identifier or a unit counts: `-v` is not `-V`, and 5 Mb are not 5 MB.
    """
    if normalized(left) != normalized(right):
        return False
    ours, theirs = (" ".join(text.split()).rstrip(STOPS).split() for text in (left, right))
    return all(
        a == b or not _is_exact(a, ours[number - 1] if number else "")
        for number, (a, b) in enumerate(zip(ours, theirs, strict=False))
    )


def _is_exact(word: str, before: str) -> bool:
    """Return whether the letter case of a word counts."""
    inner = word.strip(".,;:!?()\"'")
    is_unit = len(inner) < 4 and before[-1:].isdigit() and inner.lower().replace(".", "") not in ("am", "pm")
    return is_unit or word.startswith("-") or any(sign.isdigit() or sign in "_/\\=$@" for sign in inner)


_TOKEN = re.compile(r"\w[\w.:/@+#'-]*\w[+#%]*|\w[+#%]*")
_REJECTED = re.compile(r",?\s+(?:(?:and|but)\s+)?(?:not|rather than|instead of|no longer|nicht)\s+", re.IGNORECASE)
_FILLER = re.compile(r"(?:(?:sorry|oh|ah|ok|okay|no|hm+|please note|note)\b[\s,.:!–-]*)+", re.IGNORECASE)
_FORMS = {"is": "be", "are": "be", "am": "be", "was": "be", "were": "be", "has": "have", "had": "have"}
_FORMS |= {"does": "do", "did": "do"}


def correction_in(text: str) -> str:
    """Return what follows "Correction:" and the like; empty where a text does not begin with it."""
    start = text.lstrip("*_ ")
    start = start[filler.end() :] if (filler := _FILLER.match(start)) else start
    opening = next((opening for opening in _listed("openings") if start.lower().startswith(opening)), "")
    return start[len(opening) :].strip("*_ ,:–—-") if opening else ""


def is_correction_of(new: str, old: str) -> bool:
    """Return whether a text that begins with "Correction:" is an old statement with another value, or its denial."""
    correction = correction_in(new)
    if not correction or not is_comparable(old):
        return False
    stated, negations = _words(old), _listed("negations")
    sides = stated, _words(correction)
    bare = [tuple(word for word in side if word not in negations and word != "do") for side in sides]
    if bare[0] == bare[1] and len(bare[0]) > 1:
        return len({sum(word in negations for word in side) % 2 for side in sides}) == 2
    claim, *rejected = _REJECTED.split(correction, maxsplit=1)
    claimed = _words(claim)
    first = _shared(stated, claimed)
    last = min(_shared(stated[::-1], claimed[::-1]), min(len(stated), len(claimed)) - first)
    ours, theirs = stated[first : len(stated) - last], claimed[first : len(claimed) - last]
    links = frozenset(_listed("links"))
    if first < 1 or not ours or not theirs or not links.isdisjoint(ours[:-1] + theirs[:-1]):
        return False
    if rejected:  # what it puts aside is the old value, and nothing else
        return set(ours) - links <= set(_words(rejected[0]))
    return first > 1 and not links.isdisjoint(stated[1:first])


@lru_cache(maxsize=KNOWN)
def _words(text: str) -> tuple[str, ...]:
    """Return the words of a statement in one form each, without those that never make it another one."""
    plain = text.lower().replace("’", "'").replace("can't", "can not").replace("won't", "will not")
    light = _listed("light")
    forms = (_FORMS.get(word, word) for word in _TOKEN.findall(plain.replace("n't", " not")))
    content = (word for word in forms if word not in light)
    return tuple(word.removesuffix("s") if len(word) > 3 and word.isalpha() else word for word in content)


def _shared(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    """Return how many words two statements begin with."""
    most = min(len(left), len(right))
    return next((number for number in range(most) if left[number] != right[number]), most)


@cache
def _listed(name: str) -> tuple[str, ...]:
    words: list[str] = data.table("corrections.toml")[name]
    return tuple(words)


FLOOR = 0.4
"""Cosine below which texts are not compared: of the pairs to train on, 4 in 100 of the updates lie below."""
ALIKE = 0.72
"""Cosine from which a text may say in other words what was forgotten: 58 of 60 paraphrases, 2 of 60 that are near."""
NEAREST = 5  # in 16 of 16 cases the contradicted memory was among these
NEAREST_IN_BULK = 2  # of 140 pairs of which one repeats or contradicts the other, 138 were so near among 1,500 texts
BY_WORDS = 3
READ = 100_000  # characters of texts whose word pieces are read with their vectors, in one pass: 25,000 pieces, 40 MB
BACKLOG = 20  # conversations from which on their texts are compared with fewer neighbours
MANY = 200  # texts from which on the model is opened for bulk
ALONE = 20  # texts looked up one by one, by their words too; of more, only the meaning is asked
_EMBEDDED = 64  # texts whose tokens are held at once
_ENTRIES = Filter(kinds=("entry",), managed=True)
_ARCHIVED = Filter(kinds=("entry",), statuses=("archived",), managed=True)
_FORGOTTEN = Filter(kinds=("entry",), statuses=(), forgotten=True, managed=True)


def is_learned_for(embedding: str) -> bool:
    """Return whether a comparison was learned for an embedding model, and can be opened."""
    from .pair_model import load_pair_model  # numpy, when the embedder has said how many threads it may have

    try:
        load_pair_model(embedding)
    except UnavailableError:
        return False
    return True


def _batches(by_new: Mapping[str, Collection[str]]) -> Iterator[list[str]]:
    """Part new texts so that the tokens of a part and its neighbours are held at once."""
    batch: list[str] = []
    count = 0
    for new, olds in by_new.items():
        batch.append(new)
        count += 1 + len(olds)
        if count >= _EMBEDDED:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch


@dataclass
class Comparer:
    """The models that compare texts, and what they have read, for one look or many."""

    in_bulk: bool = False  # each look has to be cheap
    remembers: bool = False  # others are looked for after these: their vectors are kept in the index
    embedder: "Embedder | None" = None
    texts: ReadTexts = field(default_factory=ReadTexts)
    repeats: dict[tuple[str, str], float] = field(default_factory=dict)  # (old, new) → how likely both say the same
    notice: str = ""  # why nothing is learned for this embedding model

    @classmethod
    def for_many(cls, count: int) -> "Comparer":
        """Return what so many conversations are looked up with."""
        in_bulk = count >= BACKLOG
        return cls(in_bulk, remembers=True, texts=ReadTexts(in_bulk=in_bulk))

    def compare(self, pairs: Collection[tuple[str, str]]) -> None:
        """Find how likely each pair says the same; neither pairs nor texts of the look before are read again."""
        self.repeats = {pair: self.repeats[pair] for pair in pairs if pair in self.repeats}
        missing = dict.fromkeys(pair for pair in pairs if pair not in self.repeats)
        if not missing or self.notice or self.embedder is None:
            return

        from .pair_model import load_pair_model

        try:
            model = load_pair_model(self.embedder.model)
        except UnavailableError as error:
            self.notice = str(error)
            return
        by_new: dict[str, list[str]] = {}
        for old, new in missing:
            by_new.setdefault(new, []).append(old)
        for batch in _batches(by_new):
            read = self.texts.read(self.embedder, (text for new in batch for text in (new, *by_new[new])))
            batch_pairs = [(old, new) for new in batch for old in by_new[new]]
            likelihoods = model.repeats([(read[old], read[new]) for old, new in batch_pairs])
            self.repeats |= dict(zip(batch_pairs, likelihoods, strict=True))


@dataclass
class Nearby:
    """What one look around found for texts; the model and the vectors serve a second look."""

    near: list[dict[str, float | None]]  # for each text: path of an entry → its cosine; None: no vector tells
    before: list[dict[int, float]]  # for each text: number of an earlier text → cosine
    drafts: tuple["Draft", ...] = ()
    entries: tuple["Entry", ...] = ()  # as the drafts would be made
    forgotten: tuple[str, ...] = ()  # paths of forgotten entries that say one of the texts
    faded: Mapping[str, str] = field(default_factory=dict)  # text → path of an archived entry that says exactly it
    alike: tuple[Mapping[str, float], ...] = ()  # for each text: path of a forgotten entry → its cosine, at least ALIKE
    notice: str = ""
    comparer: Comparer = field(default_factory=Comparer)  # asked before the lock is taken
    vectors: Any = None  # (texts, dimensions) float32, unit rows; None where nothing was embedded


def look_around(
    workspace: Workspace,
    typed_texts: Sequence[tuple[str, str]],
    last: Nearby | None,
    *,
    documents: Mapping[int, str],
    keys: Sequence[str],
    barred: Sequence[str],
    budget: float | None,
    keep: bool,
) -> Nearby:
    """Look up every type and text in the index as the disk is now; `last` spares opening the model and embedding again.

    `documents` are texts too long to be compared, by their number, where the given text is empty: only what holds
    all of one is found. `keys` are what the texts fill; what fills the same is found whatever it says.
    `barred` are texts that may have been forgotten. `budget` is the time in seconds that entries without a vector may
    take; None: as long as a search would take. Without `keep` no index is made where there is none.
    """
    seconds = workspace.settings["search.embed_budget"] if budget is None else budget
    return (ask if keep else ask_readonly)(
        workspace, lambda index: _look(index, typed_texts, documents, keys, barred, last, seconds)
    )


def _look(
    index: Index,
    typed_texts: Sequence[tuple[str, str]],
    documents: Mapping[int, str],
    keys: Sequence[str],
    barred: Sequence[str],
    last: Nearby | None,
    seconds: float,
) -> Nearby:
    from ..index.similarity import twins

    index.refresh()
    texts = [text for _, text in typed_texts]
    exact = twins(index, texts, _ENTRIES)
    nearby = Nearby([{} for _ in texts], [{} for _ in texts])
    if barred:
        nearby.forgotten = tuple(forgotten_saying(index, barred))
        archived = twins(index, barred, _ARCHIVED)
        paths = paths_of_chunks(index, {chunk for chunks in archived.values() for chunk in chunks})
        nearby.faded = {text: paths[chunk] for text, chunks in archived.items() for chunk in chunks if chunk in paths}
    cosines: list[dict[int, float | None]] = [dict.fromkeys(exact.get(text, ()), 1.0) for text in texts]
    if last is not None:
        nearby.comparer, nearby.vectors = last.comparer, last.vectors
    if not all(not text or has_chunk_of_type(index, kind, exact.get(text, ())) for kind, text in typed_texts):
        is_few = len(texts) <= ALONE and not nearby.comparer.in_bulk
        by_words = [sharing_words(index, text, _ENTRIES, BY_WORDS) if is_few else [] for text in texts]
        try:
            _by_meaning(index, texts, by_words, cosines, nearby, seconds)
            nearby.alike = _alike(index, nearby.vectors, seconds) if barred else ()
        except UnavailableError as error:
            nearby.notice = f"looking for duplicates by words alone: {error}"
        for row, words in zip(cosines, by_words, strict=True):
            for chunk in words:
                row.setdefault(chunk, None)
    paths = paths_of_chunks(index, {chunk for row in cosines for chunk in row})
    nearby.near = [_named(row, paths) for row in cosines]
    for number, text in documents.items():
        nearby.near[number] = dict.fromkeys(entries_holding(index, text), 1.0)
    if any(keys):
        paths_by_key: dict[str, list[str]] = {}
        for key, path in keys_in_use(index):
            paths_by_key.setdefault(same_key(key), []).append(path)
        for near, key in zip(nearby.near, keys, strict=True):
            near |= dict.fromkeys(paths_by_key.get(same_key(key), ()) if key else ())
    return nearby


def _by_meaning(
    index: Index,
    texts: Sequence[str],
    by_words: Sequence[Sequence[int]],
    cosines: list[dict[int, float | None]],
    nearby: Nearby,
    seconds: float,
) -> None:
    from ..index.similarity import nearest_before, nearest_to_each

    comparer = nearby.comparer
    if comparer.in_bulk and comparer.embedder is not None:
        seconds = 0.0  # the first of many has done what it had time for, and what these make is remembered
    if comparer.embedder is None or comparer.embedder.model != index.embedding.model():  # another one answers by now
        comparer.embedder = index.embedding.embedder(bulk=comparer.in_bulk or len(texts) > MANY)
        comparer.texts, nearby.vectors = ReadTexts(in_bulk=comparer.in_bulk or len(texts) > MANY), None
        comparer.repeats, comparer.notice = {}, ""
    index.embedding.lend(comparer.embedder)
    index.embedding.embed_missing(seconds, frozenset(chunk for words in by_words for chunk in words), _ENTRIES)
    if nearby.vectors is None:
        if (sum(map(len, texts)) <= READ or comparer.in_bulk) and is_learned_for(comparer.embedder.model):
            nearby.vectors = comparer.texts.vectors(comparer.embedder, texts)
        else:
            nearby.vectors = comparer.embedder.embed(texts)
        if len(texts) > 1 or comparer.remembers:
            index.embedding.remember(texts, nearby.vectors)
    count = NEAREST_IN_BULK if comparer.in_bulk else NEAREST
    nearby.before = nearest_before(nearby.vectors, count, index.embedding.scale())
    if len(texts) > ALONE or comparer.in_bulk:
        for row, near in zip(cosines, nearest_to_each(index, nearby.vectors, _ENTRIES, count), strict=True):
            row.update(near)
        return
    for row, words, vector in zip(cosines, by_words, nearby.vectors, strict=True):
        near, named = index.embedding.nearest(vector, _ENTRIES, NEAREST, tuple(words))
        row.update(near)
        row.update(named)


def _alike(index: Index, vectors: Any, seconds: float) -> tuple[Mapping[str, float], ...]:
    """Return for each vector the forgotten entries that are near enough to be the same in other words."""
    from ..index.similarity import nearest_to_each

    if not has_forgotten(index):
        return ()
    index.embedding.embed_missing(seconds, wanted=_FORGOTTEN)
    rows = nearest_to_each(index, vectors, _FORGOTTEN, NEAREST_IN_BULK)
    rows = [{chunk: cosine for chunk, cosine in row.items() if cosine >= ALIKE} for row in rows]
    paths = paths_of_chunks(index, {chunk for row in rows for chunk in row})
    return tuple({paths[chunk]: cosine for chunk, cosine in row.items() if chunk in paths} for row in rows)


def _named(row: Mapping[int, float | None], paths: Mapping[int, str]) -> dict[str, float | None]:
    """Return the files of chunks with the best cosine of each, the nearest first."""
    best: dict[str, float | None] = {}
    for chunk, cosine in row.items():
        path = paths.get(chunk)
        if path is not None:
            best_cosine = best.get(path)
            best[path] = cosine if best_cosine is None else best_cosine if cosine is None else max(best_cosine, cosine)
    return dict(sorted(best.items(), key=lambda item: -1.0 if item[1] is None else -item[1] - 2.0))
