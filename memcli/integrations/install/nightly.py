"""What tends a workspace each night for its user: a line of the crontab, or the units of systemd and their commands.

A service and its timer lie in the user's own folder of units. Where `systemctl --user` cannot be reached, as in a
container or over ssh without a session, the units are there all the same and whoever asked is told what to run.
"""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...api.installation import FileChange, propose, read_bytes
from ...dataclass import dataclass
from ...errors import RefusedError, UsageError

SECONDS = 20.0
_CRON_MARK = "# mem hook cron"
_PREFIX = "mem-tend-"
_SERVICE = """\
# `mem hook install systemd` made this; `mem hook uninstall systemd` takes it away.
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
# `mem hook install systemd` made this; `mem hook uninstall systemd` takes it away.
[Unit]
Description=Tend the memory in {described} every night

[Timer]
OnCalendar=*-*-* 03:17:00
RandomizedDelaySec=10min
Persistent=true

[Install]
WantedBy=timers.target
"""


@dataclass(frozen=True)
class Units:
    """The two units of a workspace, as files."""

    folder: Path
    name: str  # of both, without its ending
    texts: Mapping[str, str]  # by ending

    def path(self, ending: str) -> Path:
        """Return the file of the service or the timer."""
        return self.folder / f"{self.name}.{ending}"


def folder_of(home: Path, environ: Mapping[str, str]) -> Path:
    """Return the folder in which systemd looks for a user's own units."""
    given = environ.get("XDG_CONFIG_HOME", "")
    return (Path(given) if given.startswith("/") else home / ".config") / "systemd" / "user"


def units_of(folder: Path, program: str, root: Path, mark: str) -> Units:
    """Return the units of a workspace; `program` is the path of mem, `mark` tells its folder's name from others.

    Raise RefusedError for a path that no unit can hold.
    """
    if any(not letter.isprintable() for letter in f"{program}{root}"):
        raise RefusedError(f"{str(root)!r} cannot stand in a unit of systemd", "rename the folder")
    slug = re.sub(r"[^\w-]+", "-", root.parent.name if root.name == "memory" else root.name, flags=re.ASCII).strip("-")
    told = {"described": str(root).replace("%", "%%"), "program": _program(program), "workspace": _word(str(root))}
    texts = {"service": _SERVICE.format(**told), "timer": _TIMER.format(**told)}
    return Units(folder, f"{_PREFIX}{slug[:40] or 'memory'}-{mark}", texts)


def units_plan(units: Units) -> list[FileChange]:
    """Propose both units."""
    changes = [propose(units.path(ending), text.encode()) for ending, text in units.texts.items()]
    return [one for one in changes if one.before != one.after]


def no_units_plan(units: Units) -> list[FileChange]:
    """Propose to take both units away, and the link that starts the timer where `systemctl` could not remove it."""
    return [propose(units.path(one), None) for one in units.texts if read_bytes(units.path(one)) is not None]


def unlink_started(units: Units) -> None:
    """Remove the link that starts the timer, if it is left."""
    link = units.folder / "timers.target.wants" / units.path("timer").name
    if link.is_symlink():
        link.unlink()


def commands_of(units: Units, *, is_removal: bool) -> list[list[str]]:
    """Return what starts the timer once its units are there, or what stops it before they go."""
    verb = "disable" if is_removal else "enable"
    switch = ["systemctl", "--user", verb, "--now", f"{units.name}.timer"]
    reload = ["systemctl", "--user", "daemon-reload"]
    return [switch, reload] if is_removal else [reload, switch]


def carry_out(commands: Sequence[Sequence[str]]) -> str:
    """Run commands of systemctl; return why the first that failed did, empty if all is done."""
    for words in commands:
        try:
            done = subprocess.run(words, capture_output=True, check=False, timeout=SECONDS, stdin=subprocess.DEVNULL)
        except FileNotFoundError:
            return "there is no systemctl here"
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"systemctl did not answer ({type(error).__name__})"
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            return said[0] if said else f"systemctl ended with {done.returncode}"
    return ""


