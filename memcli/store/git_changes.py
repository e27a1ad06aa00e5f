"""The changing half of git: the commits, fetches, merges and pushes that a person asked for with `mem sync`.

What a commit or a push by hand would run does run: hooks, filters, ssh and the user's credential helpers. No editor, no
pager, no prompt, no signature, no housekeeping in the background, and nothing that outlives its time. Passwords in
addresses are blanked out of every message.
"""

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..errors import GitError, MemError, RefusedError, UnavailableError
from .git import REPOSITORY, locked

SECONDS = 60.0
"""For what touches this machine alone."""
_GRACE = 5.0  # seconds in which a stopped git removes its locks
_CONFIG = (
    "core.fsmonitor=false",
    "core.editor=true",
    "core.quotePath=false",
    "core.safecrlf=false",
    "core.fsync=committed",  # loose objects too: a power cut must not cost what was said to be committed
    "core.fsyncMethod=batch",
    "color.ui=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "push.gpgSign=false",
    "push.followTags=false",
    "push.recurseSubmodules=no",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "submodule.recurse=false",
    "status.renames=false",
    "merge.autoStash=false",
    # By likeness git takes one short memory for another one, and by folders new memories for forgotten ones.
    "merge.renames=false",
    "merge.directoryRenames=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_LITERAL_PATHSPECS": "1",
    "MEM_INSIDE_HOOK": "1",  # our own hooks pass: what they do is done here
}
_LEFT_OUT = (*REPOSITORY, "GIT_CONFIG_PARAMETERS")  # what a hook's git was told is not for this one


class Done(NamedTuple):
    """How a command of git ended."""

    code: int
    out: bytes
    said: str  # on stderr, without passwords

    @property
    def lines(self) -> list[str]:
        """Return what was said, a line each, without the marks that git puts before it."""
        found = (re.sub(r"^(?:fatal|error|warning): ", "", line).strip() for line in self.said.splitlines())
        return [line for line in found if line and not line.startswith("hint:")]


def attempt(
    folder: Path,
    *words: str,
    seconds: float = SECONDS,
    given: bytes = b"",
    environ: Mapping[str, str] | None = None,
) -> Done:
    """Run git in a folder and return how it ended; `environ` is added to the environment.

    Raise GitError where git is missing, BusyError where another git holds one of its locks, UnavailableError if it
    needs more than so many seconds; it is stopped then, and what it started with it.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT and not _is_trace(name)}
    guards = ["git", "--no-pager", *(word for one in _CONFIG for word in ("-c", one))]
    try:
        process = subprocess.Popen(
            [*guards, "-C", str(folder), *words],
            env={**kept, **_ENVIRONMENT, **(environ or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # without a terminal nothing it starts can ask there
        )
    except FileNotFoundError:
        raise GitError("there is no git", "install it") from None
    except OSError as error:
        raise GitError(f"git cannot be run ({error.strerror})") from None
    try:
        out, err = process.communicate(given, timeout=seconds or None)
    except subprocess.TimeoutExpired:
        _stop(process)
        raise UnavailableError(f"git {words[0]} took more than {seconds:g} s", "run `mem sync` again") from None
    except BaseException:
        _stop(process)
        raise
    done = Done(process.returncode, out, without_passwords(err.decode("utf-8", "replace")))
    if done.code and (lock := re.search(r"Unable to create '([^']+\.lock)': File exists", done.said)):
        raise locked(lock[1])
    return done


def change(folder: Path, *words: str, given: bytes = b"", environ: Mapping[str, str] | None = None) -> bytes:
    """Run git in a folder and return what it prints; raise RefusedError, with git's own words, where it fails."""
    done = attempt(folder, *words, given=given, environ=environ)
    if done.code:
        raise refused(done, f"git {words[0]} failed", "put that right, then run `mem sync` again")
    return done.out


def refused(done: Done, what: str, fix: str) -> MemError:
    """Return the error of a failed command of git, with the first line it said."""
    said = next((line for line in done.lines), "")
    return RefusedError(f"{what} ({said})" if said else what, fix)


_USELESS = (
    "Could not read from remote repository",
    "Please make sure you have the correct access rights",
    "and the repository exists",
    "the remote end hung up",
    "failed to push some refs",
)


def unreachable(done: Done, remote: str) -> UnavailableError:
    """Return the error of a remote that cannot be reached, with the line of git's that tells most."""
    said = [line for line in done.lines if not line.startswith(_USELESS)]
    why = (said or done.lines or ["no reason given"])[0].removeprefix("remote: ")
    name = without_passwords(remote)
    return UnavailableError(f"{name} cannot be reached ({why})", f"look with `git ls-remote {name}`")


def without_passwords(text: str) -> str:
    """Return a text with the user names and passwords blanked out that stand in addresses, and headers that hold any.

    The name before the host of an address of ssh is no secret, and stays.
    """
    text = re.sub(r"\b(\w[\w+.-]*://)[^/\s:@]*:[^/\s]*@", r"\1…@", text)
    text = re.sub(r"\b((?:https?|ftps?)://)[^/\s@]+@", r"\1…@", text)
    return re.sub(r"(?i)\b(authorization: *\w+) +\S+", r"\1 …", text)


def split(told: bytes) -> list[str]:
    """Return the names that git printed with `-z`."""
    return [os.fsdecode(name) for name in told.split(b"\0") if name]


def joined(names: Sequence[str]) -> bytes:
    """Return names as git reads them with `-z --stdin`."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def _is_trace(name: str) -> bool:
    return name.startswith(("GIT_TRACE", "GIT_CURL_VERBOSE"))


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Stop git and what it started; asked politely first, it removes its locks."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_GRACE)
            return
