"""The git repository of a workspace: run git with a time limit, and read and write its objects.

Nothing here waits for a password, runs a hook of the repository, or signs anything.
"""

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

from ..errors import BusyError, MemError, NotFoundError, RejectedError, UnavailableError
from ..store.git import SAFE_OPTIONS
from ..store.workspace import Workspace

# autocrlf=false: mem compares files byte by byte.
SETTINGS = """
core.hooksPath=/dev/null core.quotePath=false core.autocrlf=false submodule.recurse=false
fetch.recurseSubmodules=false push.recurseSubmodules=no push.gpgSign=false push.followTags=false
merge.verifySignatures=false
"""
OPTIONS = (*SAFE_OPTIONS, *(word for setting in SETTINGS.split() for word in ("-c", setting)))
# Other GIT_ variables, which a git hook sets, would lead git to the wrong repository.
OWN_VARIABLES = (
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_SSH",
    "GIT_CONFIG_",
    "GIT_SSL_",
    "GIT_PROXY_",
)
NO_QUESTIONS = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_EDITOR": "true",
}
LOCAL_SECONDS = 120.0
PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")
NEEDS_KEY = re.compile(
    "could not read (?:Username|Password)|terminal prompts disabled|Authentication failed"
    r"|Permission denied|Host key verification failed|Access denied|error: 40[13]"
)
FASTER = re.compile(
    "fetch first|non-fast-forward|stale info|cannot lock ref|failed to update ref|incorrect old"
)
UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
NO_OBJECT = "0" * 40
REGULAR = ("100644", "100755")


