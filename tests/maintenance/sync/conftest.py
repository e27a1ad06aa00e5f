"""Two machines of one user that meet at a bare repository."""

from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.machines import Machine, first_machine, new_hub, other_machine, write_config


@pytest.fixture(autouse=True)
def quick(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the model out, and give the user a name."""
    monkeypatch.setenv("MEM_EMBEDDING_MODEL", "/nowhere")
    write_config(world.parent / "home")


@pytest.fixture
def hub(world: Path) -> Path:
    """Give the repository where they meet."""
    return new_hub(world)


@pytest.fixture
def laptop(mem: Mem, world: Path, hub: Path) -> Machine:
    """Give the machine on which the memory was made; it has synced once."""
    machine = first_machine(mem, world / "laptop", hub)
    machine.write("Lena prefers tabs.")
    machine.sync()
    return machine


@pytest.fixture
def desktop(mem: Mem, world: Path, hub: Path, laptop: Machine) -> Machine:
    """Give the other machine, which has what the first one synced."""
    return other_machine(mem, world / "desktop", hub)
