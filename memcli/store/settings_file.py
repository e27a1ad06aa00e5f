"""Change one setting in a YAML file and nothing else: comments, order, quoting and line ends stay."""

from io import StringIO
from pathlib import Path
from typing import Any

from ..errors import NotFoundError, RefusedError
from ..formats.text_lines import BOM
from . import atomic_files


def set_in_file(path: Path, name: str, value: Any) -> None:
    """Write one dotted setting into a file, making the file if there is none."""
    path = path.resolve()  # people keep their settings as a link into a folder of dotfiles
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap
    from ruamel.yaml.error import YAMLError

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    try:
        before = atomic_files.read(path)
    except NotFoundError:
        before = None
    written = (before or b"").decode("utf-8")
    newline = "\r\n" if "\r\n" in written else "\n"
    text = written.removeprefix(BOM).replace("\r\n", "\n")
    try:
        root = yaml.load(text)
    except YAMLError as error:
        raise RefusedError(f"{path} is not YAML", str(error).splitlines()[0]) from None
    if root is None:
        # A file of comments alone loads as nothing, and dumping nothing would lose them.
        root = CommentedMap()
        head = text if not text or text.endswith("\n") else text + "\n"
    else:
        head = ""
    if not isinstance(root, CommentedMap):
        raise RefusedError(f"{path} is not a map of settings", "write `name: value` lines")
    place, key = root, name
    while "." in key and key not in place:
        first, rest = key.split(".", 1)
        if first in place and not isinstance(place[first], CommentedMap):
            break
        place, key = place.setdefault(first, CommentedMap()), rest
    place[key] = list(value) if isinstance(value, tuple) else value
    out = StringIO()
    yaml.dump(root, out)
    bom = BOM if written.startswith(BOM) else ""
    data = (bom + (head + out.getvalue()).replace("\n", newline)).encode("utf-8")
    if before is None:
        atomic_files.create(path, data)
    elif data != before:
        atomic_files.replace(path, data, atomic_files.digest(before))