def installed(folder: Path) -> dict[Path, str]:
    """Return the timers of mem in a folder of units, each with the path of mem that its service calls."""
    found = {}
    for timer in sorted(folder.glob(f"{_PREFIX}*.timer")):
        service = (read_bytes(timer.with_suffix(".service")) or b"").decode("utf-8", "replace")
        told = re.search(r'^ExecStart=(?:/usr/bin/env )?(?:"((?:[^"\\]|\\.)*)"|(\S+))', service, re.MULTILINE)
        program = (told[1] or told[2]) if told else ""
        found[timer] = re.sub(r"\\(.)", r"\1", program).replace("%%", "%").replace("$$", "$")
    return found


def _word(text: str) -> str:
    """Write one word of a command as systemd reads it: its own quotes, and no specifier or variable."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return quoted if re.fullmatch(r"[\w/.+@:=,~-]+", quoted, re.ASCII) else f'"{quoted}"'


def _program(path: str) -> str:
    """Write the path of a program; one that systemd takes for no path, since it has a quote in it, is given to env."""
    return f"/usr/bin/env {_word(path)}" if set(path) & set("\"'\\$") else _word(path)


def is_missing(program: str) -> bool:
    """Return whether there is no such program."""
    return not (os.path.isfile(program) and os.access(program, os.X_OK))


def cron_line(program: str, root: Path) -> str:
    """Return the line that tends a workspace each night; cron takes a percent sign for the end of it."""
    quoted = "'" + str(root).replace("'", "'\\''") + "'"
    if "\n" in quoted:
        raise RefusedError(f"{str(root)!r} cannot stand in a crontab", "rename the folder")
    return f"17 3 * * * {program} tend --quiet --workspace {quoted} {_CRON_MARK}".replace("%", "\\%")


def change_crontab(line: str, *, is_removal: bool) -> None:
    """Put the line into the user's crontab, in the place of an older one for the workspace, or take it out."""
    before = _crontab()
    after = _without_line(before, line) if is_removal else _with_line(before, line)
    if after != before:
        _write_crontab(after)


def tended() -> list[str]:
    """Return the workspaces that the user's crontab tends, as its lines name them."""
    lines = [line for line in _crontab().splitlines() if line.endswith(_CRON_MARK)]
    return [line.partition(" --workspace ")[2].removesuffix(_CRON_MARK).strip() for line in lines]


def _crontab() -> str:
    """Read the user's crontab; raise UsageError if there is no cron."""
    try:
        done = subprocess.run(["crontab", "-l"], capture_output=True, check=False)
    except FileNotFoundError:
        raise UsageError(
            "there is no crontab here", "put the line into your own scheduler: --dry-run prints it"
        ) from None
    # No crontab yet is an error of the program, and so is one that may not be read: the second must not be emptied.
    if done.returncode and b"no crontab" not in done.stderr.lower():
        raise RefusedError(f"crontab: {done.stderr.decode(errors='replace').strip()}", "see `crontab -l`")
    return done.stdout.decode("utf-8", "surrogateescape")


def _with_line(text: str, line: str) -> str:
    """Put our line for a workspace in, or in the place of an older one for it."""
    kept = _without_line(text, line)
    return f"{kept}{'' if not kept or kept.endswith(chr(10)) else chr(10)}{line}\n"


def _without_line(text: str, line: str) -> str:
    """Take our line for the same workspace out."""
    place = line.partition(" --workspace ")[2]
    return "".join(
        one for one in text.splitlines(keepends=True) if not one.rstrip("\n").endswith(f" --workspace {place}")
    )


def _write_crontab(text: str) -> None:
    words = ["crontab", "-"] if text else ["crontab", "-r"]
    done = subprocess.run(words, input=text.encode("utf-8", "surrogateescape"), capture_output=True, check=False)
    if done.returncode:
        raise RefusedError(f"crontab: {done.stderr.decode(errors='replace').strip()}", "see `crontab -l`")
