"""A git repository with a workspace, and two branches of it that are merged as a user's git does."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from memcli.git import merge_driver

OURS, THEIRS = "ours", "theirs"
_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"), ("DATE", "2026-11-21T20:15:03Z"))
}


class Repository:
    """A repository whose workspace lies at its top or in a folder of it; files are given by their path there."""

    def __init__(self, top: Path, folder: str = "memory", *, has_driver: bool = True) -> None:
        self.top, self.root = top, top / folder
        self.root.mkdir(parents=True)
        self.git("init", "-q", "-b", "main", ".")
        self.git("config", "core.autocrlf", "false")
        (self.root / "mem.yaml").write_text("format: 1\n")
        (self.root / ".gitattributes").write_text(merge_driver.attributes_to_add(self.root))
        if has_driver:
            assert merge_driver.install(self.root)

    def git(self, *words: str, fails: bool = False, **environ: str) -> str:
        """Run git and return what it prints."""
        done = subprocess.run(
            ["git", *words], cwd=self.top, env={**os.environ, **_IDENTITY, **environ}, capture_output=True, check=False
        )
        assert fails or not done.returncode, done.stderr.decode()
        return (done.stdout + done.stderr).decode("utf-8", "replace")

    def commit(self, files: Mapping[str, bytes | str | None], branch: str = "", start: str = "main") -> None:
        """Commit files as they are to be, None for one that goes, on a branch that begins where another one stands."""
        if branch:
            self.git("checkout", "-q", "-B", branch, start)
        for path, text in files.items():
            place = self.root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                place.unlink()
            else:
                place.write_bytes(text.encode() if isinstance(text, str) else text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")

    def merge(self, branch: str = THEIRS, into: str = OURS, **environ: str) -> bool:
        """Merge one branch into another; return whether git did so by itself."""
        self.git("checkout", "-q", into)
        self.git("merge", "-q", "--no-edit", branch, fails=True, **environ)
        return not self.git("ls-files", "--unmerged")

    def merged(
        self, path: str, base: bytes | str | None, ours: bytes | str, theirs: bytes | str, **environ: str
    ) -> tuple[bytes, bool]:
        """Merge three versions of one file; return it and whether git did so by itself."""
        self.commit({path: base} if base is not None else {"other.txt": "x"})
        self.commit({path: theirs}, THEIRS)
        self.commit({path: ours}, OURS)
        is_clean = self.merge(**environ)
        return (self.root / path).read_bytes(), is_clean
