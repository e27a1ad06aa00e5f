"""A timer of systemd tends a workspace, whatever its path, and goes without a trace."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from memcli.errors import RefusedError
from memcli.integrations.install import nightly
from tests.conftest import Mem


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a `mem` first in the path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.fixture
def systemctl(program: Path, tmp_path: Path) -> Path:
    """Put a `systemctl` there that writes down what it is asked, and whether the timer is there then."""
    log = tmp_path / "asked"
    script = program / "systemctl"
    units = '"$HOME"/.config/systemd/user/*.timer'
    script.write_text(
        f'#!/bin/sh\nfor one in {units}; do [ -e "$one" ] && is=yes; done\necho "$*" ${{is:-no}} >> {log}\n'
    )
    script.chmod(0o755)
    return log


def units(home: Path) -> list[Path]:
    return sorted(path for path in (home / ".config" / "systemd" / "user").rglob("mem-tend-*"))


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


def test_the_timer_is_started_once_it_is_there_and_stopped_before_it_goes(
    workspace: Path, mem: Mem, systemctl: Path, home: Path
) -> None:
    assert mem("hook", "install", "systemd").code == 0
    service, timer = units(home)
    assert (service.suffix, timer.suffix) == (".service", ".timer")
    assert f"tend --quiet --workspace {workspace}\n" in service.read_text()
    asked = systemctl.read_text().splitlines()
    assert asked == ["--user daemon-reload yes", f"--user enable --now {timer.name} yes"]
    assert mem("hook", "install", "systemd").rows == []
    systemctl.unlink()
    assert mem("hook", "uninstall", "systemd").code == 0
    assert systemctl.read_text().splitlines() == [f"--user disable --now {timer.name} yes", "--user daemon-reload no"]
    assert units(home) == []
    assert mem("hook", "uninstall", "systemd").rows == []


@pytest.mark.parametrize("answer", ["missing", "no bus"])
def test_where_systemd_cannot_be_reached_the_units_are_there_and_one_is_told_what_to_run(
    workspace: Path, mem: Mem, program: Path, home: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    if answer == "missing":
        monkeypatch.setenv("PATH", str(program))
    else:
        (program / "systemctl").write_text("#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\nexit 1\n")
        (program / "systemctl").chmod(0o755)
    ran = mem("hook", "install", "systemd")
    assert ran.code == 0
    assert len(units(home)) == 2
    name = next(one.name for one in units(home) if one.suffix == ".timer")
    assert f"systemctl --user daemon-reload && systemctl --user enable --now {name}" in ran.err
    wanted = home / ".config/systemd/user/timers.target.wants"
    wanted.mkdir()
    (wanted / name).symlink_to(f"../{name}")
    ran = mem("hook", "uninstall", "systemd")
    assert f"systemctl --user disable --now {name}" in ran.err
    assert units(home) == []


def test_a_dry_run_shows_both_units_and_changes_nothing(workspace: Path, mem: Mem, systemctl: Path, home: Path) -> None:
    ran = mem("hook", "install", "systemd", "--dry-run")
    assert "+ExecStart=" in ran.out
    assert "+OnCalendar=" in ran.out
    assert units(home) == []
    assert not systemctl.exists()


def test_two_workspaces_have_a_timer_each_and_lose_only_their_own(
    workspace: Path, mem: Mem, world: Path, systemctl: Path, home: Path
) -> None:
    assert mem("init", "other/memory").code == 0
    assert mem("hook", "install", "systemd").code == 0
    assert mem("hook", "install", "systemd", "--workspace", "other/memory").code == 0
    assert len(units(home)) == 4
    assert mem("hook", "uninstall", "systemd").code == 0
    assert all("-other-" in path.name for path in units(home))


def test_status_names_the_timers_and_a_program_that_is_gone(
    workspace: Path, mem: Mem, systemctl: Path, home: Path
) -> None:
    assert mem("hook", "status", "systemd", "--json").json["hooks"][0]["events"] == []
    assert mem("hook", "install", "systemd").code == 0
    (row,) = mem("hook", "status", "systemd", "--json").json["hooks"]
    assert (row["events"], row["missing"]) == (["tend"], "")
    (service,) = [path for path in units(home) if path.suffix == ".service"]
    text = service.read_text()
    before = text.partition("ExecStart=")[2].partition(" ")[0]
    service.write_text(text.replace(before, "/nowhere/mem"))
    ran = mem("hook", "status", "systemd")
    assert "/nowhere/mem is not found" in ran.err
    assert "mem hook install systemd" in ran.err


def test_the_folder_of_settings_is_heeded(
    workspace: Path, mem: Mem, systemctl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    assert mem("hook", "install", "systemd").code == 0
    assert len(list((tmp_path / "settings/systemd/user").iterdir())) == 2


def test_a_timer_is_of_one_workspace(workspace: Path, mem: Mem) -> None:
    assert mem("hook", "install", "systemd", "--user").code == 2


NAMES = [
    "plain",
    "with space",
    "100% sure",
    'quo"te',
    "dollar$HOME",
    "back\\slash",
    "semi;colon",
    "日本語",
    "apo'strophe",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_path_is_one_word_of_the_command(tmp_path: Path, name: str) -> None:
    made = nightly.units_of(tmp_path, str(tmp_path / name / "mem"), tmp_path / name, "0123abcd")
    (line,) = [line for line in made.texts["service"].splitlines() if line.startswith("ExecStart=")]
    words = shlex.split(line.removeprefix("ExecStart=").replace("%%", "%").replace("$$", "$"))
    if words[0] == "/usr/bin/env":
        del words[0]
    if "'" not in name:  # which a shell reads in its own way
        assert words == [str(tmp_path / name / "mem"), "tend", "--quiet", "--workspace", str(tmp_path / name)]
    for ending, text in made.texts.items():
        made.path(ending).write_text(text)
    assert list(nightly.installed(tmp_path).values()) == [str(tmp_path / name / "mem")]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not here to read the units")
@pytest.mark.parametrize("name", NAMES)
def test_systemd_takes_the_units(tmp_path: Path, name: str, program: Path) -> None:
    real = tmp_path / name / "mem"
    real.parent.mkdir()
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)
    made = nightly.units_of(tmp_path / "units", str(real), tmp_path / name, "0123abcd")
    made.folder.mkdir()
    for ending, text in made.texts.items():
        made.path(ending).write_text(text)
    words = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no"]
    files = [str(made.path(ending)) for ending in made.texts]
    done = subprocess.run([*words, *files], capture_output=True, check=False, text=True, timeout=60)
    assert [line for line in done.stderr.splitlines() if "mem-tend" in line] == []


def test_a_path_that_no_unit_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="rename the folder"):
        nightly.units_of(tmp_path, "/usr/bin/mem", tmp_path / "new\nline", "0123abcd")
