"""Run git: to read, where no program that a repository names may run, or to change, where the user's own programs do.

A repository may have come from others with its `.git/config`: for a reading command nothing named there may run, page,
sign, fetch or open an editor. Diffs compare what is stored, never files of the worktree, so that no filter of its
attributes runs either. Hooks, ssh and credential helpers run for what changes, as the user set them up.
"""

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from ..dataclass import dataclass
from ..errors import BusyError, GitError, MemError, RefusedError, UnavailableError, UsageError
from ..store.workspace import Workspace

SECONDS = 10.0
"""For a reading command."""
CHANGE_SECONDS = 60.0
"""For what touches this machine alone."""
_LISTING_SECONDS = 30.0
HISTORY_SECONDS = 5.0
_GRACE = 5.0  # seconds in which a stopped git removes its locks
# What stands on the command line outranks every configuration file, those it includes too.
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
_READING_CONFIG = (
    f"core.hooksPath={os.devnull}",
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
    "color.diff=false",
    "safe.bareRepository=explicit",  # a folder of a clone may look like a repository of its own
)
_DIFFS = ("--no-ext-diff", "--no-textconv")
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
    "MEM_INSIDE_HOOK": "1",  # our own hooks pass: what they do is done here
}
_READING_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone fetches what it lacks, by whatever program its remote names
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
_LEFT_OUT = (*REPOSITORY, "GIT_CONFIG_PARAMETERS")  # what a hook's git was told is not for this one
_TRACES = ("GIT_TRACE", "GIT_CURL_VERBOSE")


class Done(NamedTuple):
    """How a command of git ended."""

    code: int
    out: bytes
    stderr: str  # without passwords

    @property
    def lines(self) -> list[str]:
        """Return what git wrote on stderr, a line each, without the marks that it puts before it."""
        lines = (re.sub(r"^(?:fatal|error|warning): ", "", line).strip() for line in self.stderr.splitlines())
        return [line for line in lines if line and not line.startswith("hint:")]


def _execute(
    folder: Path, words: Sequence[str], given: bytes, seconds: float, environ: Mapping[str, str], *config: str
) -> Done:
    """Run git in a folder, with more settings than those for every command.

    Raise GitError where it cannot be run, TimeoutExpired where it needs more than so many seconds; it is stopped then,
    and what it started with it.
    """
    settings = [word for setting in (*_CONFIG, *config) for word in ("-c", setting)]
    is_literal = words[0] != "check-ignore"  # it takes names alone
    try:
        process = subprocess.Popen(
            ["git", "--no-pager", *settings, "-C", str(folder), *words],
            env={**environ, "GIT_LITERAL_PATHSPECS": str(int(is_literal))},
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
    except BaseException:
        _stop(process)
        raise
    return Done(process.returncode, out, without_passwords(err.decode("utf-8", "replace")))


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Stop git and what it started; asked politely first, it removes its locks."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_GRACE)
            return


def _environment() -> dict[str, str]:
    """Return the environment without what a hook or a trace of git's adds to it."""
    return {key: value for key, value in os.environ.items() if key not in _LEFT_OUT and not key.startswith(_TRACES)}


def run(
    folder: Path, *words: str, seconds: float = SECONDS, hook: Mapping[str, str] | None = None, given: bytes = b""
) -> bytes:
    """Run a reading command of git in a folder and return what it prints.

    `hook` is the environment of a git hook, whose repository and index are then used. Raise GitError where git is
    missing, fails, or needs more than so many seconds, BusyError where another git holds the lock of its settings.
    """
    environ = {**(_environment() if hook is None else hook), **_ENVIRONMENT, **_READING_ENVIRONMENT}
    first, *arguments = words
    diffs = _DIFFS if first in ("diff", "log", "show") else ()
    try:
        done = _execute(folder, (first, *diffs, *arguments), given, seconds, environ, *_READING_CONFIG)
    except subprocess.TimeoutExpired:
        raise GitError(f"git took more than {seconds:g} s") from None
    if done.code:
        lines = done.stderr.strip().splitlines() or [f"git {first} failed"]
        if lock := re.search(r"could not lock config file (.+): File exists", lines[-1]):
            raise locked(f"{folder / lock[1]}.lock")
        raise GitError(next((line for line in lines if line.startswith("fatal: ")), lines[-1]).removeprefix("fatal: "))
    return done.out


def text(folder: Path, *words: str, seconds: float = SECONDS) -> str:
    """Run a reading command of git in a folder and return what it prints as text; raise as `run` does."""
    return run(folder, *words, seconds=seconds).decode("utf-8", "replace")


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
    try:
        done = _execute(folder, words, given, seconds, {**_environment(), **_ENVIRONMENT, **(environ or {})})
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"git {words[0]} took more than {seconds:g} s", "run `mem sync` again") from None
    if done.code and (lock := re.search(r"Unable to create '([^']+\.lock)': File exists", done.stderr)):
        raise locked(lock[1])
    return done


