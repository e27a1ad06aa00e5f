"""The embedding models there are on this machine: the built-in one, and the folders that the user has named.

A model of an index is looked for here by its name. An index never says where: it may have come with a clone, and could
make this machine run a model of its own.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..dataclass import dataclass
from ..errors import UnavailableError
from ..store.settings import Settings
from .calibration import comparison_of, read_calibration
from .embedder import open_embedder
from .embedding_model import BUILT_IN, BUILT_IN_LICENCE, EmbeddingModel, KnownModel, find_model, weight_files
from .packaged_model import (
    PACKAGED,
    PACKAGED_DIMENSION,
    PACKAGED_EXTRA,
    PACKAGED_LICENCE,
    PACKAGED_SIZE,
    packaged_folder,
)

BUILT_IN_CHOICE = "built-in"
"""What names the model that comes with mem where another one is named by its folder."""
_SMALLEST = 16
"""Numbers of a vector from which it can tell texts apart; a model with fewer outputs rates texts, or sorts them."""
_ALIKE = 0.9999
"""Cosine of two texts about different things above which a model tells nothing apart."""


@dataclass(frozen=True)
class ListedModel:
    """What there is to say of a model without opening it."""

    choice: str  # what `mem model use` takes
    name: str  # with its fingerprint; empty where it cannot be used
    licence: str  # as its folder states it; empty where it does not
    size: int  # bytes of its files
    dimension: int  # numbers of a vector; 0 where its folder does not say
    is_chosen: bool  # the settings name it
    calibrated: str = "no"  # "yes", "without the comparison" of memories, or "no"
    problem: str = ""  # why it cannot be used


def chosen_model(settings: Settings, cache: Path) -> KnownModel:
    """Return the model that the settings name beside the built-in one; raise UnavailableError if it is missing."""
    return _located(settings["embedding.model"], cache)


def known_model(settings: Settings, cache: Path, name: str) -> KnownModel | None:
    """Find a model by its name with the fingerprint; None if no folder of the settings has it any more."""
    for choice in (*folders(settings), PACKAGED):
        if Path(choice).resolve().name == name.rpartition("@")[0]:  # else it need not be hashed
            with suppress(UnavailableError):
                found = _located(choice, cache)
                if found.name == name:
                    return found
    return None


def folders(settings: Settings) -> list[str]:
    """Return the folders of models that the user's settings name."""
    named = dict.fromkeys((settings["embedding.model"], *settings["embedding.folders"]))
    return [str(Path(one).expanduser()) for one in named if is_folder(one)]


def list_models(settings: Settings, cache: Path) -> list[ListedModel]:
    """Describe the built-in model, the one that comes as a package, and every folder that the settings name."""
    chosen = settings["embedding.model"]
    chosen = str(Path(chosen).expanduser()) if is_folder(chosen) else chosen
    return [_listed(choice, cache, is_chosen=choice == chosen) for choice in ("", PACKAGED, *folders(settings))]


def is_folder(choice: str) -> bool:
    """Return whether the setting names a folder of the user's by this."""
    return choice not in ("", PACKAGED)


def choice_of(name: str, place: Path) -> str:
    """Return what the setting says for a model as a person names it, a folder from where the person stands."""
    if name in (BUILT_IN_CHOICE, BUILT_IN):
        return ""
    return PACKAGED if name in (PACKAGED, PACKAGED_EXTRA) else str((place / Path(name).expanduser()).resolve())


def try_model(choice: str, cache: Path) -> KnownModel:
    """Open a model and embed a text with it; raise UnavailableError if its vectors are not what they should be."""
    folder = folder_of(choice, cache)
    embedder = open_embedder(folder, bulk=False, cache=cache)
    # As long as each other: to a tokenizer of another model both are words that it does not know.
    one, other = embedder.embed(["Tea is served at four.", "Ships carry coal to Narvik."])
    size = len(one)
    stated = _dimension(folder)
    if size < _SMALLEST:
        raise UnavailableError(f"{folder} gives {size} numbers for a text", "name a model that embeds sentences")
    if stated not in (0, size):
        raise UnavailableError(
            f"{folder} says that its vectors have {stated} numbers, and they have {size}", "export the model again"
        )
    if one @ other > _ALIKE:
        raise UnavailableError(
            f"{folder} gives all texts the same numbers", "export the model again, with its tokenizer"
        )
    return KnownModel(embedder.model, folder)


def folder_of(choice: str, cache: Path) -> Path | None:
    """Return the folder of a model as the setting names it, None for the built-in one."""
    if choice == PACKAGED:
        return packaged_folder(cache)
    return Path(choice).expanduser() if choice else None


def _located(choice: str, cache: Path) -> KnownModel:
    folder = folder_of(choice, cache)
    return KnownModel(find_model(folder, cache).name, folder)


def _listed(choice: str, cache: Path, *, is_chosen: bool) -> ListedModel:
    shown = choice or BUILT_IN_CHOICE
    licence = PACKAGED_LICENCE if choice == PACKAGED else _licence(Path(choice)) if choice else BUILT_IN_LICENCE
    try:
        folder = packaged_folder(cache, makes=False) if choice == PACKAGED else folder_of(choice, cache)
        if choice and folder is None:
            return ListedModel(shown, "", licence, PACKAGED_SIZE, PACKAGED_DIMENSION, is_chosen, "yes")
        found = find_model(folder, cache)
    except UnavailableError as error:
        size, dimension = (PACKAGED_SIZE, PACKAGED_DIMENSION) if choice == PACKAGED else (0, 0)
        return ListedModel(shown, "", licence, size, dimension, is_chosen, problem=str(error))
    calibrated = calibrated_how(found.name, folder)
    return ListedModel(shown, found.name, licence, _size(found), _dimension(folder), is_chosen, calibrated)


def calibrated_how(name: str, folder: Path | None) -> str:
    """Return whether thresholds and the comparison of memories are fitted to a model, in words."""
    if read_calibration(name, folder) is None:
        return "no"
    return "yes" if folder is None or comparison_of(name) else "without the comparison"


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
