"""The folder a session lies in: its id as a file name that every file system takes, and back."""

import re

from ..blake import blake2b

LONGEST = 120
"""Characters of a folder's name at most; Windows allows 260 for the whole path."""

_PLAIN = re.compile(r"[a-z0-9._@+=-]")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.DOTALL)
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_CUT_ESCAPE = re.compile(r"%.?$")


def folder_name(session_id: str) -> str:
    """Write a session's id as a folder name: `telegram:12345` is `telegram%3A12345`.

    Capital letters are escaped too, since some file systems take `A` and `a` for the same folder. An id that is
    too long keeps its beginning and a digest; only its `metadata.json` tells it whole.
    """
    name = "".join(character if _PLAIN.match(character) else _escape(character) for character in session_id)
    if name[:1] in (".", "-") or _RESERVED.fullmatch(name):
        name = _escape(name[0]) + name[1:]
    if name.endswith("."):
        name = name[:-1] + _escape(".")
    if len(name) > LONGEST:
        digest = blake2b(session_id.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return _CUT_ESCAPE.sub("", name[: LONGEST - len(digest) - 1]) + "~" + digest
    return name or "%"


def session_id(folder: str) -> str | None:
    """Read the id back from a folder's name; None where the name is only a beginning and a digest.

    A folder made by hand stands for its own name.
    """
    if folder == "%":
        return ""
    if re.search(r"~[0-9a-f]{16}$", folder):
        return None
    return _ESCAPES.sub(_unescape, folder)


def _escape(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


def _unescape(found: re.Match[str]) -> str:
    data = bytes.fromhex(found[0].replace("%", ""))
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return found[0]
