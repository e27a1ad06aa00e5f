"""The only place that runs git, and only to read.

A repository may have come from others with its `.git/config`: no program named there may run, page, sign, fetch or open
an editor. Diffs compare what is stored, never files of the worktree, so that no filter of its attributes runs either.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ..errors import GitError

SECONDS = 10.0
# What stands on the command line outranks every configuration file, those it includes too.
_CONFIG = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.editor=true",
    "core.askPass=true",
    "core.sshCommand=false",
    "credential.helper=",
    "diff.external=",
    "diff.submodule=short",
    "diff.ignoreSubmodules=all",
    f"diff.orderFile={os.devnull}",
    "gpg.program=false",
    *(f"gpg.{form}.program=false" for form in ("openpgp", "x509", "ssh")),
    "log.showSignature=false",
    "log.mailmap=false",
    "format.pretty=medium",  # a format may ask for the signature, which runs gpg.program
    "color.ui=false",
    "color.diff=false",
    "safe.bareRepository=explicit",  # a folder of a clone may look like a repository of its own
)
_GUARDS = ("--no-pager", *(word for one in _CONFIG for word in ("-c", one)))
_DIFFS = ("--no-ext-diff", "--no-textconv")
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone fetches what it lacks, by whatever program its remote names
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_ASKPASS": "true",
    "GIT_SSH_COMMAND": "false",
}
# Set inside git's own hooks, where they name the repository of the hook.
_REPOSITORY = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
)


def run(
    folder: Path, *words: str, seconds: float = SECONDS, hook: Mapping[str, str] | None = None, given: bytes = b""
) -> bytes:
    """Run a reading command of git in a folder and return what it prints.

    `hook` is the environment of a git hook, whose repository and index are then used. Raise GitError where git is
    missing, fails, or needs more than so many seconds.
    """
    environ = {key: value for key, value in os.environ.items() if key not in _REPOSITORY} if hook is None else hook
    first, *rest = words
    diffs = _DIFFS if first in ("diff", "log", "show") else ()
    names = () if first == "check-ignore" else ("--literal-pathspecs",)  # it takes names alone
    try:
        done = subprocess.run(
            ["git", *_GUARDS, *names, "-C", str(folder), first, *diffs, *rest],
            env={**environ, **_ENVIRONMENT},
            input=given,
            capture_output=True,
            check=False,
            timeout=seconds,
        )
    except FileNotFoundError:
        raise GitError("there is no git", "install it") from None
    except OSError as error:
        raise GitError(f"git cannot be run ({error.strerror})") from None
    except subprocess.TimeoutExpired:
        raise GitError(f"git took more than {seconds:g} s") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"git {first} failed"]
        raise GitError(next((line for line in said if line.startswith("fatal: ")), said[-1]).removeprefix("fatal: "))
    return done.stdout


def text(folder: Path, *words: str, seconds: float = SECONDS) -> str:
    """Run a reading command of git in a folder and return what it prints as text."""
    return run(folder, *words, seconds=seconds).decode("utf-8", "replace")


def hooks_folder(folder: Path) -> Path:
    """Return the folder that git runs a repository's hooks from; raise GitError where there is no repository."""
    common = os.fsdecode(run(folder, "rev-parse", "--git-common-dir").removesuffix(b"\n"))
    # The last value is the one of our guards.
    set_to = run(folder, "config", "--type=path", "--null", "--get-all", "core.hooksPath").split(b"\0")[:-2]
    return (folder / (os.fsdecode(set_to[-1]) if set_to else f"{common}/hooks")).absolute()
