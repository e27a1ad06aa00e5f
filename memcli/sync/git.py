"""The git repository of a workspace: run git with a time limit, and read and write its objects.

git runs without hooks and signatures here, and never asks for a password.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from ..errors import BusyError, MemError, RejectedError, UnavailableError
from ..store import SAFE_OPTIONS, Workspace, parse_objects, run_program

# hooksPath: a hook that fails would stop the sync halfway, and mem's own post-merge hook would
# index the files a second time. autocrlf=false: mem compares files byte by byte. gpgSign: a
# signature asks for a passphrase.
SETTINGS = """
core.hooksPath=/dev/null core.autocrlf=false submodule.recurse=false
fetch.recurseSubmodules=false push.recurseSubmodules=no push.gpgSign=false push.followTags=false
merge.verifySignatures=false
"""
OPTIONS = (*SAFE_OPTIONS, *(word for setting in SETTINGS.split() for word in ("-c", setting)))
# Other GIT_ variables, which a git hook sets, would lead git to the wrong repository.
OWN_VARIABLES = re.compile("(?!GIT_)|GIT_(?:AUTHOR|COMMITTER|SSH|CONFIG|SSL|PROXY)")
# Under cron or an agent, nobody could answer. LC_ALL: mem reads the English messages of git.
NO_QUESTIONS = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "GCM_INTERACTIVE": "never",
}
LOCAL_SECONDS = 120.0
# `ana:hunter2@` in "https://ana:hunter2@example.org/hub.git"
PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")
# "fatal: could not read Username for 'https://example.org': terminal prompts disabled"
# "git@example.org: Permission denied (publickey)."
# "error: RPC failed; HTTP 403 curl 22 The requested URL returned error: 403"
NEEDS_KEY = re.compile(
    "could not read (?:Username|Password)|terminal prompts disabled|Authentication failed"
    r"|Permission denied|Host key verification failed|Access denied|error: 40[13]"
)
# "! HEAD:refs/heads/main [rejected] (fetch first)". Of two pushes in the same moment, the loser
# gets "[remote rejected] (cannot lock ref …)", or another of these reasons by version of git.
FASTER = re.compile(
    "fetch first|non-fast-forward|stale info|cannot lock ref|failed to update ref|incorrect old"
)
# "fatal: Unable to create '/home/ana/mem/.git/index.lock': File exists."
# "error: could not lock config file .git/config: File exists"
LOCKED = re.compile(
    r"(?:Unable to create '|could not lock config file )(.+?)(?:\.lock)?'?: File exists"
)
UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
NO_OBJECT = "0" * 40
REGULAR = ("100644", "100755")


class GitError(Exception):
    """git failed. Callers turn this into an error for the user."""

    def __init__(self, reason: str, output: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.output = output


class Blob(NamedTuple):
    """A file of a commit or of an index."""

    mode: str
    object_id: str


class Repository:
    """The repository whose top folder is a workspace."""

    def __init__(self, workspace: Workspace, new_address: str = "") -> None:
        self.top = workspace.root
        self.new_address = new_address  # of the remote origin, which is not configured yet
        self.options = list(OPTIONS)
        if new_address:
            self.options += ["-c", f"remote.origin.url={new_address}"]
        self.seconds = float(workspace.settings["sync.timeout"])
        date = workspace.now.astimezone(workspace.zone).isoformat(timespec="seconds")
        variables = workspace.context.environment
        self.environment = {
            name: value for name, value in variables.items() if OWN_VARIABLES.match(name)
        }
        self.environment |= {**NO_QUESTIONS, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        # If .git is damaged, git must not take the repository of a folder above.
        self.environment["GIT_CEILING_DIRECTORIES"] = str(self.top.parent)
        if not variables.get("GIT_AUTHOR_EMAIL") and not self.get_config("user.email"):
            # On a machine without a name for its user, such as a container, git would refuse.
            for role in ("GIT_AUTHOR", "GIT_COMMITTER"):
                self.environment |= {f"{role}_NAME": "mem", f"{role}_EMAIL": "mem@localhost"}

    def run(
        self, *arguments: str, data: str = "", index: str = "", codes: Sequence[int] = (0,)
    ) -> str:
        """Return the output of git. Raises GitError for other exit codes."""
        command = ["git", *self.options, "-C", str(self.top), *arguments]
        seconds = self.seconds if arguments[0] in ("fetch", "push") else LOCAL_SECONDS
        environment = {**self.environment, "GIT_INDEX_FILE": index} if index else self.environment
        try:
            code, output, messages = run_program(command, environment, encode(data), seconds)
        except BusyError:
            raise GitError(f"it did not answer within {seconds:g} seconds") from None
        if code not in codes:
            raise GitError(find_reason(messages or output), decode(output + b"\n" + messages))
        return decode(output)

    def try_run(self, *arguments: str) -> str:
        """Return the first line of output, or an empty string after an error."""
        try:
            return self.run(*arguments).strip().partition("\n")[0]
        except GitError:
            return ""

    def get_config(self, name: str) -> str:
        return self.try_run("config", "--get", name)

    def find_commit(self, name: str) -> str:
        """Return the id of the commit that git knows by a name."""
        return self.try_run("rev-parse", "--quiet", "--verify", f"{name}^{{commit}}")

    def find_tree(self, commit: str) -> str:
        return self.try_run("rev-parse", f"{commit}^{{tree}}")

    def is_ancestor(self, ancestor: str, commit: str) -> bool:
        return self.try_run("merge-base", ancestor, commit) == ancestor

    def find_base(self, ours: str, theirs: str) -> str:
        """Return the common ancestor of two commits, or the empty tree."""
        # Two machines that each began a memory of their own have no common commit.
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
        """Raise RejectedError if a merge or rebase of a person is unfinished."""
        folder = Path(self.top, self.run("rev-parse", "--git-dir").strip())
        if any((folder / name).exists() for name in UNFINISHED):
            raise RejectedError(
                "a merge or rebase of git is unfinished here", "finish it first: git status"
            )

    def list_files(self, index: str, option: str) -> dict[str, dict[int, Blob]]:
        """Return the files of an index: 0 merged, or 1 base, 2 ours and 3 theirs."""
        files: dict[str, dict[int, Blob]] = {}
        # A row: `100644 2cdcdb0… 2<tab>entries/2026-11/tea-4kq7tz.md`
        for row in self.run("ls-files", option, "-z", index=index).split("\0"):
            details, _, path = row.partition("\t")
            if path:
                mode, object_id, stage = details.split()
                files.setdefault(path, {})[int(stage)] = Blob(mode, object_id)
        return files

    def list_changes(self, base: str, target: str) -> dict[str, str]:
        """Return A, M, D or T for each path that two commits differ in."""
        options = ("-r", "-z", "--no-renames", "--name-status")
        fields = self.run("diff-tree", *options, base, target).split("\0")
        # Letters and paths in turns.
        return dict(zip(fields[1::2], fields[::2], strict=False))

    def read_blobs(self, names: Sequence[str]) -> dict[str, str | None]:
        """Return the texts of objects by id or COMMIT:PATH, None if missing."""
        lines = "".join(f"{name}\n" for name in names)
        output = self.run("cat-file", "--batch", data=lines) if names else ""
        contents = parse_objects(names, encode(output))
        return {
            name: None if content is None else decode(content) for name, content in contents.items()
        }

    def read_files(self, commit: str, paths: Sequence[str]) -> dict[str, str | None]:
        """Return the texts of files of a commit by their paths, None if missing."""
        names = {path: f"{commit}:{path}" for path in paths}
        for path, name in names.items():
            if "\n" in path:  # it would be two requests
                names[path] = self.try_run("rev-parse", name) or NO_OBJECT
        texts = self.read_blobs(list(names.values()))
        return {path: texts[name] for path, name in names.items()}

    def read_file(self, commit: str, path: str) -> str:
        """Return the text of a file of a commit, empty if it is missing."""
        return self.read_files(commit, [path])[path] or ""

    def write_commit(self, tree: str, parents: Sequence[str], message: str) -> str:
        options = [f"-p{parent}" for parent in parents]
        return self.run("commit-tree", *options, "-F", "-", tree, data=message).strip()

    def change_index(self, index: str, files: Mapping[str, Blob | None]) -> None:
        """Set files of an index, or remove those without a blob."""
        rows = []
        for path, blob in files.items():
            if blob is None:
                rows.append(f"0 {NO_OBJECT}\t{path}\0")
            else:
                # Also ends the conflict of an unmerged file.
                rows.append(f"{blob.mode} {blob.object_id}\t{path}\0")
        if rows:
            self.run("update-index", "-z", "--index-info", data="".join(rows), index=index)

    def fetch(self, remote: str) -> None:
        # A clone of one branch is configured to fetch only that one. --prune: `check_history` must
        # see that somebody deleted a branch.
        refs = f"+refs/heads/*:refs/remotes/{remote}/*"
        arguments = ("fetch", "--quiet", "--no-tags", "--prune", remote, refs)
        try:
            self.run(*arguments)
        except GitError as error:
            if LOCKED.search(error.output):
                raise  # on this machine
            raise explain_network_error(remote, error) from None

    def push(self, remote: str, commit: str, branch: str) -> bool:
        """Push a commit. Return False if another machine was faster."""
        target = f"{commit}:refs/heads/{branch}"
        try:
            self.run("push", "--porcelain", "--no-verify", remote, target)
        except GitError as error:
            # With --porcelain, the line of a rejected branch begins with "!". Without such a line,
            # the remote did not answer.
            if "\n!" not in f"\n{error.output}":
                raise explain_network_error(remote, error) from None
            if not FASTER.search(error.output):
                raise explain_rejection(remote, error) from None
            return False
        return True


def encode(text: str) -> bytes:
    # A file that is not UTF-8 must reach the other machine with the same bytes.
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def find_reason(messages: bytes) -> str:
    """Return the message that says why git failed, without passwords."""
    text = PASSWORD.sub("", messages.decode("utf-8", "replace"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # Progress and warnings come first: "warning: redirecting to https://example.org/hub.git/"
    fatal = [line for line in lines if line.startswith(("fatal: ", "error: ", "ERROR: "))]
    if fatal:
        return fatal[0].partition(": ")[2]
    return lines[0] if lines else "git failed"


def explain_network_error(remote: str, error: GitError) -> MemError:
    if NEEDS_KEY.search(error.output):
        return UnavailableError(
            f"{remote} refused access: {error.reason}",
            "set up an SSH key or a credential helper, until this works: git ls-remote ADDRESS",
        )
    return UnavailableError(
        f"cannot reach {remote}: {error.reason}",
        "your memories are committed here; check the address, or sync again later",
    )


def explain_rejection(remote: str, error: GitError) -> RejectedError:
    """Return the error for a push that the remote rejected."""
    # "!  HEAD:refs/heads/main  [remote rejected] (pre-receive hook declined)", and above it
    # "remote: only Bo may push here", which a hook of the remote printed.
    reason = re.search(r"\[remote rejected\] \(([^)]*)\)", error.output)
    remark = re.search(r"(?m)^remote: *(\S.*?) *$", error.output)
    reasons = [match[1] for match in (reason, remark) if match]
    return RejectedError(
        f"{remote} rejected the memories: {'; '.join(reasons) or error.reason}",
        "your memories are committed here; ask the owner of the remote",
    )


def explain_local_error(repository: Repository, error: GitError) -> MemError:
    """Return the error for a git command that failed on this machine."""
    match = LOCKED.search(error.output)
    if not match:
        return RejectedError(f"git: {error.reason}")
    # Not deleted here: a person's `git commit` holds this lock while an editor is open.
    lock = quote(str(Path(repository.top, f"{match[1]}.lock")))
    return BusyError(
        "another git process is running here, or was killed and left a lock",
        f"run mem sync again; if no git is running here, first: rm {lock}",
    )