def change(folder: Path, *words: str, given: bytes = b"", environ: Mapping[str, str] | None = None) -> bytes:
    """Run git in a folder and return what it prints; raise RefusedError, with git's own words, where it fails."""
    done = attempt(folder, *words, given=given, environ=environ)
    if done.code:
        raise refused(done, f"git {words[0]} failed", "put that right, then run `mem sync` again")
    return done.out


def locked(path: str) -> BusyError:
    """Return the error of a lock of git's that is there."""
    return BusyError(f"{path} is there: another git is at work, or was killed", "if none runs, delete that file")


def refused(done: Done, what: str, fix: str) -> MemError:
    """Return the error of a failed command of git, with the first line it wrote on stderr."""
    reason = next(iter(done.lines), "")
    return RefusedError(f"{what} ({reason})" if reason else what, fix)


_USELESS = (
    "Could not read from remote repository",
    "Please make sure you have the correct access rights",
    "and the repository exists",
    "the remote end hung up",
    "failed to push some refs",
)


def unreachable(done: Done, remote: str) -> UnavailableError:
    """Return the error of a remote that cannot be reached, with the most telling line that git wrote."""
    lines = [line for line in done.lines if not line.startswith(_USELESS)]
    reason = (lines or done.lines or ["no reason given"])[0].removeprefix("remote: ")
    name = without_passwords(remote)
    return UnavailableError(f"{name} cannot be reached ({reason})", f"look with `git ls-remote {quote(name)}`")


def without_passwords(text: str) -> str:
    """Return a text with the user names and passwords blanked out that stand in addresses, and headers that hold any.

    The name before the host of an address of ssh is no secret, and stays.
    """
    text = re.sub(r"\b(\w[\w+.-]*://)[^/\s:@]*:[^/\s]*@", r"\1…@", text)
    text = re.sub(r"\b((?:https?|ftps?)://)[^/\s@]+@", r"\1…@", text)
    return re.sub(r"(?i)\b(authorization: *\w+) +\S+", r"\1 …", text)


def split(output: bytes) -> list[str]:
    """Return the texts that git printed with `-z`, without empty ones."""
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def joined(names: Sequence[str]) -> bytes:
    """Return names as git reads them with `-z --stdin`."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def listing_rows(output: bytes) -> Iterator[tuple[list[str], str]]:
    """Yield what `ls-tree -z` or `ls-files --stage -z` printed: the fields before a path, and the path."""
    for row in split(output):
        fields, _, path = row.partition("\t")
        yield fields.split(" "), path


def raw_changes(output: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield what git printed with `--raw -z`, renames not followed: a path, its modes and blobs, and its commit's line.

    The modes and blobs begin with a colon for each parent. The line is that of the format, or of the trees compared.
    """
    words = iter(split(output))
    line = ""
    for word in words:
        for part in filter(None, word.split("\n")):
            if part.startswith(":"):
                yield next(words), part, line
            else:
                line = part


def local_settings(folder: Path) -> dict[str, str]:
    """Return what the repository's own file of settings says, by name; the last value where it says a name twice."""
    lines = split(run(folder, "config", "--local", "--null", "--list"))
    return dict(line.partition("\n")[::2] for line in lines)


def set_locally(folder: Path, name: str, value: str | None) -> None:
    """Set a value in the repository's own file of settings, or take it out; raise as `run` does."""
    run(folder, "config", "--local", *(("--unset-all", name) if value is None else ("--replace-all", name, value)))


def hooks_folder(folder: Path) -> Path:
    """Return the folder that git runs a repository's hooks from; raise GitError where there is no repository."""
    common = os.fsdecode(run(folder, "rev-parse", "--git-common-dir").removesuffix(b"\n"))
    # The last value is the one of our guards.
    values = run(folder, "config", "--type=path", "--null", "--get-all", "core.hooksPath").split(b"\0")[:-2]
    return (folder / (os.fsdecode(values[-1]) if values else f"{common}/hooks")).absolute()


