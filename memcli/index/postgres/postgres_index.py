"""The index of a shared workspace: what is on this machine answers from here, what only others have from the server.

The index on this machine is whole and the server's words and vectors are made from such indexes, so that a text ranks
alike whichever of both has it. Chunks and files that only the server has are numbered from `_FIRST` on.
"""

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
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
    from ..filters import Posting
    from ..updater import Progress

T = TypeVar("T")
_FIRST = 1 << 40
MOST_CANDIDATES = 20_000  # chunks of the server that the words of a question choose
_GLOB = re.compile(r"([\w.]+(?:\([\w.]+\))?) glob \?")
_OF_PIECE = {name: name for name in ("path", "anchor", "line", "title", "text", "timestamp", "is_whole")}
_OF_PIECE |= {"kind": "chunks.kind", "status": "chunks.status"}
_LISTS = {"aliases", "conflicts_with", "tags", "verdicts"}
_LAST = "\U0010ffff"


class _PartOfPosting(dict[int, float]):
    """The counts of a word in the chunks that can be found; its length is the number of all that have the word."""

    def __init__(self, counts: "Posting", size: int) -> None:
        super().__init__(counts)
        self._size = max(size, super().__len__())

    def __len__(self) -> int:
        return self._size


class PostgresIndex(Index):
    """The index of one workspace, open for one command, with the server beside it."""

    _exchange: Exchange | None = None
    _failure: ServerError | None = None
    _has_reached = False  # what others have was looked for; once for all searches of a question
    _theirs: Sequence[int] = ()  # files that only others have
    _ours: Sequence[int] = ()  # the other files of the server

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
            f" where workspace = %s and file = any(%s) and"
            f" {named if names else newest}"
            " order by entry ->> 'updated_at' desc nulls last limit %s",
            (WORDING, self._exchange.workspace, self._theirs, *[list(names or ())] * (3 if names else 0), limit),
        )
        return [TheirFile(path, kind, digest, entry or {}, text or "") for path, kind, digest, entry, text in rows]

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
            where.parts.append("chunks.file = any(%s)" if is_shorter else "chunks.file <> all(%s)")
            where.values.append(list(self._theirs if is_shorter else self._ours))
        if wanted:
            passing = chunk_condition(replace(wanted, kept=False))  # nothing else is pushed
            where.parts.append(_GLOB.sub(r"glob(\1, ?)", str(passing)).replace("?", "%s"))
            where.values += passing.values
        return where

    def chunk_count(self) -> int:
        """Return the number of chunks, those that only others have included."""
        count = super().chunk_count()
        return count + (self._exchange.count(self._theirs) if self._theirs and self._exchange else 0)

    def documents(self, wanted: Filter, among: Collection[int] | None = None) -> dict[int, int]:
        """Map each chunk that passes the filter, and is in `among` if given, to the number of its document."""
        documents = super().documents(wanted, among)
        where = self.scope(wanted)
        theirs = [chunk - _FIRST for chunk in among or () if chunk >= _FIRST]
        if where is None or (among is not None and not theirs):
            return documents
        if among is not None:
            where.parts.append("chunk = any(%s)")
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
        own = {tuple(stem): posting for stem, posting in zip(stems, postings, strict=True)}
        counted: dict[str, dict[int, float]] = {}
        sizes = dict(self._word_rows("term = %s group by term", [[stem] for stem in {*chain(*own)}], "term, count(*)"))
        for term, chunk, count in self._chosen_rows(sizes):
            counted.setdefault(term, {})[_FIRST + chunk] = count
        by_stem: dict[str, Posting] = {"": {}}
        for each, term in zip(stems, terms, strict=True):
            if each[0] not in by_stem:
                theirs: dict[int, float] = {}
                lists = [self._beginning_so(each[0])] if is_prefix(term) else [counted.get(stem, {}) for stem in each]
                for posting in lists:
                    for chunk, count in posting.items():
                        theirs[chunk] = theirs.get(chunk, 0) + count
                size = len(own[tuple(each)]) + sum(sizes.get(stem, 0) for stem in each)
                by_stem[each[0]] = _PartOfPosting({**own[tuple(each)], **theirs}, size)
        return [by_stem[each[0]] for each in stems]

    def alike_postings(self, word: str) -> "Posting":
        """Return the count by chunk of the words that begin as a word does and differ at the end."""
        begins = beginning(word) if self._theirs else ""
        theirs = self._beginning_so(begins, len(word) + 3) if begins else {}
        return {**super().alike_postings(word), **theirs}

    def _beginning_so(self, begins: str, longest: int = 1000) -> "dict[int, float]":
        condition = "term >= %s and term < %s and length(term) <= %s"
        values = [[begins, begins + _LAST, longest]]
        counted: dict[int, float] = {}
        for _, chunk, count in self._word_rows(f"{condition} limit {MOST_CANDIDATES}", values):
            counted[_FIRST + chunk] = counted.get(_FIRST + chunk, 0) + count
        return counted

    def _chosen_rows(self, sizes: Mapping[str, int]) -> list[tuple[Any, ...]]:
        """Return word, chunk and count of words, given with their numbers of chunks, in `MOST_CANDIDATES` chunks.

        The rarest words choose these; the others are counted among them.
        """
        left, whole, frequent = MOST_CANDIDATES, list[str](), list[str]()
        for term in sorted(sizes, key=lambda term: (sizes[term], term)):
            (whole if sizes[term] <= left and not frequent else frequent).append(term)
            left -= 0 if frequent else sizes[term]
        rows = self._word_rows("term = %s", [[term] for term in whole])
        if frequent and left:
            most = f"term = %s order by count desc, words.chunk desc limit {left}"
            rows += self._word_rows(most, [frequent[:1]])
        if frequent:
            chosen = list({chunk for _, chunk, _ in rows})
            rows += self._word_rows("term = %s and words.chunk = any(%s)", [[term, chosen] for term in frequent])
        return rows

    def _word_rows(
        self, condition: str, asked: Sequence[Sequence[Any]], columns: str = "term, words.chunk, count"
    ) -> list[tuple[Any, ...]]:
        """Return word, chunk and count of the words that pass a condition with one of its values, as others have them.

        Each is asked by itself: for several at once the planner looks at every word.
        """
        where = self.scope()
        if where is None or not asked:
            return []
        where.parts[0] = "words.workspace = %s"
        joined = " join chunks using(workspace, chunk)" if len(where.parts) > 1 else ""
        query = f"(select {columns} from words{joined} where {where} and {condition})"
        values = [value for each in asked for value in (*where.values, *each)]
        return self.ask_server(" union all ".join([query] * len(asked)), values)

    def _read_pieces(self, chunks: Collection[int]) -> dict[int, Piece]:
        theirs = [chunk - _FIRST for chunk in chunks if chunk >= _FIRST]
        here = [chunk for chunk in chunks if chunk < _FIRST]
        pieces = super()._read_pieces(here) if here or not theirs else {}
        if theirs and self._exchange:
            rows = self.ask_server(
                f"select chunk, file, {', '.join(_OF_PIECE.values())}, entry from chunks"
                " join files using(workspace, file) where workspace = %s and chunk = any(%s)",
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
                sound[name] = value if isinstance(value, int | float) else None if name != "trust" else 0.0
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
        width = len(vector)
        likeness = f"(vector::halfvec({width})) <=> %b::halfvec({width})"
        joined = "from embeddings join chunks using(workspace, hash)"
        asked, model = HalfVector(vector), self.model()
        rows = self.index.ask_server(
            f"select chunk, 1 - ({likeness}) {joined} where embeddings.workspace = %s and model = %s and"
            f" vector_dims(vector) = {width} and {where}"
            f" order by {likeness} limit %s",
            (asked, where.values[0], model, *where.values, asked, limit),
        )
        theirs = {_FIRST + chunk: scaled(float(cosine)) for chunk, cosine in rows}
        both = near | theirs
        best = sorted(both, key=lambda chunk: -both[chunk])[:limit]
        numbers = [chunk - _FIRST for chunk in also if chunk >= _FIRST]
        if numbers:
            rows = self.index.ask_server(
                f"select chunk, 1 - ({likeness}) {joined} where embeddings.workspace = %s and model = %s and"
                f" vector_dims(vector) = {width} and {where} and chunk = any(%s)",
                (asked, where.values[0], model, *where.values, numbers),
            )
            named |= {_FIRST + chunk: scaled(float(cosine)) for chunk, cosine in rows}
        return {chunk: both[chunk] for chunk in best}, named

    def mean_cosines(self, vector: Any, files: Collection[int]) -> dict[int, float]:
        """Map entries, by their files, to the scaled mean of the cosines of a unit vector and each of their chunks."""
        here = [file for file in files if file < _FIRST]
        cosines = super().mean_cosines(vector, here) if here else {}
        theirs = [file - _FIRST for file in files if file >= _FIRST]
        where = self.index.scope() if theirs else None
        if where is not None:
            width, scaled = len(vector), self.scale().scaled
            rows = self.index.ask_server(
                f"select file, 1 - avg(vector::halfvec({width}) <=> %b::halfvec({width})) from (select file, hash,"
                " row_number() over (partition by file order by chunk) as number from chunks"
                " where workspace = %s and file = any(%s) and anchor <> %s) as named"
                " join embeddings using(hash) where workspace = %s and model = %s and number <= %s"
                f" and vector_dims(vector) = {width} group by file",
                (HalfVector(vector), where.values[0], theirs, WORDING, where.values[0], self.model(), MOST_CHUNKS),
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
            "select chunk, vector from chunks join embeddings using(workspace, hash)"
            " where workspace = %s and model = %s and chunk = any(%s)",
            (where.values[0], self.model(), theirs),
        )
        sizes = {4 + 2 * vectors.shape[1]} if vectors.size else {len(data) for _, data in rows[:1]}
        rows = [(chunk, data) for chunk, data in rows if len(data) in sizes]
        if not rows:
            return numbers, vectors
        more = np.stack([unit_vector(data) for _, data in rows])
        numbers = np.concatenate([numbers, np.array([_FIRST + chunk for chunk, _ in rows], dtype=np.int64)])
        return numbers, np.concatenate([vectors, more]) if vectors.size else more
