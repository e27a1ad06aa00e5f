"""Nothing that a repository's own configuration names is run, whatever is asked of git."""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from memcli.errors import GitError
from memcli.git import run
from tests.conftest import Mem
from tests.tables import cases

WHO = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
SIGNATURE = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n aGVsbG8=\n -----END PGP SIGNATURE-----"


def real(folder: Path, *words: str, given: str | None = None, check: bool = True) -> str:
    """Run git as a person would, the repository's configuration included."""
    environ = {**os.environ, **WHO, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env=environ,
        input=given or "",
        timeout=600,
        text=True,
        capture_output=True,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.strip()


class Trap:
    """A repository whose configuration names a program wherever git takes one; each run of it leaves a word."""

    def __init__(self, top: Path, folder: Path) -> None:
        self.top = top
        self.canary = folder / "canary"
        self.program = folder / "evil"
        self.program.write_text(f'#!/bin/sh\necho "$0 $*" >> "{self.canary}"\n')
        self.program.chmod(0o755)

    @property
    def sang(self) -> str:
        """What ran since it was last asked."""
        told = self.canary.read_text() if self.canary.exists() else ""
        self.canary.unlink(missing_ok=True)
        return told

    def arm(self) -> None:
        """Put the program into .git/config, one half by way of an included file."""
        evil = self.program
        hooks = self.top / ".git/evil-hooks"
        hooks.mkdir()
        for name in ("post-index-change", "fsmonitor-watchman", "post-checkout", "reference-transaction"):
            shutil.copy(evil, hooks / name)
        (self.top / ".git/included").write_text(
            f"[gpg]\n\tprogram = {evil}\n"
            f'[gpg "openpgp"]\n\tprogram = {evil}\n[gpg "ssh"]\n\tprogram = {evil}\n\tdefaultKeyCommand = {evil}\n'
            f"[log]\n\tshowSignature = true\n[format]\n\tpretty = %H %G? %GG\n"
            f"[credential]\n\thelper = !{evil}\n"
            f'[diff "evil"]\n\tcommand = {evil}\n\ttextconv = {evil}\n'
            f'[filter "evil"]\n\tclean = {evil}\n\tsmudge = {evil}\n\tprocess = {evil}\n\trequired = true\n'
        )
        with (self.top / ".git/config").open("a") as config:
            config.write(
                f"[core]\n\tfsmonitor = {evil}\n\thooksPath = {hooks}\n\tpager = {evil}\n\teditor = {evil}\n"
                f"\taskPass = {evil}\n\tsshCommand = {evil}\n\tgitProxy = {evil}\n"
                "\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n"
                f"[diff]\n\texternal = {evil}\n\tsubmodule = diff\n[color]\n\tui = always\n\tdiff = always\n"
                f"[pager]\n\tlog = {evil}\n\tshow = {evil}\n\tdiff = {evil}\n"
                f"[sequence]\n\teditor = {evil}\n[interactive]\n\tdiffFilter = {evil}\n"
                "[alias]\n"
                + "".join(f"\t{name} = !{evil}\n" for name in ("log", "show", "diff", "cat-file", "x"))
                + f'[remote "origin"]\n\turl = ext::{evil} %S\n\tuploadpack = {evil}\n\tpromisor = true\n\tvcs = ext\n'
                '[protocol "ext"]\n\tallow = always\n'
                '[includeIf "gitdir:/**"]\n\tpath = included\n'
            )


@pytest.fixture
def trap(world: Path, mem: Mem, tmp_path: Path) -> Trap:
    """Give a repository with a workspace, a signed commit and one whose blob is missing, armed."""
    real(world, "init", "-q", "-b", "main", ".")
    assert mem("init").code == 0
    note = world / "memory/entries/a.md"
    note.parent.mkdir(exist_ok=True)
    (world / ".gitattributes").write_text("* diff=evil filter=evil merge=evil\n")
    for text in ("first", "second"):
        note.write_text(f"---\nid: mem_a\ntype: fact\n---\n\n{text}\n")
        real(world, "add", "-A")
        real(world, "commit", "-q", "-m", text)
    tree, parent = real(world, "rev-parse", "HEAD^{tree}"), real(world, "rev-parse", "HEAD")
    who = "a <a@example.org> 1700000000 +0000"
    body = f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n{SIGNATURE}\n\nsigned\n"
    commit = real(world, "hash-object", "-t", "commit", "-w", "--stdin", given=body)
    real(world, "reset", "-q", "--hard", commit)
    # The blob of the first commit is not here: a partial clone would fetch it.
    blob = real(world, "rev-parse", f"{parent}~1:memory/entries/a.md")
    (world / ".git/objects" / blob[:2] / blob[2:]).unlink()
    sources = "".join(f"  - commit:{one}\n" for one in (commit, parent))
    note.write_text(f"---\nid: mem_a\ntype: fact\nsources:\n{sources}---\n\nthird\n")
    real(world, "add", "-A")
    made = Trap(world, tmp_path)
    made.arm()
    return made


@cases("words")
def test_the_trap_closes_on_a_git_without_guards(trap: Trap, words: tuple[str, ...]) -> None:
    real(trap.top, *words, check=False)
    assert trap.sang


@cases("words")
def test_no_command_runs_what_a_repository_names(trap: Trap, mem: Mem, words: tuple[str, ...]) -> None:
    mem(*words)
    assert trap.sang == ""


def test_a_commit_is_still_shown_plainly(trap: Trap, mem: Mem) -> None:
    shown = mem("read", "mem_a", "--source").out
    assert "signed" in shown
    assert "Author:" in shown
    assert "\x1b" not in shown
    assert [one["subject"] for one in mem("read", "mem_a", "--history", "--json").json["log"]][:1] == ["second"]


@cases("words")
def test_no_reading_of_git_runs_what_a_repository_names(trap: Trap, words: tuple[str, ...]) -> None:
    with suppress(GitError):  # such as for the blob that is not here
        run.run(trap.top, *words)
    assert trap.sang == ""


def test_gits_variables_of_another_repository_are_not_heeded(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("here", "there"):
        real(world, "init", "-q", name)
    monkeypatch.setenv("GIT_DIR", str(world / "there/.git"))
    assert run.text(world / "here", "rev-parse", "--show-toplevel").strip() == str(world / "here")


def test_a_git_that_hangs_is_given_up(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = world / "bin/git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    with pytest.raises(GitError, match=r"took more than 0\.2 s"):
        run.run(world, "log", seconds=0.2)


@pytest.mark.parametrize("hooks", ["", "own hooks", "/somewhere/else"])
def test_the_folder_of_hooks_is_the_one_git_uses(world: Path, hooks: str, tmp_path: Path) -> None:
    real(world, "init", "-q", ".")
    if hooks:
        real(world, "config", "core.hooksPath", hooks)
    told = real(world, "rev-parse", "--git-path", "hooks")
    assert run.hooks_folder(world) == world / told
    (world / "inner").mkdir()
    assert run.hooks_folder(world / "inner").resolve() in ((world / told).resolve(), (world / "inner" / told).resolve())
