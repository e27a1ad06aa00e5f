"""What tends a workspace each night: a line for the crontab, or the units of systemd and a script that puts them there.

Owns the two texts, which must hold any path. Neither the crontab nor the folder of units is touched.
"""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from ...errors import RefusedError

_SERVICE = """\
# From `mem hook install systemd`; `mem hook uninstall systemd` prints what takes it away.
[Unit]
Description=Tend the memory in {described}

[Service]
Type=oneshot
ExecStart={program} tend --quiet --workspace {workspace}
# Another one is at it: the next night does it.
SuccessExitStatus=75
Nice=10
"""
_TIMER = """\
# From `mem hook install systemd`; `mem hook uninstall systemd` prints what takes it away.
[Unit]
Description=Tend the memory in {described} every night

[Timer]
OnCalendar=*-*-* 03:17:00
RandomizedDelaySec=10min
Persistent=true

[Install]
WantedBy=timers.target
"""


def folder_of(home: Path, environ: Mapping[str, str]) -> Path:
    """Return the folder in which systemd looks for a user's own units."""
    given = environ.get("XDG_CONFIG_HOME", "")
    return (Path(given) if given.startswith("/") else home / ".config") / "systemd" / "user"


def units_of(folder: Path, program: str, root: Path, mark: str) -> dict[Path, str]:
    """Return the service and the timer of a workspace, each the text of a file.

    `program` is the path of mem, `mark` tells the workspace from others of its folder's name. Raise RefusedError for a
    path that no unit can hold.
    """
    if any(not letter.isprintable() for letter in f"{program}{root}"):
        raise RefusedError(f"{str(root)!r} cannot stand in a unit of systemd", "rename the folder")
    slug = re.sub(r"[^\w-]+", "-", root.parent.name if root.name == "memory" else root.name, flags=re.ASCII).strip("-")
    fields = {"described": str(root).replace("%", "%%"), "program": _program(program), "workspace": _word(str(root))}
    name = f"mem-tend-{slug[:40] or 'memory'}-{mark}"
    return {
        folder / f"{name}.service": _SERVICE.format(**fields),
        folder / f"{name}.timer": _TIMER.format(**fields),
    }


def commands_of(units: Mapping[Path, str], *, is_removal: bool) -> list[str]:
    """Return the commands of a shell that start the timer once its units are there, or that stop it and remove them."""
    timer = list(units)[-1].name
    reload = "systemctl --user daemon-reload"
    if is_removal:
        return [f"systemctl --user disable --now {timer}", f"rm -f {shlex.join(map(str, units))}", reload]
    return [reload, f"systemctl --user enable --now {timer}"]


def script(units: Mapping[Path, str], *, is_removal: bool) -> str:
    """Return a script of the shell that puts the units there and starts the timer, or that takes both away."""
    lines = commands_of(units, is_removal=is_removal)
    if not is_removal:
        files = [f"cat > {shlex.quote(str(path))} <<'END'\n{text}END" for path, text in units.items()]
        lines = [f"mkdir -p {shlex.quote(str(next(iter(units)).parent))}", *files, *lines]
    return "\n".join(lines)


def _word(text: str) -> str:
    """Write one word of a command as systemd reads it: its own quotes, and no specifier or variable."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return quoted if re.fullmatch(r"[\w/.+@:=,~-]+", quoted, re.ASCII) else f'"{quoted}"'


def _program(path: str) -> str:
    """Write the path of a program; one that systemd takes for no path, since it has a quote in it, is given to env."""
    return f"/usr/bin/env {_word(path)}" if set(path) & set("\"'\\$") else _word(path)


def cron_line(program: str, root: Path) -> str:
    """Return the line that tends a workspace each night; cron takes a percent sign for the end of it."""
    quoted = "'" + str(root).replace("'", "'\\''") + "'"
    if "\n" in quoted:
        raise RefusedError(f"{str(root)!r} cannot stand in a crontab", "rename the folder")
    return f"17 3 * * * {program} tend --quiet --workspace {quoted} # mem hook cron".replace("%", "\\%")
