"""The texts that a workspace must not show: forgotten here, or purged on this machine."""

import re
from collections.abc import Iterable, Mapping

from ..formats import (
    HIDDEN_MARK,
    SHORT,
    Passage,
    PassageFinder,
    build_digest,
    find_words,
    get_content,
    is_whole_line,
    normalize,
    replace_passages,
)
from ..store import Machine, Workspace
from .database import Database

# A purged text is looked for from the start of a sentence on: a digest per word would be slow.
SENTENCE_START = re.compile(r"(?:\A|[]\n.!?:|>])[^\w\n]*\Z")


class ForgottenTexts:
    """Finds passages that repeat a forgotten or purged memory."""

    def __init__(
        self, texts: Mapping[str, str], machine: Machine, purged_ids: frozenset[str] = frozenset()
    ) -> None:
        self.finder = PassageFinder(texts)
        self.ids = frozenset(texts) | purged_ids
        self.machine = machine
        self.purged_ids = purged_ids
        # Each line is a number of words and the keyed digest of these words.
        self.purged = [
            (int(count), digest)
            for count, _, digest in (line.partition(":") for line in machine.read_purged_digests())
            if count.isdecimal()
        ]

    def build_signature(self) -> str:
        """Return a digest that changes with the texts to hide."""
        parts = (
            sorted(self.finder.by_first_word.items()),
            sorted(self.purged),
            sorted(self.purged_ids),
        )
        return build_digest(repr(parts).encode("utf-8", "replace"))

    def find_repeats(self, text: str) -> list[Passage]:
        """Return the passages of a normalized text that repeat a forgotten memory, in order."""
        return sorted([*self.finder.find(text), *self.find_purged(text)])

    def find_purged(self, text: str) -> Iterable[Passage]:
        """Yield the passages whose digest is that of a purged text."""
        places = find_words(text) if self.purged else []
        for number, (start, _, _) in enumerate(places):
            if not SENTENCE_START.search(text, max(0, start - 8), start):
                continue
            for count, digest in self.purged:
                words = [word for _, _, word in places[number : number + count]]
                if len(words) == count and self.machine.build_digest(words) == digest:
                    end = places[number + count - 1][1]
                    if count >= SHORT or is_whole_line(text, start, end):
                        yield Passage(start, end, "")

    def hide(self, text: str) -> tuple[str, int]:
        """Return a text with `[forgotten]` for each repeated passage, and their number."""
        normal = normalize(text)
        repeats = self.find_repeats(normal)
        if not repeats:
            return text, 0
        return replace_passages(normal, repeats, HIDDEN_MARK), len(repeats)


def load_forgotten(database: Database, workspace: Workspace) -> ForgottenTexts:
    """Return the texts of the forgotten memories, as far as the index knows them."""
    rows = database.run(
        "select id, text from entries join texts using(file) join files using(file)"
        " where status = 'forgotten' and hidden = 0"
    ).fetchall()
    texts = {entry_id: get_content(text) for entry_id, text in rows}
    return ForgottenTexts(texts, workspace.machine, workspace.read_purged_ids())
