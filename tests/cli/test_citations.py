"""A memory of lines of code says when these lines are not what they were, wherever it is shown."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem
from tests.scenes import commit, git
from tests.tables import cases

CODE = "".join(f"value_{number} = {number}\n" for number in range(1, 41))
SAID = "Retries of the webhook stop after nine"


@pytest.fixture
def code(world: Path, workspace: Path) -> Path:
    """Give a file of a repository that the workspace lies in."""
    git(world, "init", "-q")
    path = world / "src" / "api.py"
    path.parent.mkdir()
    path.write_text(CODE)
    commit(world, "one")
    return path


def fields(workspace: Path) -> dict[str, str]:
    """Return the lines of the one entry's frontmatter."""
    [entry] = (workspace / "entries").rglob("*.md")
    return dict(line.partition(": ")[::2] for line in entry.read_text().split("---")[1].splitlines() if line)


def seen(mem: Mem) -> list[str]:
    """Return what search says of the cited lines; recall, its packs and plain text have to say the same."""
    [hit] = mem("search", "webhook retries", "--json").json["hits"]
    pack = mem("recall", "when do webhook retries stop", "--json").json["chosen"]
    assert [memory["changed"] for memory in pack] == [hit["changed"]]
    texts = [mem("search", "webhook retries").out]
    texts += [mem("recall", "when do webhook retries stop", "--format", form).out for form in ("markdown", "block")]
    for text in texts:
        assert all(one in text for one in hit["changed"])
        assert hit["changed"] or "changed" not in text
    changed: list[str] = hit["changed"]
    return changed


def append(path: Path) -> None:
    path.write_text(path.read_text() + "more = 1\n")


def above(path: Path) -> None:
    path.write_text("import os\n\n\n" + path.read_text())


