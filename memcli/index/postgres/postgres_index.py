"""The index of a shared workspace: what is on this machine answers from here, what only others have from the server.

The index on this machine is whole and the server's words and vectors are made from such indexes, so that a text ranks
alike whichever of both has it. Chunks and files that only the server has are numbered from `_FIRST` on.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from ...formats.entry_fields import WORDING
from ..database import MovedError
from ..embeddings import MOST_CHUNKS, Embedding
from ..filters import Filter, TheirFile, Where, beginning, chunk_condition, is_prefix, stems_of
from ..index import Index, Piece
from .connection import HalfVector, ServerError, server_of, unit_vector
from .push import BATCH, Exchange

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..filters import Posting
    from ..updater import Progress

    Posted = dict[str, tuple[NDArray[Any], NDArray[Any]]]
    """Word → the chunks that have it, as this index numbers them, and its count in each."""

T = TypeVar("T")
_FIRST = 1 << 40
MOST_CANDIDATES = 100_000  # chunks of the server that the words of a question choose
_GLOB = re.compile(r"([\w.]+(?:\([\w.]+\))?) glob \?")
_OF_PIECE = ("path", "anchor", "line", "title", "text", "timestamp", "is_whole", "kind", "status")
_LISTS = {"aliases", "conflicts_with", "tags", "verdicts"}
_LAST = "\U0010ffff"
_JOINED = " cross join lateral (select {} where {} offset 0) as joined"
"""Join one row to each of a few chunks; without `offset 0` the planner, left to choose, may read all there are."""
_WITH_FILE = _JOINED.format("path, entry from files", "workspace = chunks.workspace and file = chunks.file")
_WITH_VECTOR = _JOINED.format(
    "vector from embeddings", "workspace = chunks.workspace and model = %s and hash = chunks.hash"
)


class _PartOfPosting(dict[int, float]):
    """The counts of a word in the chunks that can be found; its length is the number of all that have the word."""

    def __init__(self, counts: "Posting", size: int) -> None:
        super().__init__(counts)
        self._size = max(size, super().__len__())

    def __len__(self) -> int:
        return self._size


def _chosen(posted: "Posted") -> "Posted":
    """Return where words stand in `MOST_CANDIDATES` chunks at most: the rarest choose these, the others among them."""
    import numpy as np

    among: Posted = {}
    chosen = np.array([], np.int64)
    for term in sorted(posted, key=lambda term: (len(posted[term][0]), term)):
        chunks, counts = posted[term]
        passing = np.isin(chunks, chosen)
        more = np.flatnonzero(~passing)
        best = more[np.lexsort((-chunks[more], -counts[more]))[: MOST_CANDIDATES - len(chosen)]]
        passing[best] = True
        chosen = np.concatenate([chosen, chunks[best]])
        among[term] = chunks[passing], counts[passing]
    return among


def _added(posted: "Posted", terms: Iterable[str]) -> "Posting":
    """Return the counts of words by chunk, added up."""
    added = Counter[int]()
    for term in terms:
        if term in posted:
            added.update(dict(zip(*(values.tolist() for values in posted[term]), strict=True)))
    return added


class PostgresIndex(Index):
    """The index of one workspace, open for one command, with the server beside it."""

    _exchange: Exchange | None = None
    _failure: ServerError | None = None
    _has_reached = False  # what others have was looked for; once for all searches of a question
    _theirs: Sequence[int] = ()  # files that only others have
    _ours: Sequence[int] = ()  # the other files of the server
    _listed: "NDArray[Any] | None" = None  # the chunks of the fewer of both

    @property
    def embedding(self) -> "TeamEmbedding":
        """Return the vectors of the index; their modules are loaded when first used."""
        if not isinstance(self._embedding, TeamEmbedding):
            self._embedding = TeamEmbedding(self)
        return self._embedding

    def exchange(self) -> Exchange:
        """Return what this machine and the server have in common; raise ServerError, the same for one command."""
        if self._failure is not None:
            raise self._failure
        if self._exchange is None:
            self._exchange = self.tried(lambda: Exchange(self, server_of(self.workspace.settings)))
        return self._exchange

    def detach(self) -> None:
        """Continue in a copy in memory, which no other process changes and which is not kept."""
        super().detach()
        self._exchange = None

    def tried(self, work: Callable[[], T]) -> T:
        """Return what work with the server returns; after one failure the command does without the server."""
        try:
            return work()
        except ServerError as error:
            self._failure, self._theirs = error, ()
            self.failure = str(error)
            raise

    def reach_others(self) -> None:
        """Find from now on what others pushed and is not here, and take from the server what is gone here.

        `failure` tells why the server cannot be had.
        """
        if self._has_reached:
            return
        self._has_reached = True
        with suppress(ServerError):
            exchange = self.exchange()
            self.tried(exchange.catch_up)
            self._theirs, self._ours = self.tried(exchange.others)

    def their_files(self, names: Collection[str] | None = None, limit: int = 100) -> list[TheirFile]:
        """Return the files that only others have, by path, by id or the last six characters of one.

        Without names return the active entries that changed last.
        """
        if not self._theirs or self._exchange is None or (names is not None and not names):
            return []
        identifier = "entry ->> 'id'"
        named = f"(path = any(%s) or {identifier} = any(%s) or right({identifier}, 6) = any(%s))"
        newest = "entry is not null and status = 'active'"
        rows = self.ask_server(
            "select path, kind, digest, entry, (select string_agg(text, E'\\n\\n' order by chunk) from chunks"
            " where chunks.workspace = files.workspace and chunks.file = files.file and anchor <> %s) from files"
            f" where workspace = %s and file = any(%s::bigint[]) and"
            f" {named if names else newest}"
            " order by entry ->> 'updated_at' desc nulls last limit %s",
            (WORDING, self._exchange.workspace, self._theirs, *[list(names or ())] * (3 if names else 0), limit),
        )
        rows = [(*row[:3], {} if row[3] is None else self._sound(row[3]), row[4] or "") for row in rows]
        return [TheirFile(*row) for row in rows if row[3] is not None]

    def ask_server(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return rows of the server; none where it fails, which `failure` tells."""
        try:
            exchange = self.exchange()
            return self.tried(lambda: exchange.server.run(query, values))
        except ServerError:
            return []

    def scope(self, wanted: Filter | None = None) -> Where | None:
        """Return the condition on the server's chunks that only others have and pass a filter; None if none can."""
        if not self._theirs or self._exchange is None or (wanted and wanted.forgotten):
            return None
        where = Where(["chunks.workspace = %s"], [self._exchange.workspace])
        if self._ours:
            is_shorter = len(self._theirs) <= len(self._ours)
            where.parts.append("chunks.file = any(%s::bigint[])" if is_shorter else "chunks.file <> all(%s::bigint[])")
            where.values.append(list(self._theirs if is_shorter else self._ours))
        if wanted:
            passing = chunk_condition(replace(wanted, managed=False))  # nothing else is pushed
            where.parts.append(_GLOB.sub(r"glob(\1, ?)", str(passing)).replace("?", "%s"))
            where.values += passing.values
        return where

    def chunk_count(self) -> int:
        """Return the number of chunks, those that only others have included."""
        return super().chunk_count() + (self._exchange.count(self._theirs) if self._theirs and self._exchange else 0)

    def documents(self, wanted: Filter, among: Collection[int] | None = None) -> dict[int, int]:
        """Map each chunk that passes the filter, and is in `among` if given, to the number of its document."""
        documents = super().documents(wanted, among)
        where = self.scope(wanted)
        theirs = [chunk - _FIRST for chunk in among or () if chunk >= _FIRST]
        if where is None or (among is not None and not theirs):
            return documents
        if among is not None:
            where.parts.append("chunk = any(%s::bigint[])")
            where.values.append(theirs)
        rows = self.ask_server(f"select chunk, file, kind from chunks where {where}", where.values)
        return documents | {
            _FIRST + chunk: _FIRST + file if kind == "entry" else -_FIRST - chunk for chunk, file, kind in rows
        }

    def postings(self, terms: Sequence[tuple[str, ...]]) -> "list[Posting]":
        """Return for each word, given in its forms, its count by chunk."""
        postings = super().postings(terms)
        if not self._theirs:
            return postings
        stems = stems_of(self.connection, terms)
        asked = dict(zip(map(tuple, stems), zip(postings, terms, strict=True), strict=True))
        held = self._posted("term = any(%s)", [list({*chain(*asked)})])
        chosen = _chosen(held)
        by_stem: dict[str, Posting] = {"": {}}
        for each, (own, term) in asked.items():
            if each[0] not in by_stem:
                theirs = self._beginning_so(each[0]) if is_prefix(term) else _added(chosen, each)
                size = len({*chain(*(held[stem][0].tolist() for stem in each if stem in held))})
                by_stem[each[0]] = _PartOfPosting({**own, **theirs}, len(own) + size)
        return [by_stem[each[0]] for each in stems]

    def alike_postings(self, word: str) -> "Posting":
        """Return the count by chunk of the words that begin as a word does and differ at the end."""
        begins = beginning(word) if self._theirs else ""
        theirs = self._beginning_so(begins, len(word) + 3) if begins else {}
        return {**super().alike_postings(word), **theirs}

    def _beginning_so(self, begins: str, longest: int = 1000) -> "Posting":
        condition = f"term >= %s and term < %s and length(term) <= %s limit {MOST_CANDIDATES}"
        held = self._posted(condition, [begins, begins + _LAST, longest])
        return _added(held, held)

    def _posted(self, condition: str, values: Sequence[Any]) -> "Posted":
        """Return where the words stand that pass a condition, in what only others have, with their counts."""
        assert self._exchange
        query = f"select term, block, postings from words where workspace = %s and {condition}"
        rows = self.ask_server(query, (self._exchange.workspace, *values))
        if not rows:
            return {}
        import numpy as np

        shorter = min(self._theirs, self._ours, key=len)
        if self._ours and self._listed is None:
            of_files = "select chunk from chunks where workspace = %s and file = any(%s::bigint[])"
            listed = self.ask_server(of_files, (self._exchange.workspace, list(shorter)))
            self._listed = np.array([chunk for (chunk,) in listed], np.int64)
        blocks: dict[str, list[Any]] = {}
        for term, block, data in rows:  # see data/postgres/003.sql
            blocks.setdefault(term, []).append(np.frombuffer(data, ">u2").astype(np.int64) + (block << 16))
        posted = {}
        for term, each in blocks.items():
            chunks, counts = np.divmod(np.concatenate(each), 64)
            if self._listed is not None:
                passing = np.isin(chunks, self._listed, invert=shorter is self._ours)
                chunks, counts = chunks[passing], counts[passing]
            posted[term] = chunks + _FIRST, counts
        return posted

    def _read_pieces(self, chunks: Collection[int]) -> dict[int, Piece]:
        theirs = [chunk - _FIRST for chunk in chunks if chunk >= _FIRST]
        here = [chunk for chunk in chunks if chunk < _FIRST]
        pieces = super()._read_pieces(here) if here or not theirs else {}
        if theirs and self._exchange:
            rows = self.ask_server(
                f"select chunk, file, {', '.join(_OF_PIECE)}, entry from chunks{_WITH_FILE}"
                " where workspace = %s and chunk = any(%s::bigint[])",
                (self._exchange.workspace, theirs),
            )
            for chunk, file, *values, entry in rows:
                about = dict(zip(_OF_PIECE, values, strict=True))
                fields = self._sound(entry) if about["kind"] == "entry" else {}
                if fields is None:
                    continue
                pieces[_FIRST + chunk] = Piece(
                    chunk=_FIRST + chunk, file=_FIRST + file, entry=fields, is_here=False, **about
                )
        return pieces

    def _sound(self, entry: object) -> dict[str, Any] | None:
        """Return an entry of the server with what this version of mem knows of one; None for what is none."""
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            return None
        sound: dict[str, Any] = {}
        for _, name, kind, *_ in self.connection.execute("pragma table_info(entries)"):
            value = entry.get(name)
            if name in _LISTS:
                sound[name] = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
            elif kind.lower() == "text":
                sound[name] = value if isinstance(value, str) else None if value is None and name in entry else ""
            else:
                is_number = isinstance(value, int | float) and abs(value) < _FIRST
                sound[name] = value if is_number else 0.0 if name == "trust" else None
        return sound

    def _confirmations(self) -> dict[str, tuple[int, str]]:
        """Add what other machines counted and have not brought into the files yet."""
        confirmed = super()._confirmations()
        if self._exchange is not None:
            for identifier, count, last in self._exchange.confirmed():
                own, own_last = confirmed.get(identifier, (0, ""))
                confirmed[identifier] = own + count, max(own_last, last)
        return confirmed


