"""The hash by which a text and its vector are kept, and by which a text read back is checked."""

import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ..formats.ids import blake2b


@dataclass(frozen=True)
class Kept:
    """A text read back: what is embedded is `prefix` and `text`, and `hash` is its key."""

    chunk: int
    prefix: str
    text: str
    hash: bytes


def text_hash(text: str) -> bytes:
    """Give the key by which a vector is kept: the text that is embedded, wherever it stands."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def as_kept(text: str, hash_: bytes) -> str:
    """Give a text read from the index; DatabaseError if it is not the one put there, since SQLite does not check."""
    if text_hash(text) != hash_:
        raise sqlite3.DatabaseError("a text is not as it was kept")
    return text


def texts_of(connection: sqlite3.Connection, chunks: Collection[int]) -> Iterator[Kept]:
    """Yield what chunks say, those that are not there left out; DatabaseError where one is not as it was kept.

    A file's text is read once: for `substr` in the query, SQLite would read the whole of it for each of its chunks.
    """
    rows = connection.execute(
        "select chunk, prefix, hash, start, stop, turns.text, nth,"
        " case nth when 1 then (select text from texts where texts.file = named.file) end from"
        " (select *, row_number() over (partition by file order by chunk) as nth from chunks"
        f" where chunk in ({', '.join(map(str, chunks))})) as named left join turns using(chunk) order by file, nth"
    )
    whole: str | None = None  # of the file at hand; a turn of a conversation is no stretch of its file
    for chunk, prefix, hash_, start, stop, turn, nth, text in rows:
        whole = text if nth == 1 else whole
        said = turn if turn is not None or whole is None else whole[start:stop]
        if said is None:
            raise sqlite3.DatabaseError("a text is not there")
        as_kept(prefix + said, hash_)
        yield Kept(chunk, prefix, said, hash_)
