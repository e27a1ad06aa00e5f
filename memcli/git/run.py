"""Run git to read, and set the merge driver's lines in a repository's settings; `git_changes` does all other changing.

A repository may have come from others with its `.git/config`: no program named there may run, page, sign, fetch or open
an editor. Diffs compare what is stored, never files of the worktree, so that no filter of its attributes runs either.
"""

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..dataclass import dataclass
from ..errors import BusyError, GitError, MemError, RefusedError, UnavailableError, UsageError
from ..store.workspace import Workspace

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
REPOSITORY = (
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
    missing, fails, or needs more than so many seconds, BusyError where another git holds the lock of its settings.
    """
    environ = {key: value for key, value in os.environ.items() if key not in REPOSITORY} if hook is None else hook
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
        if lock := re.search(r"could not lock config file (.+): File exists", said[-1]):
            raise locked(f"{folder / lock[1]}.lock")
        raise GitError(next((line for line in said if line.startswith("fatal: ")), said[-1]).removeprefix("fatal: "))
    return done.stdout


def locked(path: str) -> BusyError:
    """Return the error of a lock of git's that is there."""
    return BusyError(f"{path} is there: another git is at work, or was killed", "if none runs, delete that file")


def text(folder: Path, *words: str, seconds: float = SECONDS) -> str:
    """Run a reading command of git in a folder and return what it prints as text."""
    return run(folder, *words, seconds=seconds).decode("utf-8", "replace")


def local_settings(folder: Path) -> dict[str, str]:
    """Return what the repository's own file of settings says, by name; the last value where it says a name twice."""
    told = os.fsdecode(run(folder, "config", "--local", "--null", "--list")).split("\0")
    return dict(line.partition("\n")[::2] for line in told if line)


def set_locally(folder: Path, name: str, value: str | None) -> None:
    """Set what the repository's own file of settings says, or take it out: the one change made by this module."""
    run(folder, "config", "--local", *(("--unset-all", name) if value is None else ("--replace-all", name, value)))


def hooks_folder(folder: Path) -> Path:
    """Return the folder that git runs a repository's hooks from; raise GitError where there is no repository."""
    common = os.fsdecode(run(folder, "rev-parse", "--git-common-dir").removesuffix(b"\n"))
    # The last value is the one of our guards.
    set_to = run(folder, "config", "--type=path", "--null", "--get-all", "core.hooksPath").split(b"\0")[:-2]
    return (folder / (os.fsdecode(set_to[-1]) if set_to else f"{common}/hooks")).absolute()


_LINK, _MODULE = "120000", "160000"
_SECONDS = 30.0


@dataclass(frozen=True)
class Staged:
    """One file as it will be committed."""

    path: str  # within the workspace
    data: bytes
    is_link: bool  # a symbolic link: the data is where it leads


def staged(workspace: Workspace, environ: Mapping[str, str], folder: Path) -> list[Staged]:
    """List the added and changed files of the workspace in git's index, by path.

    `folder` is where the command runs, which for a hook is the top of its worktree. Raises UsageError where there is
    no repository or no git.
    """
    top, prefix = _top(workspace.root, environ, folder)
    told = _git(
        top, environ, "diff", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames",
        "--diff-filter=AMT", "--", prefix or ".",
    ).split(b"\0")  # fmt: skip
    found: list[tuple[str, str, str]] = []
    for head, name in zip(told[::2], told[1::2], strict=False):
        _, mode, _, blob, _ = head.decode().split(" ")
        path = os.fsdecode(name)
        if mode != _MODULE:
            found.append((path.removeprefix(f"{prefix}/") if prefix else path, mode, blob))
    texts = blobs(top, [blob for _, _, blob in found], environ)
    return sorted(
        (Staged(path, texts[blob], mode == _LINK) for path, mode, blob in found if blob in texts),
        key=lambda one: one.path,
    )


def in_repository(workspace: Workspace, environ: Mapping[str, str], folder: Path) -> bool:
    """Return whether a workspace lies in a git repository."""
    try:
        _top(workspace.root, environ, folder)
    except UsageError:
        return False
    return True


def _top(root: Path, environ: Mapping[str, str], folder: Path) -> tuple[Path, str]:
    """Return the top of the worktree and the workspace's path below it."""
    # With GIT_DIR set, git takes the folder it stands in for the top: only where the hook stands is that true.
    place = folder if "GIT_DIR" in environ else root
    top = Path(os.fsdecode(_git(place, environ, "rev-parse", "--show-toplevel").rstrip(b"\n"))).resolve()
    if not root.resolve().is_relative_to(top):
        raise UsageError(f"{root} is not in the git repository {top}", "name a workspace inside it")
    prefix = root.resolve().relative_to(top).as_posix()
    return top, "" if prefix == "." else prefix


def blobs(folder: Path, names: Sequence[str], hook: Mapping[str, str] | None = None) -> dict[str, bytes]:
    """Read blobs in one go, by name; those that the repository lacks are left out. `hook` is as for `run`."""
    if not names:
        return {}
    given = "".join(f"{name}\n" for name in names).encode()
    answer = run(folder, "cat-file", "--batch", seconds=_SECONDS, hook=hook, given=given)
    found: dict[str, bytes] = {}
    at = 0
    for name in names:
        end = answer.index(b"\n", at)
        kind = answer[at:end].split(b" ")
        if len(kind) < 3:  # a blob that is missing, as in a partial clone
            at = end + 1
            continue
        size = int(kind[2])
        found[name] = answer[end + 1 : end + 1 + size]
        at = end + size + 2
    return found


def _git(place: Path, environ: Mapping[str, str], *words: str, given: bytes = b"") -> bytes:
    try:
        return run(place, *words, seconds=_SECONDS, hook=environ, given=given)
    except GitError as error:
        fix = "check without --staged"
        if error.fix:
            raise UsageError(error.message, f"{error.fix}, or {fix}") from None
        raise UsageError(f"{place}: {error.message}", fix) from None


def unmerged(workspace: Workspace) -> dict[str, dict[int, bytes]]:
    """Return the files of a workspace that git could not merge: what the base (1), ours (2) and theirs (3) have.

    A side is left out where it has no such file. Nothing where there is no repository, or git fails.
    """
    if not any((folder / ".git").exists() for folder in (workspace.root, *workspace.root.parents)):
        return {}
    try:
        told = os.fsdecode(run(workspace.root, "ls-files", "--unmerged", "-z", seconds=_SECONDS)).split("\0")
        rows = [(*about.split(" "), path) for about, _, path in (line.partition("\t") for line in told if line)]
        data = blobs(workspace.root, [blob for _, blob, _, _ in rows])
    except GitError:
        return {}
    found: dict[str, dict[int, bytes]] = {}
    for mode, blob, stage, path in rows:
        if mode not in (_LINK, _MODULE) and blob in data:
            found.setdefault(path, {})[int(stage)] = data[blob]
    return found


BLOB_SECONDS = 5.0
MOST = 50
FORMAT = "%h%x00%aI%x00%an%x00%s"


@dataclass(frozen=True)
class Version:
    """One commit that changed the file."""

    commit: str
    date: str
    author: str
    subject: str


def committed(folder: Path, paths: Sequence[str]) -> list[str]:
    """Return which files, named from a folder, a commit has or had, named from the top of the repository."""
    if not any((place / ".git").exists() for place in (folder, *folder.parents)):
        return []
    words = ("log", "--all", "-z", "--format=", "--name-only", "--no-renames", "--", *paths)
    try:
        told = os.fsdecode(run(folder, *words, seconds=BLOB_SECONDS))
    except GitError:
        return []
    return sorted({name.strip("\n") for name in told.split("\0")} - {""})


def deleted(folder: Path) -> list[tuple[str, bytes]]:
    """Return path and text of the files below a folder that commits deleted or moved, the last ones first.

    Those that a merge under way has deleted are among them. Nothing where there is no repository, or git fails.
    """
    how = ("-m", "--no-renames", "--diff-filter=D", "--raw", "-z", "--no-abbrev", "--relative", "--format=")
    words = ("log", "--ignore-missing", *how, "HEAD", "MERGE_HEAD", "--", ".")
    try:
        told = iter(os.fsdecode(run(folder, *words, seconds=_SECONDS)).split("\0"))
        rows = dict.fromkeys((next(told), row.split(" ")[2]) for row in told if row.strip("\n").startswith(":"))
        texts = blobs(folder, list({blob for _, blob in rows}))
    except GitError:
        return []
    return [(path, texts[blob]) for path, blob in rows if blob in texts]


def versions(file: Path) -> list[Version]:
    """List the commits that changed a file, the newest first, its renames followed."""
    if not any((folder / ".git").exists() for folder in file.parents):
        return []
    words = ("log", "--follow", f"--max-count={MOST}", f"--format={FORMAT}", "--", file.name)
    try:
        told = text(file.parent, *words, seconds=BLOB_SECONDS)
    except GitError:
        return []
    rows = [line.split("\0") for line in told.split("\n")]
    return [Version(*row) for row in rows if len(row) == 4]


CHANGE_SECONDS = 60.0
"""For what touches this machine alone."""
_GRACE = 5.0  # seconds in which a stopped git removes its locks
_CHANGE_CONFIG = (
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
_CHANGE_ENVIRONMENT = {
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
    seconds: float = CHANGE_SECONDS,
    given: bytes = b"",
    environ: Mapping[str, str] | None = None,
) -> Done:
    """Run git in a folder and return how it ended; `environ` is added to the environment.

    Raise GitError where git is missing, BusyError where another git holds one of its locks, UnavailableError if it
    needs more than so many seconds; it is stopped then, and what it started with it.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT and not _is_trace(name)}
    guards = ["git", "--no-pager", *(word for one in _CHANGE_CONFIG for word in ("-c", one))]
    try:
        process = subprocess.Popen(
            [*guards, "-C", str(folder), *words],
            env={**kept, **_CHANGE_ENVIRONMENT, **(environ or {})},
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
