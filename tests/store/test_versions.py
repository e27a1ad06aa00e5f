"""The versions of a file are the commits git knows of."""

import subprocess
from pathlib import Path

from memcli.git.run import versions


def test_a_separator_of_lines_in_a_commits_subject_hides_no_version(world: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b", *words], cwd=world, check=True)

    git("init", "-q", ".")
    file = world / "a.md"
    for text in ("first", "second\u2028half"):
        file.write_text(text)
        git("add", "a.md")
        git("commit", "-q", "-m", text)
    assert [one.subject for one in versions(file)] == ["second\u2028half", "first"]
