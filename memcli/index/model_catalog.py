"""The embedding models there are on this machine: the built-in one, and the folders that the user has named.

A model of an index is looked for here by its name. An index never says where: it may have come with a clone, and could
make this machine run a model of its own.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..dataclass import dataclass
from ..errors import UnavailableError
from ..store.settings import Settings
from .embedder import open_embedder
from .embedding_model import BUILT_IN_LICENCE, EmbeddingModel, KnownModel, find_model, weight_files

BUILT_IN_CHOICE = "built-in"
"""What names the model that comes with mem where another one is named by its folder."""
_SMALLEST = 16
"""Numbers of a vector from which it can tell texts apart; a model with fewer outputs rates texts, or sorts them."""


@dataclass(frozen=True)
class ListedModel:
    """What there is to say of a model without opening it."""

    choice: str  # what `mem model use` takes
    name: str  # with its fingerprint; empty where it cannot be used
    licence: str  # as its folder states it; empty where it does not
    size: int  # bytes of its files
    dimension: int  # numbers of a vector; 0 where its folder does not say
    is_chosen: bool  # the settings name it
    problem: str = ""  # why it cannot be used


def chosen_model(settings: Settings, cache: Path) -> KnownModel:
    """Return the model that the settings name beside the built-in one; raise UnavailableError if it is missing."""
    return _located(Path(settings["embedding.model"]), cache)


def known_model(settings: Settings, cache: Path, name: str) -> KnownModel | None:
    """Find a model by its name with the fingerprint; None if no folder of the settings has it any more."""
    for folder in folders(settings):
        if folder.resolve().name == name.rpartition("@")[0]:  # else it need not be hashed
            with suppress(UnavailableError):
                found = _located(folder, cache)
                if found.name == name:
                    return found
    return None


def folders(settings: Settings) -> Iterator[Path]:
    """Yield the folders of models that the user's settings name."""
    for folder in dict.fromkeys((settings["embedding.model"], *settings["embedding.folders"])):
        if folder:
            yield Path(folder).expanduser()


def list_models(settings: Settings, cache: Path) -> list[ListedModel]:
    """Describe the built-in model and every folder that the settings name."""
    chosen = settings["embedding.model"]
    return [
        _listed(None, cache, is_chosen=not chosen),
        *(_listed(folder, cache, is_chosen=folder == Path(chosen).expanduser()) for folder in folders(settings)),
    ]


def try_model(folder: Path | None, cache: Path) -> KnownModel:
    """Open a model and embed a text with it; raise UnavailableError if its vectors are not what they should be."""
    embedder = open_embedder(folder, bulk=False, cache=cache)
    size = embedder.embed(["Tea is served at four."]).shape[1]
    stated = _dimension(folder)
    if size < _SMALLEST:
        raise UnavailableError(f"{folder} gives {size} numbers for a text", "name a model that embeds sentences")
    if stated not in (0, size):
        raise UnavailableError(
            f"{folder} says that its vectors have {stated} numbers, and they have {size}", "export the model again"
        )
    return KnownModel(embedder.model, folder)


def _located(folder: Path, cache: Path) -> KnownModel:
    return KnownModel(find_model(folder, cache).name, folder.expanduser())


def _listed(folder: Path | None, cache: Path, *, is_chosen: bool) -> ListedModel:
    choice = str(folder) if folder else BUILT_IN_CHOICE
    licence = _licence(folder) if folder else BUILT_IN_LICENCE
    try:
        found = find_model(folder, cache)
    except UnavailableError as error:
        return ListedModel(choice, "", licence, 0, 0, is_chosen, str(error))
    return ListedModel(choice, found.name, licence, _size(found), _dimension(folder) or 0, is_chosen)


def _size(model: EmbeddingModel) -> int:
    return sum(part.stat().st_size for part in (*weight_files(model.file), model.tokenizer))


def _dimension(folder: Path | None) -> int:
    """Return how many numbers a vector has by what the folder says; 0 where it says nothing."""
    if folder is None:
        return 384
    for name, key in (("1_Pooling/config.json", "word_embedding_dimension"), ("config.json", "hidden_size")):
        stated = _described(folder / name).get(key)
        if isinstance(stated, int) and stated > 0:
            return stated
    return 0


def _licence(folder: Path) -> str:
    """Return the licence that the model's card states, in its frontmatter."""
    from ..formats.frontmatter.document import parse  # late: a search needs no YAML

    try:
        stated = parse((folder / "README.md").read_text(encoding="utf-8")).fields.get("license")
    except (OSError, ValueError):
        return ""
    return stated if isinstance(stated, str) else ""


def _described(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads(path.read_bytes())
        if isinstance(found, dict):
            return found
    return {}
