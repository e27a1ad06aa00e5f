"""The script that makes a timer of systemd for a workspace, whatever its path, and the one that takes it away."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from memcli.errors import RefusedError
from memcli.integrations.install import targets
from tests.conftest import Mem
from tests.tables import table


def units(home: Path) -> list[Path]:
    return sorted(path for path in (home / ".config" / "systemd" / "user").rglob("mem-tend-*"))


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


@pytest.fixture
def systemctl(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a `systemctl` first in the path that writes down what it is asked, and whether a timer is there then."""
    folder, log = tmp_path / "bin", tmp_path / "asked"
    folder.mkdir()
    script = folder / "systemctl"
    timers = '"$HOME"/.config/systemd/user/*.timer'
    script.write_text(
        f'#!/bin/sh\nfor one in {timers}; do [ -e "$one" ] && is=yes; done\necho "$*" ${{is:-no}} >> {log}\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return log


def sh(script: str) -> None:
    """Run a script as `| sh` does."""
    subprocess.run(["sh", "-e"], input=script, text=True, check=True, timeout=60)


def test_nothing_is_changed_until_the_script_is_run(workspace: Path, mem: Mem, systemctl: Path, home: Path) -> None:
    assert mem("hook", "install", "systemd").code == 0
    assert mem("hook", "uninstall", "systemd").code == 0
    assert units(home) == []
    assert not systemctl.exists()


def test_the_script_starts_the_timer_once_it_is_there_and_stops_it_before_it_goes(
    workspace: Path, mem: Mem, systemctl: Path, home: Path
) -> None:
    sh(mem("hook", "install", "systemd").out)
    service, timer = units(home)
    assert (service.suffix, timer.suffix) == (".service", ".timer")
    assert f"tend --quiet --workspace {workspace}\n" in service.read_text()
    assert systemctl.read_text().splitlines() == [
        "--user daemon-reload yes",
        f"--user enable --now {timer.name} yes",
    ]
    assert mem("hook", "install", "systemd", "--json").json["files"] == []
    systemctl.unlink()
    sh(mem("hook", "uninstall", "systemd").out)
    assert systemctl.read_text().splitlines() == [f"--user disable --now {timer.name} yes", "--user daemon-reload no"]
    assert units(home) == []


def test_two_workspaces_have_a_timer_each_and_lose_only_their_own(
    workspace: Path, mem: Mem, world: Path, systemctl: Path, home: Path
) -> None:
    assert mem("init", "other/memory").code == 0
    sh(mem("hook", "install", "systemd").out)
    sh(mem("hook", "install", "systemd", "--workspace", "other/memory").out)
    assert len(units(home)) == 4
    sh(mem("hook", "uninstall", "systemd").out)
    assert len(units(home)) == 2
    assert all("-other-" in path.name for path in units(home))


def test_the_folder_of_settings_is_heeded(
    workspace: Path, mem: Mem, systemctl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "its settings"))
    sh(mem("hook", "install", "systemd").out)
    assert len(list((tmp_path / "its settings/systemd/user").iterdir())) == 2


def test_a_timer_is_of_one_workspace(workspace: Path, mem: Mem) -> None:
    assert mem("hook", "install", "systemd", "--user").code == 2


NAMES = table(__file__, "NAMES")


@pytest.mark.parametrize("name", NAMES)
def test_any_path_is_one_word_of_the_command(tmp_path: Path, name: str) -> None:
    made = targets.units_of(tmp_path, str(tmp_path / name / "mem"), tmp_path / name, "0123abcd")
    (line,) = [line for text in made.values() for line in text.splitlines() if line.startswith("ExecStart=")]
    words = shlex.split(line.removeprefix("ExecStart=").replace("%%", "%").replace("$$", "$"))
    if words[0] == "/usr/bin/env":
        del words[0]
    if "'" not in name:  # which a shell reads in its own way
        assert words == [str(tmp_path / name / "mem"), "tend", "--quiet", "--workspace", str(tmp_path / name)]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not here to read the units")
@pytest.mark.parametrize("name", NAMES)
def test_systemd_takes_the_units(tmp_path: Path, name: str) -> None:
    real = tmp_path / name / "mem"
    real.parent.mkdir()
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)
    made = targets.units_of(tmp_path / "units", str(real), tmp_path / name, "0123abcd")
    (tmp_path / "units").mkdir()
    for path, text in made.items():
        path.write_text(text)
    words = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no"]
    done = subprocess.run([*words, *map(str, made)], capture_output=True, check=False, text=True, timeout=60)
    assert [line for line in done.stderr.splitlines() if "mem-tend" in line] == []


def test_a_path_that_no_unit_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="rename the folder"):
        targets.units_of(tmp_path, "/usr/bin/mem", tmp_path / "new\nline", "0123abcd")
