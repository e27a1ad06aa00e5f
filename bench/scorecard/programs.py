"""Programs that ask a tool's own library many questions in one process, run by the Python of the tool's environment.

Each takes a JSON document ({root, notes, home, endpoint, now}) and answers JSON lines: {"ask": query} gets
[[path, line, text], …], best first; {"write": text} gets null. With a text behind the document it writes that and ends.
What a library prints does not get among the answers.
"""

_FRAME = """
import json, os, sys, time
told = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
class here:
    pass
for name, value in json.loads(sys.argv[1]).items():
    setattr(here, name, value)
{parts}
if sys.argv[2:]:
    sys.exit(write(sys.argv[2]))
print(json.dumps(["ready", 0]), file=told, flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    start = time.perf_counter()
    answer = write(asked["write"]) if "write" in asked else ask(asked["ask"])
    print(json.dumps([answer, 1000 * (time.perf_counter() - start)]), file=told, flush=True)
"""

_MEM = """
from datetime import datetime
from memcli import open_workspace
from memcli.api.choice import Choice
from memcli.api.find import search
from memcli.api.write import NewEntry, write as kept
now = datetime.fromisoformat(here.now) if here.now else None
def ask(query):
    found = search(open_workspace(here.root, now=now), query, limit=10, choice=Choice(kind=("all",)))
    return [[hit.path, hit.line, hit.summary] for hit in found.hits]
def write(text):
    kept(open_workspace(here.root, now=now), NewEntry(text), by="user")
"""

_MEMSEARCH = """
import asyncio
from memsearch import MemSearch
loop = asyncio.new_event_loop()
memory = MemSearch([here.notes], embedding_provider="openai", embedding_model="all-MiniLM-L6-v2",
                   embedding_base_url=here.endpoint, embedding_api_key="none", milvus_uri=here.home + "/milvus.db")
def ask(query):
    hits = loop.run_until_complete(memory.search(query, top_k=30))
    return [[os.path.relpath(hit["source"], here.root), 0, hit["content"]] for hit in hits]
"""

_MEMWEAVE = """
import asyncio
from memweave import EmbeddingConfig, MemoryConfig, MemWeave
loop = asyncio.new_event_loop()
embedding = EmbeddingConfig(model="openai/all-MiniLM-L6-v2", api_base=here.endpoint, api_key="none")
memory = MemWeave(MemoryConfig(workspace_dir=here.root, embedding=embedding, progress=False))
loop.run_until_complete(memory.open())
def ask(query):
    hits = loop.run_until_complete(memory.search(query, max_results=30, min_score=0.0))
    return [[hit.path, 0, hit.snippet] for hit in hits]
"""

_AGENTCAIRN = """
from cairn.mcp.server import resolve_config
from cairn.mcp.tools import recall_tool, remember_tool
vault, index, embedder = resolve_config(vault=here.notes)
def ask(query):
    notes = recall_tool(index, query, embedder=embedder, k=10, rerank=False)["notes"]
    return [[os.path.relpath(note["path"], here.root), 0, note["text"]] for note in notes]
def write(text):
    done = remember_tool(vault, text, index_path=index, embedder=embedder)
    if done["index"]["status"] != "current":
        raise SystemExit(str(done["index"]))
"""


def program(parts: str) -> str:
    """Give a whole program of what defines `ask`, and `write` if there is one."""
    return _FRAME.replace("{parts}", parts)


MEM, MEMSEARCH, MEMWEAVE, AGENTCAIRN = map(program, (_MEM, _MEMSEARCH, _MEMWEAVE, _AGENTCAIRN))
