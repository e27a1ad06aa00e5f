"""Programs that ask a tool's own library many questions in one process, run by the Python of the tool's environment.

Each takes a JSON document ({root, notes, home, endpoint, now}) and answers JSON lines [verb, text]: "ask" gets
[[path, line, text], …], best first, "index" and "write" get null. With a text behind the document it writes that and
ends. What a library prints does not get among the answers.
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
    verb, text = json.loads(line)
    start = time.perf_counter()
    answer = {"ask": ask, "index": index, "write": globals().get("write")}[verb](text)
    print(json.dumps([answer, 1000 * (time.perf_counter() - start)]), file=told, flush=True)
"""

_MEM = """
from datetime import datetime
from memcli import open_workspace
from memcli.api.choice import Choice
from memcli.api.find import search
from memcli.api.stats import index as indexed
from memcli.api.write import NewEntry, write as kept
now = datetime.fromisoformat(here.now) if here.now else None
def ask(query):
    found = search(open_workspace(here.root, now=now), query, limit=10, choice=Choice(kind=("all",)))
    return [[hit.path, hit.line, hit.summary] for hit in found.hits]
def index(_):
    indexed(open_workspace(here.root, now=now))
def write(text):
    kept(open_workspace(here.root, now=now), NewEntry(text), by="user")
"""

_MEMSEARCH = """
import asyncio
from memsearch import MemSearch
loop = asyncio.new_event_loop()
memory = MemSearch([here.notes], embedding_provider="openai", embedding_model="all-MiniLM-L6-v2",
                   embedding_base_url=here.endpoint, embedding_api_key="none", milvus_uri=here.home + "/milvus.db")
def index(_):
    loop.run_until_complete(memory.index())
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
def index(_):
    loop.run_until_complete(memory.index())
def ask(query):
    hits = loop.run_until_complete(memory.search(query, max_results=30, min_score=0.0))
    return [[hit.path, 0, hit.snippet] for hit in hits]
"""

_AGENTCAIRN = """
from cairn.mcp.server import resolve_config
from cairn.mcp.tools import recall_tool, reconcile_index_tool, remember_tool
vault, place, embedder = resolve_config(vault=here.notes)
fresh = []
def index(_):
    fresh.append(reconcile_index_tool(vault, place, embedder=embedder))
def ask(query):
    # Its server looks at the files when it is first asked, and then no more.
    fresh or index("")
    notes = recall_tool(place, query, embedder=embedder, k=10, rerank=False)["notes"]
    return [[os.path.relpath(note["path"], here.root), 0, note["text"]] for note in notes]
def write(text):
    done = remember_tool(vault, text, index_path=place, embedder=embedder)
    if done["index"]["status"] != "current":
        raise SystemExit(str(done["index"]))
"""


def program(parts: str) -> str:
    """Give a whole program of what defines `ask`, and `write` if there is one."""
    return _FRAME.replace("{parts}", parts)


MEM, MEMSEARCH, MEMWEAVE, AGENTCAIRN = map(program, (_MEM, _MEMSEARCH, _MEMWEAVE, _AGENTCAIRN))