def windows(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def word(path: Path) -> None:
    path.write_text(path.read_text().replace("value_15 = 15", "value_15 = 16"))


def shorter(path: Path) -> None:
    path.write_text("".join(CODE.splitlines(keepends=True)[:14]))


def between(path: Path) -> None:
    path.write_text(path.read_text().replace("value_16 =", "new = 0\nvalue_16 ="))


@pytest.mark.parametrize(
    ("change", "is_news"),
    [(append, False), (above, False), (windows, False), (word, True), (shorter, True), (between, True)],
)
def test_only_lines_that_became_others_are_news(
    mem: Mem, workspace: Path, code: Path, change: Callable[[Path], None], is_news: bool
) -> None:
    assert mem("write", SAID, "--about", "src/api.py:12-20").code == 0
    assert fields(workspace)["files"] == '["src/api.py:12-20"]'
    blob = git(code.parent, "hash-object", "api.py")[:12]
    assert re.fullmatch(rf'\["src/api\.py:12-20@{blob}#[0-9a-f]{{24}}"\]', fields(workspace)["cited"])
    assert seen(mem) == []
    assert mem("check", "--cited").code == 0
    change(code)
    assert seen(mem) == ([f"src/api.py changed since {blob[:6]}"] if is_news else [])
    ran = mem("check", "--cited")
    assert ran.code == int(is_news)
    assert ("src/api.py:12-20 changed since" in ran.out) == is_news


def test_a_file_that_is_gone_is_news(mem: Mem, workspace: Path, code: Path) -> None:
    mem("write", SAID, "--about", "src/api.py:3")
    code.unlink()
    [news] = seen(mem)
    assert news.startswith("src/api.py is gone (was ")
    ran = mem("check", "--cited", "--json")
    assert ran.code == 1
    [problem] = ran.json["problems"]
    assert (problem["rule"], problem["fixable"]) == ("cited", False)
    assert "--about` cites it anew" in problem["reason"]
    assert mem("check", "--refresh", "all").code == 1, "nothing stands there to be accepted"
    assert "src/api.py:3@" in fields(workspace)["cited"]


def test_refresh_accepts_the_same_lines_where_they_stand_now_and_of_one_entry_alone(
    mem: Mem, workspace: Path, code: Path
) -> None:
    one = mem("write", SAID, "--about", "src/api.py:12-20", "--json").json
    other = mem("write", "Nothing else matters at noon", "--about", "src/api.py:15", "--json").json
    code.write_text("import os\n\n" + CODE.replace("value_15 = 15", "value_15 = 16\nvalue_15b = 0"))
    ran = mem("check", "--refresh", one["id"])
    assert ran.code == 3
    assert other["path"] in ran.out
    text = (workspace / one["path"]).read_text()
    assert "src/api.py:14-23@" in text
    assert 'files: ["src/api.py:14-23"]' in text
    assert text.endswith(f"---\n\n{SAID}\n")


def test_marking_ten_hits_runs_no_program_and_reads_each_file_once(
    mem: Mem, workspace: Path, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        mem("write", f"Webhook rule {number}", "--about", f"src/api.py:{number + 1}-{number + 20}", "--no-dedup")
    word(code)
    opened: list[str] = []
    real = os.open

    def noted(path: Any, *rest: Any, **more: Any) -> int:
        opened.append(os.fspath(path)) if isinstance(path, str | Path) else None
        return real(path, *rest, **more)

    def refused(*words: object, **more: object) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr(os, "open", noted)
    monkeypatch.setattr(subprocess, "Popen", refused)
    hits = mem("search", "webhook rule", "-n", "10", "--json").json["hits"]
    assert len(hits) == 10
    assert all(hit["changed"] for hit in hits)
    assert opened.count(str(code)) == 1


@pytest.mark.parametrize("folder", [".", "src", "memory"])
def test_paths_are_as_from_the_top_of_the_repository(
    mem: Mem, workspace: Path, code: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.chdir(code.parent.parent / folder)
    for name in ("src/api.py:3", f"{os.path.relpath(code)}:3", f"{code}:3"):
        ran = mem("write", f"{SAID} {name}", "--about", name, "--no-dedup", "--json")
        assert ran.code == 0, ran.err
        assert 'cited: ["src/api.py:3@' in (workspace / ran.json["path"]).read_text()


def test_without_a_repository_and_without_a_commit_lines_are_watched_too(
    mem: Mem, workspace: Path, world: Path
) -> None:
    path = world / "notes.txt"
    path.write_text(CODE)
    mem("write", SAID, "--about", "notes.txt:2-4")
    for _ in range(2):
        assert seen(mem) == []
        path.rename(world / "elsewhere.txt")
        assert "is gone" in seen(mem)[0]
        assert "is gone" in mem("check", "--cited").out
        (world / "elsewhere.txt").rename(path)
        git(world, "init", "-q")
    path.write_text(CODE.replace("value_3", "other"))
    assert "changed since" in mem("check", "--cited").out
    assert mem("check", "--refresh", "all").code == 0


@pytest.mark.parametrize(
    "name", ["src/none.py:3", "src/api.py:39-41", "src/api.py:0", "src/api.py:9-3", "src/api.py:99"]
)
def test_lines_that_are_not_there_are_a_mistake(mem: Mem, workspace: Path, code: Path, name: str) -> None:
    ran = mem("write", SAID, "--about", name)
    assert ran.code == 2
    assert name in ran.err
    assert not list((workspace / "entries").rglob("*.md"))


def make(world: Path, what: str) -> str:
    """Make a file whose lines cannot be watched, and name its lines."""
    outside = world.parent / "outside.py"
    outside.write_text(CODE)
    if what == "binary":
        (world / "logo.png").write_bytes(b"\x89PNG\n\0\n\0\n")
        return "logo.png:1-2"
    if what == "huge":
        (world / "dump.sql").write_bytes(b"insert;\n" * 700_000)
        return "dump.sql:1-2"
    if what == "ignored":
        (world / ".gitignore").write_text("*.log\n")
        (world / "run.log").write_text(CODE)
        return "run.log:1-2"
    if what == "link":
        (world / "link.py").symlink_to(outside)
        return "link.py:1-2"
    if what == "folder":
        return "src:1-2"
    return {"outside": f"{outside}:1-2", "above": "../outside.py:1-2", "git": ".git/config:1"}[what]


@pytest.mark.parametrize("what", ["binary", "huge", "ignored", "link", "folder", "outside", "above", "git"])
def test_lines_that_cannot_be_watched_are_kept_without_a_hash_and_said(
    mem: Mem, workspace: Path, code: Path, world: Path, what: str
) -> None:
    name = make(world, what)
    ran = mem("write", SAID, "--about", name, "--about", "src/api.py:3")
    assert ran.code == 0, ran.err
    assert f"{name}: " in ran.err
    assert "not watched" in ran.err
    assert name in fields(workspace)["files"]
    assert fields(workspace)["cited"].count("@") == 1
    assert seen(mem) == []


@cases("cited")
def test_what_a_clone_cites_reads_nothing_outside_the_project(
    mem: Mem, workspace: Path, code: Path, world: Path, monkeypatch: pytest.MonkeyPatch, cited: str
) -> None:
    make(world, "link")
    os.mkfifo(world / "pipe")
    path = workspace / "entries" / "hand.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'---\nid: mem_hand\ncited: ["{cited}"]\n---\n\n{SAID}\n')
    opened: list[str] = []
    real = os.open

    def noted(path: Any, *rest: Any, **more: Any) -> int:
        opened.append(os.path.realpath(os.fspath(path))) if isinstance(path, str | Path) else None
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "open", noted)
    assert len(seen(mem)) == 1
    assert mem("check", "--cited").code == 1
    assert mem("check", "--refresh", "all").code == 1
    assert not {os.path.realpath(world.parent / "outside.py"), "/etc/passwd"} & set(opened)


@pytest.mark.parametrize("told", ["cited: src/api.py:3", "cited: [src/api.py:3]", "cited:\n- src/api.py:3"])
def test_a_citation_written_by_hand_is_filled_in(mem: Mem, workspace: Path, code: Path, told: str) -> None:
    path = workspace / "entries" / "hand.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"---\nid: mem_hand\n{told}\n# mine\n---\n\n{SAID}\n")
    assert seen(mem) == []
    assert "never looked at" in mem("check", "--cited").out
    assert mem("check", "--refresh", "mem_hand").code == 0
    assert "src/api.py:3@" in path.read_text()
    assert "# mine" in path.read_text()


@pytest.mark.parametrize(
    "value", ["[1, 2]", "{a: b}", "[src/api.py]", "[[x]]", '""', "yes", '["a\\0b:1"]', '["\\e[2J:1"]']
)
def test_a_value_that_is_no_citation_disturbs_nothing(mem: Mem, workspace: Path, code: Path, value: str) -> None:
    path = workspace / "entries" / "hand.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"---\nid: mem_hand\ncited: {value}\n---\n\n{SAID}\n")
    assert seen(mem) == []
    assert mem("check", "--cited").code in (0, 1)


def test_a_secret_file_and_a_secret_name_are_refused(mem: Mem, workspace: Path, code: Path, world: Path) -> None:
    (world / ".secretsignore").write_text("api.py\n")
    assert mem("write", SAID, "--about", "src/api.py:3").code == 5
    assert mem("write", SAID, "--about", "src/api.py:3", "--allow-secret").code == 0
    token = "ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"
    (world / token).write_text(CODE)
    ran = mem("write", "Another one", "--about", f"{token}:3")
    assert ran.code == 5
    assert token not in ran.err
    assert mem("write", "Another one", "--about", f"{token}:3", "--redact").code == 0
    kept = "".join(path.read_text() for path in (workspace / "entries").rglob("*.md"))
    assert token not in kept


def test_writing_the_files_anew_cites_anew_and_saying_it_again_brings_the_lines_up_to_date(
    mem: Mem, workspace: Path, code: Path
) -> None:
    made = mem("write", SAID, "--about", "src/api.py:12-20", "--json").json
    word(code)
    assert mem("write", SAID, "--about", "src/api.py:12-20", "--json").json["action"] == "merged"
    assert seen(mem) == []
    assert fields(workspace)["cited"].count("@") == 1
    mem("write", "--id", made["id"], "--about", "src/api.py:1-2")
    assert "src/api.py:1-2@" in fields(workspace)["cited"]
    mem("write", "--id", made["id"], "--title", "Webhooks")
    assert "src/api.py:1-2@" in fields(workspace)["cited"]
    mem("write", "--id", made["id"], "--about", "src/api.py")
    assert "cited" not in fields(workspace)
