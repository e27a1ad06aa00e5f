"""The tools, each as its user runs it: its commands in its best documented setting without a network."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.retrieval.sets import Collection, build
from bench.scorecard import programs

Known = dict[tuple[str, int], str]
"""The document of each path and line; line 0 stands for the whole file."""


def lay(collection: Collection, root: Path, notes: str) -> Known:
    """Write each document to a file of its own, with its text and nothing else."""
    known = {}
    for number, document in enumerate(collection.documents):
        name = str(document["id"])
        is_path = name.endswith(".md") or "/" in name
        path = f"{notes}/{name.removesuffix('.md')}.md" if is_path else f"{notes}/{number:05}.md"
        write_note(root / path, document["text"])
        known[path, 0] = name
    return known


def write_note(file: Path, text: str) -> None:
    """Write a file as a hand does."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text.rstrip()}\n", encoding="utf-8")


def _lay_natively(collection: Collection, root: Path, _: str) -> Known:
    root.rmdir()
    return build(collection, root)[1]


@dataclass(frozen=True)
class Tool:
    """A tool and its commands, whose words hold the names in braces that a `Place` fills in."""

    name: str
    pip: tuple[str, ...]  # what is installed into its environment
    told: str  # how it searches
    search: tuple[str, ...]
    library: str  # a program of `programs`
    folder: str = ""  # of its environment below the folder of tools; empty: its name
    write: tuple[str, ...] = ()  # its verb for a new memory, if it has one
    add: tuple[str, ...] = ()  # what takes up a file that was written, where there is no such verb
    notes: str = "notes"  # where notes lie below the root
    made: tuple[str, ...] = ()  # what its index is
    environ: Mapping[str, str] = field(default_factory=dict)
    lay: Callable[[Collection, Path, str], Known] = lay
    files: Mapping[str, str] = field(default_factory=dict)  # what must stand there before it runs
    copies: Mapping[str, str] = field(default_factory=dict)  # a pattern in its environment → the folder that takes it
    is_variant: bool = False  # another layout of a tool that stands before it: measured for retrieval alone

    @property
    def short(self) -> str:
        """Give a name for files."""
        return self.name.replace(",", "").replace(" ", "-")


_MODEL = "all-MiniLM-L6-v2"
_MEM: dict[str, Any] = {
    "folder": "mem",
    "pip": ("git+file://$PWD",),
    "search": ("{bin}/mem", "search", "--workspace", "{root}", "--limit", "10", "--json", "--", "{query}"),
    "library": programs.MEM,
    "write": ("{bin}/mem", "write", "--workspace", "{root}", "--", "{text}"),
    "notes": "entries",
    "made": ("{root}/.mem",),
    "files": {"{root}/mem.yaml": "timezone: UTC\n"},
}
_MILVUS = ("--milvus-uri", "{home}/milvus.db", "-p", "openai", "-m", _MODEL, "--base-url", "{endpoint}")
_WOVEN = ("-w", "{root}", "--embedding-model", f"openai/{_MODEL}")
TOOLS = (
    Tool(
        name="mem",
        told="words and vectors, its own model; talk as sessions, facts as dated entries",
        lay=_lay_natively,
        **_MEM,
    ),
    Tool(name="mem, plain files", told="as mem, over the same files as the others get", is_variant=True, **_MEM),
    Tool(
        name="memsearch",
        pip=("memsearch==0.4.23",),
        told="BM25 and vectors by reciprocal rank (Milvus Lite), provider openai",
        search=("{bin}/memsearch", "search", *_MILVUS, "-k", "10", "-j", "--", "{query}"),
        library=programs.MEMSEARCH,
        add=("{bin}/memsearch", "index", "{file}", *_MILVUS),
        made=("{home}/milvus.db",),
    ),
    Tool(
        name="memweave",
        pip=("memweave==0.2.1", "pysqlite3-binary==0.5.4.post2"),
        told="0.7 vector + 0.3 BM25 (SQLite), `--min-score 0`",
        search=("{bin}/memweave", "search", *_WOVEN, "--max-results", "10", "--min-score", "0", "--json", "{query}"),
        library=programs.MEMWEAVE,
        add=("{bin}/memweave", "add", "-q", *_WOVEN, "{file}"),
        notes="memory",
        made=("{root}/.memweave",),
        environ={
            "OPENAI_API_BASE": "{endpoint}",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "PYTHONPATH": "{home}/site",
        },
        # The sqlite of many Pythons loads no extension, and without one there are no vectors.
        files={"{home}/site/sitecustomize.py": "import sys, pysqlite3\nsys.modules['sqlite3'] = pysqlite3\n"},
    ),
    Tool(
        name="agentcairn",
        pip=("agentcairn==0.26.2", "duckdb==1.5.5", "duckdb-extension-fts==1.5.5"),
        told="BM25 and vectors by reciprocal rank, links weighed (DuckDB), `--no-rerank`",
        search=("{bin}/cairn", "recall", "--vault", "{notes}", "--k", "10", "--no-rerank", "--json", "--", "{query}"),
        library=programs.AGENTCAIRN,
        write=("{python}", "-c", "{library}", "{here}", "{text}"),
        made=("{home}/.cache/agentcairn/indexes",),
        environ={
            "CAIRN_EMBEDDER": "openai",
            "CAIRN_EMBED_MODEL": _MODEL,
            "OPENAI_BASE_URL": "{endpoint}",
            "CAIRN_RERANK": "0",
        },
        copies={"**/fts.duckdb_extension": "{home}/.duckdb/extensions/v1.5.5/linux_amd64"},
    ),
)
ABSENT = {"qmd 2.8.3": "it needs Node.js 22 or newer, and models of 2 GB for its recommended verb"}
"""Tools that were to be measured, and why they are not."""
