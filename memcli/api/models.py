"""List the embedding models, choose one, and say how far the indexes are with it."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..dataclass import dataclass
from ..errors import UsageError
from ..index.calibration import keep, measure
from ..index.embedder import open_embedder
from ..index.index import glance
from ..index.model_catalog import (
    BUILT_IN_CHOICE,
    ListedModel,
    calibrated_how,
    choice_of,
    folder_of,
    folders,
    is_folder,
    list_models,
    try_model,
)
from ..index.reembedding import Switch, switch_of
from ..store.settings import set_in_file
from ..store.settings_table import BY_NAME
from .configure import in_force
from .workspace import Surroundings, Workspace, Workspaces, every, recorded, surroundings

__all__ = [
    "CalibrationReport",
    "ListedModel",
    "ModelChoice",
    "ModelList",
    "ModelStatus",
    "Switch",
    "calibrate",
    "list_all",
    "status",
    "use",
]

_NAME, _FOLDERS = "embedding.model", "embedding.folders"


@dataclass(frozen=True)
class ModelList:
    """The models that can be used, or could be."""

    models: tuple[ListedModel, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem model list`."""
        return {"models": [asdict(one) for one in self.models]}


@dataclass(frozen=True)
class ModelChoice:
    """A model that was chosen."""

    choice: str  # what was named
    name: str  # with its fingerprint
    file: Path  # the settings that say so
    notices: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem model use`."""
        return {"model": self.name, "choice": self.choice, "file": str(self.file), "notices": list(self.notices)}


@dataclass(frozen=True)
class ModelStatus:
    """How far the index of each workspace is with the model that the settings name."""

    found: tuple[tuple[Workspace, Switch], ...]
    calibrated: str  # how far thresholds and the comparison of memories are fitted to the model that is chosen

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem model status`."""
        rows = [
            {"workspace": str(where.root)} | asdict(switch) | {"done": switch.is_done} for where, switch in self.found
        ]
        return {"workspaces": rows, "calibrated": self.calibrated}


def list_all(path: str | Path = "", *, around: Surroundings | None = None) -> ModelList:
    """Return the built-in model and those of the folders that the settings of a workspace, or the user's own, name."""
    world = around or surroundings()
    return ModelList(tuple(list_models(in_force(world, str(path)), world.cache_folder)))


@recorded("model use")
def use(name: str | Path, *, around: Surroundings | None = None) -> ModelChoice:
    """Try a model and write its choice to the user's own settings; `built-in` is the one that comes with mem.

    Nothing is embedded: `stats.index` does that, and until it has, the vectors there are answer. Raise UnavailableError
    if the model is missing, incomplete, of an unknown kind or too large for this machine.
    """
    world = around or surroundings()
    choice = choice_of(str(name), world.folder)
    found = try_model(choice, world.cache_folder)
    known = folders(in_force(world, ""))
    if is_folder(choice) and choice not in known:
        known.append(choice)
    # First where the models are, so that a model that answers is found at every moment.
    set_in_file(world.config_file, _FOLDERS, tuple(known))
    set_in_file(world.config_file, _NAME, choice)
    variable = BY_NAME[_NAME].variable
    is_overruled = world.environ.get(variable)
    notices = (f"{variable} is set and goes before this choice",) if is_overruled else ()
    return ModelChoice(choice or BUILT_IN_CHOICE, found.name, world.config_file, notices)


@dataclass(frozen=True)
class CalibrationReport:
    """What was measured of a model."""

    model: str
    floor: float  # its cosine of texts that have nothing in common, 0 on the scale of the built-in model
    top: float  # its cosine that is 1 there
    file: Path  # where it was written
    comparison: bool  # a comparison of memories is trained for it

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem model calibrate`."""
        return {**asdict(self), "file": str(self.file)}


@recorded("model calibrate")
def calibrate(name: str | Path, *, around: Surroundings | None = None) -> CalibrationReport:
    """Measure where the cosines of a model lie and write it into the model's folder, so that thresholds hold for it.

    Raise UsageError for the built-in model, UnavailableError if the model cannot be used or its folder not be written.
    """
    world = around or surroundings()
    folder = folder_of(choice_of(str(name), world.folder), world.cache_folder)
    if folder is None:
        raise UsageError("the built-in model is the one that others are measured by", "name the folder of another")
    embedder = open_embedder(folder, bulk=True, cache=world.cache_folder)
    found = measure(embedder)
    file = keep(found, embedder.model, folder)
    how = calibrated_how(embedder.model, folder)
    return CalibrationReport(embedder.model, found.floor, found.top, file, how == "yes")


def status(workspaces: Workspaces) -> ModelStatus:
    """Return how far the index of each workspace is with the model that the settings name; embed nothing."""
    found: Sequence[Workspace] = every(workspaces)
    listed = list_models(found[0].settings, found[0].cache)
    calibrated = next((one.calibrated for one in listed if one.is_chosen), "no")
    return ModelStatus(tuple((one, glance(one, switch_of)) for one in found), calibrated)
