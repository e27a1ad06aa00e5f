"""A command pays only for what it uses: which modules are loaded, seen in processes of their own."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran

HEAVY = {"numpy", "onnxruntime", "tokenizers", "litellm", "hnswlib", "pydantic", "rich"}
HEAVY |= {"starlette", "uvicorn", "jinja2", "webbrowser"}
INDEX = {"sqlite3", "memcli.index.scan", "memcli.index.index", "memcli.index.database"}
FILES_ONLY = {"filelock", "ruamel", "ruamel.yaml", "yaml", "frontmatter"}

LOADED = """
import io, json, sys
from contextlib import redirect_stdout
from memcli.cli.app import run
with redirect_stdout(io.StringIO()) as out:
    code = run({words!r})
print(json.dumps([code, sorted(sys.modules), out.getvalue()]))
"""


@pytest.fixture
def loaded(spawn: Callable[..., Ran]) -> Callable[..., tuple[set[str], str]]:
    """Give a function that runs a command elsewhere and tells the modules it loaded and what it printed."""

    def look(*words: str) -> tuple[set[str], str]:
        ran = spawn(code=LOADED.format(words=list(words)))
        assert ran.code == 0, ran.err
        code, modules, out = json.loads(ran.out)
        assert code == 0, out
        return set(modules), out

    return look


@pytest.fixture
def entry(workspace: Path) -> Path:
    """Keep one memory where `write` would have put it."""
    path = workspace / "entries" / "2026-11" / "quagga-nr2z1j.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nid: mem_01m7zxg5e0nr2z1j\ntype: fact\ncreated_at: 2026-11-21T20:15:03Z\n---\n\nA quagga.\n")
    return path


def test_reading_by_id_or_path_opens_no_index(loaded: Callable[..., tuple[set[str], str]], entry: Path) -> None:
    for name in ("mem_01m7zxg5e0nr2z1j", "entries/2026-11/quagga-nr2z1j.md"):
        modules, out = loaded("read", name)
        assert out == "A quagga.\n"
        assert not modules & (HEAVY | INDEX)


def test_writing_as_it_is_opens_no_index_and_loads_neither_a_lock_nor_yaml(
    loaded: Callable[..., tuple[set[str], str]], workspace: Path
) -> None:
    decayed = workspace / "archive" / "entries" / "decayed.md"  # nothing was forgotten
    decayed.parent.mkdir(parents=True)
    decayed.write_text("---\nid: mem_01m7zxg5e0nr2z2k\n---\n\nA dodo.\n")
    modules, out = loaded("write", "--no-dedup", "A quagga: it sleeps.", "--tag", "zoo", "--title", "About: it")
    assert out.startswith("created\t")
    assert not modules & (HEAVY | INDEX | FILES_ONLY)


@pytest.mark.parametrize(
    "words",
    [
        ("ls",),
        ("grep", "-F", "quagga"),
        ("grep", "-F", "-i", "-c", "QUAGGA"),
        ("grep", "qu.gga"),
        ("search", "quagga", "--mode", "keyword"),
        ("index", "--status"),
        ("config", "list"),
        ("--help",),
        ("search", "--help"),
        ("--version",),
    ],
)
def test_what_needs_no_model_loads_none(
    loaded: Callable[..., tuple[set[str], str]], entry: Path, words: tuple[str, ...]
) -> None:
    modules, out = loaded(*words)
    assert out
    assert not modules & HEAVY
    if words[0] in ("--help", "--version", "config"):
        assert not modules & INDEX


def test_a_search_by_meaning_loads_no_language_model_and_no_graph(
    loaded: Callable[..., tuple[set[str], str]], entry: Path
) -> None:
    modules, out = loaded("search", "which animal")
    assert "quagga" in out
    assert {"numpy", "onnxruntime"} <= modules
    assert not modules & {"litellm", "hnswlib", "pydantic"}


def test_what_is_asked_most_loads_no_openssl_and_no_expressions_it_does_not_use(
    loaded: Callable[..., tuple[set[str], str]], entry: Path
) -> None:
    assert "memcli.language.keyword_tokens" in loaded("ls")[0]  # the entry is new
    for words in (("ls",), ("read", "nr2z1j"), ("grep", "quagga", "-i"), ("search", "quagga", "--mode", "keyword")):
        modules, _ = loaded(*words)
        assert "_hashlib" not in modules
        assert ("memcli.language.keyword_tokens" in modules) == (words[0] == "search")


@pytest.mark.parametrize(
    ("words", "most"),
    [
        (("read", "nr2z1j"), 51),
        (("ls",), 48),
        (("grep", "quagga"), 49),
        (("search", "quagga", "--mode", "keyword"), 61),
        (("write", "--no-dedup", "A zebra."), 57),
        (("write", "A zebra."), 97),
        (("tend",), 50),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_loads_no_more_of_our_modules_than_it_did(
    loaded: Callable[..., tuple[set[str], str]], entry: Path, words: tuple[str, ...], most: int
) -> None:
    loaded("search", "which animal")  # the entry is new
    ours = {name for name in loaded(*words)[0] if name.split(".")[0] == "memcli"}
    assert len(ours) <= most