LINK, MODULE = "120000", "160000"
"""Modes of a symbolic link, and of another repository."""


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
    output = _run_for_check(
        top, environ, "diff", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames",
        "--diff-filter=AMT", "--", prefix or ".",
    )  # fmt: skip
    rows = [(path, *fields.split(" ")[1:4:2]) for path, fields, _ in raw_changes(output)]
    data = blobs(top, [blob for _, mode, blob in rows if mode != MODULE], environ)
    return sorted(
        (
            Staged(path.removeprefix(f"{prefix}/") if prefix else path, data[blob], mode == LINK)
            for path, mode, blob in rows
            if blob in data
        ),
        key=lambda file: file.path,
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
    start = folder if "GIT_DIR" in environ else root
    top = Path(os.fsdecode(_run_for_check(start, environ, "rev-parse", "--show-toplevel").rstrip(b"\n"))).resolve()
    if not root.resolve().is_relative_to(top):
        raise UsageError(f"{root} is not in the git repository {top}", "name a workspace inside it")
    prefix = root.resolve().relative_to(top).as_posix()
    return top, "" if prefix == "." else prefix


def _run_for_check(folder: Path, environ: Mapping[str, str], *words: str) -> bytes:
    try:
        return run(folder, *words, seconds=_LISTING_SECONDS, hook=environ)
    except GitError as error:
        fix = "check without --staged"
        if error.fix:
            raise UsageError(error.message, f"{error.fix}, or {fix}") from None
        raise UsageError(f"{folder}: {error.message}", fix) from None


def blobs(folder: Path, names: Sequence[str], hook: Mapping[str, str] | None = None) -> dict[str, bytes]:
    """Read blobs in one go, by name; those that the repository lacks are left out. `hook` is as for `run`."""
    if not names:
        return {}
    given = "".join(f"{name}\n" for name in names).encode()
    output = run(folder, "cat-file", "--batch", seconds=_LISTING_SECONDS, hook=hook, given=given)
    data: dict[str, bytes] = {}
    start = 0
    for name in names:
        end = output.index(b"\n", start)
        fields = output[start:end].split(b" ")
        if len(fields) < 3:  # a blob that is missing, as in a partial clone
            start = end + 1
            continue
        size = int(fields[2])
        data[name] = output[end + 1 : end + 1 + size]
        start = end + size + 2
    return data


def _try(folder: Path, *words: str, seconds: float) -> bytes:
    """Return what a reading command prints; nothing where there is no repository, or git fails."""
    if not any((parent / ".git").exists() for parent in (folder, *folder.parents)):
        return b""
    try:
        return run(folder, *words, seconds=seconds)
    except GitError:
        return b""


def _try_blobs(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    try:
        return blobs(folder, names)
    except GitError:
        return {}


def unmerged(workspace: Workspace) -> dict[str, dict[int, bytes]]:
    """Return the files of a workspace that git could not merge: what the base (1), ours (2) and theirs (3) have.

    A side is left out where it has no such file. Nothing where there is no repository, or git fails.
    """
    rows = [*listing_rows(_try(workspace.root, "ls-files", "--unmerged", "-z", seconds=_LISTING_SECONDS))]
    data = _try_blobs(workspace.root, [blob for (_, blob, _), _ in rows])
    files: dict[str, dict[int, bytes]] = {}
    for (mode, blob, stage), path in rows:
        if mode not in (LINK, MODULE) and blob in data:
            files.setdefault(path, {})[int(stage)] = data[blob]
    return files


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
    words = ("log", "--all", "-z", "--format=", "--name-only", "--no-renames", "--", *paths)
    output = _try(folder, *words, seconds=HISTORY_SECONDS)
    return sorted({name.strip("\n") for name in split(output)} - {""})


def deleted(folder: Path) -> list[tuple[str, bytes]]:
    """Return path and text of the files below a folder that commits deleted or moved, the last ones first.

    Those that a merge under way has deleted are among them. Nothing where there is no repository, or git fails.
    """
    how = ("-m", "--no-renames", "--diff-filter=D", "--raw", "-z", "--no-abbrev", "--relative", "--format=")
    words = ("log", "--ignore-missing", *how, "HEAD", "MERGE_HEAD", "--", ".")
    output = _try(folder, *words, seconds=_LISTING_SECONDS)
    rows = dict.fromkeys((path, fields.split(" ")[2]) for path, fields, _ in raw_changes(output))
    data = _try_blobs(folder, list({blob for _, blob in rows}))
    return [(path, data[blob]) for path, blob in rows if blob in data]


def versions(file: Path) -> list[Version]:
    """List the commits that changed a file, the newest first, its renames followed."""
    words = ("log", "--follow", f"--max-count={MOST}", f"--format={FORMAT}", "--", file.name)
    lines = _try(file.parent, *words, seconds=HISTORY_SECONDS).decode("utf-8", "replace").split("\n")
    return [Version(*fields) for line in lines if len(fields := line.split("\0")) == 4]
