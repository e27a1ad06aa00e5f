"""Whose word a file is once somebody other than the user has changed it.

An entry's weight never exceeds that of who wrote its words, whatever its frontmatter says. The promoted part of
long-term memory holds what a person said or promoted: nobody else writes there.
"""

from datetime import UTC, datetime

from ..errors import RefusedError
from ..text import frontmatter
from ..text.entry import SPELLINGS, TRUST, Entry, read_entry
from ..text.promoted import CLOSING, OPENING, blocks
from .workspace import Workspace

USER = "user"
_EPOCH = datetime.fromtimestamp(0, UTC)


def attributed(workspace: Workspace, path: str, old: str, new: str, by: str) -> str:
    """Return a changed text as `by` may leave it; RefusedError for a change of promoted lines by another than the user.

    An entry's new words are `by`'s at most: a source or trust above that is lowered, and `pinned` is not begun. `old`
    is empty for a file that is made.
    """
    if by == USER or old == new:
        return new
    kind = workspace.layout.kind_of(path)
    if kind == "memory":
        _require_promoted_as_it_is(path, old, new)
    return _lowered(path, old, new, by) if kind == "entry" else new


def _lowered(path: str, old: str, new: str, by: str) -> str:
    document = frontmatter.parse(new)
    if document.problem or not document.fields:
        return new
    after, _ = read_entry(document, path, _EPOCH)
    before = _entry(path, old)
    source, trust = by, TRUST[by]
    if before and _words(before) == _words(after):  # who changes no words takes none away from whose they are
        source = max(by, before.source, key=TRUST.__getitem__)
        trust = max(trust, before.trust)
    changes: dict[str, object] = {}
    if TRUST[after.source] > TRUST[source]:
        changes["source"] = source
    is_stated = any(name in document.fields for name in ("trust", *SPELLINGS["trust"]))
    if (after.trust if is_stated or not changes else TRUST[source]) > trust:
        changes["trust"] = trust
    if after.pinned and not (before and before.pinned):
        changes["pinned"] = False
    # Under the spelling that is read before the others, lest one of these is believed.
    named = {
        next((one for one in (key, *SPELLINGS[key]) if one in document.fields), key): changes[key] for key in changes
    }
    return frontmatter.edit(new, named) if named else new


def _entry(path: str, text: str) -> Entry | None:
    document = frontmatter.parse(text)
    return None if not text or document.problem else read_entry(document, path, _EPOCH)[0]


def _words(entry: Entry) -> list[list[str]]:
    return [text.split() for text in (entry.title, entry.description, entry.body, *entry.wordings)]


def _require_promoted_as_it_is(path: str, old: str, new: str) -> None:
    if blocks(old) != blocks(new):
        raise RefusedError(
            f"{path}: only the user changes what stands between {OPENING} and {CLOSING}",
            "write elsewhere on the page, or say --source user where the user asked for it",
        )
