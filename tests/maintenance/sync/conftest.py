"""Two machines of one user that meet at a bare repository."""

from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.machines import Machine, first_machine, new_hub, other_machine, write_config
from tests.stage import Stage


@pytest.fixture(autouse=True)
def quick(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the model out, and give the user a name."""
    monkeypatch.setenv("MEM_EMBEDDING_MODEL", "/nowhere")
    template = world.parent / "home" / "template"  # without git's thirteen samples of hooks
    for name in ("info", "hooks"):
        (template / name).mkdir(parents=True)
    (template / "info" / "exclude").write_text("")
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(template))
    write_config(world.parent / "home")


@pytest.fixture(autouse=True)
def world(world: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand where all tests of this module do."""
    return stage.enter(monkeypatch)


@pytest.fixture
def hub(world: Path, request: pytest.FixtureRequest) -> Path:
    """Give the repository where they meet."""
    return world / "hub.git" if "laptop" in request.fixturenames else new_hub(world)


@pytest.fixture
def laptop(mem: Mem, world: Path, quick: None, stage: Stage, request: pytest.FixtureRequest) -> Machine:
    """Give the machine on which the memory was made; it has synced once, and the other one, if any, has that."""

    def furnish() -> None:
        hub = new_hub(world)
        machine = first_machine(mem, world / "laptop", hub)
        machine.write("Lena prefers tabs.")
        machine.sync()
        if name == "two machines":
            other_machine(mem, world / "desktop", hub)

    name = "two machines" if "desktop" in request.fixturenames else "one machine"
    stage.furnished(furnish, name)
    return Machine(mem, world / "laptop", world / "laptop")


@pytest.fixture
def desktop(mem: Mem, world: Path, laptop: Machine) -> Machine:
    """Give the other machine, which has what the first one synced."""
    return Machine(mem, world / "desktop", world / "desktop")