class GitError(Exception):
    """git failed. Callers turn this into an error for the user."""

    def __init__(self, reason: str, output: str = "", *, is_timeout: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.output = output
        self.is_timeout = is_timeout


class Blob(NamedTuple):
    """A file of a commit or of an index."""

    mode: str
    object_id: str


class Repository:
    """The repository whose top folder is a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.top = workspace.root
        self.workspace = workspace
        self.seconds = float(workspace.settings["sync.timeout"])
        environment = workspace.context.environment
        date = workspace.now.astimezone(workspace.zone).isoformat(timespec="seconds")
        self.environment = {
            name: value
            for name, value in environment.items()
            if not name.startswith("GIT_") or name.startswith(OWN_VARIABLES)
        }
        self.environment |= {**NO_QUESTIONS, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        # If .git is damaged, git must not take the repository of a folder above.
        self.environment["GIT_CEILING_DIRECTORIES"] = str(self.top.parent)
        if not environment.get("GIT_AUTHOR_EMAIL") and not self.get_config("user.email"):
            # On a machine without a name for its user, such as a container, git would refuse.
            for role in ("GIT_AUTHOR", "GIT_COMMITTER"):
                self.environment |= {f"{role}_NAME": "mem", f"{role}_EMAIL": "mem@localhost"}

    def run(
        self,
        *arguments: str,
        data: str | bytes = b"",
        index: str = "",
        codes: Sequence[int] = (0,),
        seconds: float = LOCAL_SECONDS,
    ) -> str:
        """Return the output of git. Raises GitError if its exit code is not one of `codes`."""
        environment = {**self.environment, "GIT_INDEX_FILE": index} if index else self.environment
        code, output, errors = run_program(
            ["git", *OPTIONS, "-C", str(self.top), *arguments], environment, encode(data), seconds
        )
        if code not in codes:
            raise GitError(find_reason(errors, output), decode(output) + decode(errors))
        return decode(output)

    def try_run(self, *arguments: str) -> str:
        """Return the first line of git's output, or an empty string if it fails."""
        try:
            return self.run(*arguments).strip().partition("\n")[0]
        except GitError:
            return ""

    def get_config(self, name: str) -> str:
        return self.try_run("config", "--get", name)

    def find_commit(self, name: str) -> str:
        """Return the id of a commit by a name of git, or an empty string."""
        return self.try_run("rev-parse", "--quiet", "--verify", f"{name}^{{commit}}")

    def is_ancestor(self, ancestor: str, commit: str) -> bool:
        return self.try_run("merge-base", ancestor, commit) == ancestor

    def find_base(self, ours: str, theirs: str) -> str:
        """Return the common ancestor of two commits, or the empty tree."""
        return self.try_run("merge-base", ours, theirs) or self.empty_tree

    @property
    def empty_tree(self) -> str:
        return self.run("hash-object", "-t", "tree", "-w", "--stdin").strip()

    @property
    def branch(self) -> str:
        """The branch that is checked out."""
        branch = self.try_run("symbolic-ref", "--quiet", "--short", "HEAD")
        if not branch:
            raise RejectedError("no branch is checked out", "git switch main")
        return branch

    def check_free(self) -> None:
        """Raise RejectedError if a person has started a merge or rebase and not finished it."""
        folder = Path(self.top, self.run("rev-parse", "--git-dir").strip())
        for name in UNFINISHED:
            if (folder / name).exists():
                kind = name.partition("_HEAD")[0].partition("-")[0].lower().replace("_", "-")
                raise RejectedError(
                    f"a git {kind} is unfinished here",
                    f"finish it (git status), or: git {kind} --abort",
                )

    def list_unmerged(self, index: str) -> dict[str, dict[int, Blob]]:
        """Return the versions of the files that both sides changed: 1 base, 2 ours, 3 theirs."""
        unmerged: dict[str, dict[int, Blob]] = {}
        for row in self.run("ls-files", "--unmerged", "-z", index=index).split("\0"):
            details, _, path = row.partition("\t")
            if path:
                mode, object_id, stage = details.split()
                unmerged.setdefault(path, {})[int(stage)] = Blob(mode, object_id)
        return unmerged

    def list_changes(self, base: str, target: str) -> dict[str, str]:
        """Return A, M, D or T of each path that differs between two commits."""
        fields = self.run(
            "diff-tree", "-r", "-z", "--no-renames", "--name-status", base, target
        ).split("\0")
        return dict(zip(fields[1::2], fields[::2], strict=False))

    def read_blobs(self, names: Sequence[str]) -> list[str | None]:
        """Return the texts of objects, named by id or as COMMIT:PATH. A missing one is None."""
        lines = "".join(name.replace("\n", "") + "\n" for name in names)
        stream = BytesIO(encode(self.run("cat-file", "--batch", data=lines)) if names else b"")
        texts: list[str | None] = []
        for _ in names:
            # `ID blob SIZE`, or `NAME missing`. A name can have blanks.
            *_, kind, size = stream.readline().rsplit(maxsplit=2)
            content = stream.read(int(size) + 1)[:-1] if size.isdigit() else b""
            texts.append(decode(content) if kind == b"blob" and size.isdigit() else None)
        return texts

    def write_blob(self, text: str) -> str:
        return self.run("hash-object", "-w", "--stdin", data=text).strip()

    def change_index(self, index: str, files: Mapping[str, Blob | None]) -> None:
        """Set files of an index, or remove those without a blob."""
        rows = []
        for path, blob in files.items():
            rows.append(f"0 {NO_OBJECT}\t{path}\0")
            if blob is not None:
                rows.append(f"{blob.mode} {blob.object_id}\t{path}\0")
        if rows:
            self.run("update-index", "-z", "--index-info", data="".join(rows), index=index)

    def fetch(self, remote: str) -> None:
        refs = f"+refs/heads/*:refs/remotes/{remote}/*"
        arguments = ("fetch", "--quiet", "--no-tags", "--prune", remote, refs)
        try:
            self.run(*arguments, seconds=self.seconds)
        except GitError as error:
            raise explain_network_error(remote, error, self.seconds) from None

    def push(self, remote: str, commit: str, branch: str) -> bool:
        """Push a commit. Return whether it was accepted; if not, another machine was faster."""
        target = f"{commit}:refs/heads/{branch}"
        try:
            self.run("push", "--porcelain", "--no-verify", remote, target, seconds=self.seconds)
        except GitError as error:
            is_rejected = "\n!" in f"\n{error.output}"
            if is_rejected and FASTER.search(error.output):
                return False
            if is_rejected:
                raise explain_rejection(remote, error.output) from None
            raise explain_network_error(remote, error, self.seconds) from None
        return True


def run_program(
    arguments: Sequence[str], environment: Mapping[str, str], data: bytes, seconds: float
) -> tuple[int, bytes, bytes]:
    """Run a program and the programs that it starts. Kill all of them after some seconds."""
    # Not a pipe: an ssh that stays in the background (ControlPersist) would hold it open.
    with TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(environment),
                # ssh asks for a password on the terminal, and without a session there is none.
                start_new_session=True,
            )
        except OSError:
            raise NotFoundError("git is not installed", "install git") from None
        try:
            output, _ = process.communicate(data, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise GitError("no answer", is_timeout=True) from None
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            for pipe in filter(None, (process.stdin, process.stdout)):
                pipe.close()
        errors.seek(0)
        return process.returncode, output, errors.read()


def encode(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def find_reason(errors: bytes, output: bytes = b"") -> str:
    """Return the line of git's messages that says why it failed, without passwords."""
    text = PASSWORD.sub("", (errors or output).decode("utf-8", "replace"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal: ", "error: ", "ERROR: "))]
    reason = (fatal or lines or ["git failed"])[0]
    return reason.partition(": ")[2] if fatal else reason


def explain_network_error(remote: str, error: GitError, seconds: float) -> MemError:
    again = "your memories are saved here; run mem sync again later"
    if error.is_timeout:
        return UnavailableError(f"{remote} did not answer within {seconds:g} seconds", again)
    if NEEDS_KEY.search(error.output):
        return UnavailableError(
            f"{remote} refused access: {error.reason}",
            f"set up an SSH key or a credential helper, until this works: git ls-remote {remote}",
        )
    return UnavailableError(f"cannot reach {remote}: {error.reason}", again)


def explain_rejection(remote: str, output: str) -> RejectedError:
    """Return the error of a push that a hook or a rule of the remote rejected."""
    remarks = [line[8:].strip() for line in output.splitlines() if line.startswith("remote: ")]
    reason = next((line for line in remarks if line), "")
    match = re.search(r"\[remote rejected\] \(([^)]*)\)", output)
    why = "; ".join(filter(None, [match[1] if match else "", reason])) or "no reason given"
    return RejectedError(
        f"{remote} rejected the memories: {why}", "they are saved here; ask the owner of the remote"
    )


def explain_local_error(error: GitError) -> MemError:
    """Return the error for the user of a command that git refused on this machine."""
    if "index.lock': File exists" in error.output:
        return BusyError("another git process is running here", "or delete .git/index.lock")
    return RejectedError(f"git: {error.reason}")