class TeamEmbedding(Embedding):
    """The vectors of a shared workspace: what somebody has embedded is fetched, what is embedded here is pushed."""

    index: PostgresIndex

    def embed_missing(
        self,
        seconds: float | None,
        first: Collection[int] = (),
        wanted: Filter | None = None,
        progress: "Progress | None" = None,
    ) -> int:
        """Embed what has no vector here or on the server, within a time, and push what has changed.

        Return how many are left. Raise UnavailableError if the model is missing, or the vectors are of another one.
        """
        started = time.monotonic()
        try:
            return super().embed_missing(seconds, first, wanted, progress)
        except MovedError:
            seconds = 0
            raise
        finally:  # without a model too: what is withheld goes from the server
            if self.index.folder is not None and not self.index.failure and seconds != 0:
                remaining = None if seconds is None else max(0.0, seconds - (time.monotonic() - started))
                if remaining is None or remaining > 0:
                    self._push(remaining)

    def _push(self, seconds: float | None) -> None:
        with suppress(ServerError):  # `failure` tells
            exchange = self.index.exchange()
            self.index.pushed += self.index.tried(lambda: exchange.push(seconds))
            self.index.withheld = tuple(exchange.withheld)
            self.index.behind = exchange.behind() if seconds is None else 0

    def _without_vector(self, where: Where) -> list[int]:
        missing = super()._without_vector(where)
        if missing and self.index.folder is not None and not self.index.failure:
            self._fetch(missing)
            missing = super()._without_vector(where)
        return missing

    def _fetch(self, chunks: Sequence[int]) -> None:
        """Take vectors of texts that somebody has embedded in this workspace.

        None of others: whoever shares another one could give a text of this one a vector that is not its own.
        """
        run = self.index.connection.execute
        try:
            exchange = self.index.exchange()
        except ServerError:  # `failure` tells
            return
        asked: set[bytes] = set()
        for start in range(0, len(chunks), BATCH):
            among = ", ".join(map(str, chunks[start : start + BATCH]))
            hashes = {hash_ for (hash_,) in run(f"select hash from chunks where chunk in ({among})")} - asked
            asked |= hashes
            rows = self.index.ask_server(
                "select hash, vector from embeddings where workspace = %s and model = %s and hash = any(%s)",
                (exchange.workspace, self.model(), list(hashes)),
            )
            size = 4 + 2 * self._dimension() if rows else 0
            rows = [(hash_, data) for hash_, data in rows if len(data) == size and any(data[4:])]
            if not rows:
                continue
            import numpy as np

            with self.index.writing():
                if self.table.model != self.model():
                    raise MovedError
                counted = self.index.meta("embedded")
                self.table.keep([hash_ for hash_, _ in rows], np.stack([unit_vector(data) for _, data in rows]))
                self.index.set_meta("embedded", counted)  # which counts what was embedded here

    def _dimension(self) -> int:
        matrix = self.table.matrix() if self.table.model == self.model() else None
        return matrix.dimension if matrix else self.embedder().dimension

    def nearest(
        self, vector: Any, wanted: Filter, limit: int, also: Collection[int] = ()
    ) -> tuple[dict[int, float], dict[int, float]]:
        """Map the `limit` chunks nearest to a unit vector to their scaled cosines, and so the chunks of `also`."""
        near, named = super().nearest(vector, wanted, limit, also)
        where = self.index.scope(wanted)
        if where is None:
            return near, named
        scaled = self.scale().scaled
        likeness, fits = self._likeness(len(vector))
        asked, model = HalfVector(vector), self.model()
        rows = self.index.ask_server(
            f"select chunk, 1 - ({likeness}) from embeddings join chunks using(workspace, hash)"
            f" where embeddings.workspace = %s and model = %s and {fits} and {where}"
            f" order by {likeness} limit %s",
            (asked, where.values[0], model, *where.values, asked, limit),
        )
        theirs = {_FIRST + chunk: scaled(float(cosine)) for chunk, cosine in rows}
        both = near | theirs
        best = sorted(both, key=lambda chunk: -both[chunk])[:limit]
        numbers = [chunk - _FIRST for chunk in also if chunk >= _FIRST]
        if numbers:
            rows = self.index.ask_server(
                f"select chunk, 1 - ({likeness}) from chunks{_WITH_VECTOR}"
                f" where {fits} and {where} and chunk = any(%s::bigint[])",
                (asked, model, *where.values, numbers),
            )
            named |= {_FIRST + chunk: scaled(float(cosine)) for chunk, cosine in rows}
        return {chunk: both[chunk] for chunk in best}, named

    def _likeness(self, width: int) -> tuple[str, str]:
        """Return the distance of a stored vector from one that is given, and whether they are of one width."""
        named = self.index.exchange().server.pgvector
        halfvec = named(f"halfvec({width})")
        return f"vector::{halfvec} operator({named('<=>')}) %b::{halfvec}", f"{named('vector_dims')}(vector) = {width}"

    def mean_cosines(self, vector: Any, files: Collection[int]) -> dict[int, float]:
        """Map entries, by their files, to the scaled mean of the cosines of a unit vector and each of their chunks."""
        here = [file for file in files if file < _FIRST]
        cosines = super().mean_cosines(vector, here) if here else {}
        theirs = [file - _FIRST for file in files if file >= _FIRST]
        where = self.index.scope() if theirs else None
        if where is not None:
            (likeness, fits), scaled = self._likeness(len(vector)), self.scale().scaled
            rows = self.index.ask_server(
                f"select file, 1 - avg({likeness}) from (select workspace, file,"
                " hash, row_number() over (partition by file order by chunk) as number from chunks"
                " where workspace = %s and file = any(%s::bigint[]) and anchor <> %s) as chunks"
                f"{_WITH_VECTOR} where number <= %s and {fits} group by file",
                (HalfVector(vector), where.values[0], theirs, WORDING, self.model(), MOST_CHUNKS),
            )
            cosines |= {_FIRST + file: scaled(float(cosine)) for file, cosine in rows}
        return cosines

    def vectors_of(self, chunks: Collection[int]) -> tuple[Any, Any]:
        """Return those of some chunks that have a vector, (n,) int64, and their vectors, (n, dimension) float32."""
        import numpy as np

        theirs = [chunk - _FIRST for chunk in chunks if chunk >= _FIRST]
        numbers, vectors = super().vectors_of([chunk for chunk in chunks if chunk < _FIRST])
        where = self.index.scope() if theirs else None
        if where is None:
            return numbers, vectors
        rows = self.index.ask_server(
            f"select chunk, vector from chunks{_WITH_VECTOR} where workspace = %s and chunk = any(%s::bigint[])",
            (self.model(), where.values[0], theirs),
        )
        sizes = {4 + 2 * vectors.shape[1]} if vectors.size else {len(data) for _, data in rows[:1]}
        rows = [(chunk, data) for chunk, data in rows if len(data) in sizes]
        if not rows:
            return numbers, vectors
        more = np.stack([unit_vector(data) for _, data in rows])
        numbers = np.concatenate([numbers, np.array([_FIRST + chunk for chunk, _ in rows], dtype=np.int64)])
        return numbers, np.concatenate([vectors, more]) if vectors.size else more
