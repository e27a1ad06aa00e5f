"""Measure a team's index on PostgreSQL: what it costs beside the embedded one, and that owners are kept apart.

Usage: python -m bench team [--leaks 20000] [--vectors 100000,300000] [--commands 10000] [--write]. A server of its own
is started in a temporary folder. The ways to find the nearest under row security are compared on generated vectors.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from psycopg import Connection, connect

from bench import measures
from bench.timing import PYTHON, QUERY, Bench
from bench.workspaces import make
from memcli.index.postgres import schema
from tests.team_server import TeamDatabase, TeamServer, copied, prepared, started

DIMENSION = 384
MODEL = "generated"
SMALL = 1_000
"""Vectors of an owner who has few, beside one who has all others."""
PARTITIONS = 100
QUERIES = 400
CLIENTS, CLIENT_SECONDS = 8, 60
Vectors = np.ndarray[Any, np.dtype[np.float32]]


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench team", description=__doc__)
    parser.add_argument("--leaks", type=int, default=0, metavar="N", help="scripts of the search for leaks")
    parser.add_argument("--vectors", default="", metavar="N,N", help="sizes to find the nearest in")
    parser.add_argument("--commands", type=int, default=0, metavar="N", help="memories to push, find and have again")
    parser.add_argument("--write", action="store_true", help="keep the figures in results/team.md")
    arguments = parser.parse_args()
    parts = []
    settings = {"shared_buffers": "1GB", "maintenance_work_mem": "1GB", "max_wal_size": "8GB", "autovacuum": "off"}
    with started(**settings) as server:
        prepared(server)
        if arguments.leaks:
            parts.append(leaks(server, arguments.leaks))
        if arguments.vectors:
            parts.append(nearest(server, [int(size) for size in arguments.vectors.split(",")]))
        if arguments.commands:
            parts.append(commands(server, arguments.commands))
    measures.show("team", "\n\n".join(parts), write=arguments.write)


def leaks(server: TeamServer, count: int) -> str:
    """Search for leaks, and say what was found."""
    from tests import team_fuzz

    start = time.perf_counter()
    seen = []
    for owner in team_fuzz.OWNERS:
        share = count // len(team_fuzz.OWNERS)
        seen += team_fuzz.leaks(server, share, size=40, seed="whole", owners=(owner,))
        print(f"{share:,} scripts as {owner}: {len(seen)} leaks", file=sys.stderr, flush=True)
    lines = [f"{leak.owner}: {leak.statements}\n  {leak.answers[0]}\n  {leak.answers[1]}" for leak in seen[:10]]
    spent = time.perf_counter() - start
    return "\n".join(
        [f"{count:,} scripts over {len(team_fuzz.OWNERS)} owners: {len(seen)} leaks ({spent:,.0f} s)", *lines]
    )


FILL = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from bench.team import vectors
from memcli.index.embedding_model import built_in_name
from memcli.index.index import ask
from memcli.store.workspace import Surroundings, opened
root = Path(sys.argv[1])

def fill(index):
    index.refresh()
    hashes = [row for (row,) in index.connection.execute("select distinct hash from chunks order by hash")]
    with index.writing():
        index.embedding.table.start_over(built_in_name())
        index.embedding.table.keep(hashes, vectors(len(hashes)))
    return len(hashes)

print(ask(opened(Surroundings(root, os.environ, datetime.now(UTC)), root), fill))
"""
"""Gives each text a vector that a generator made, in place of hours of the model."""


def commands(server: TeamServer, count: int) -> str:
    """Measure whole commands at a workspace of so many memories, beside a copy of it that has no server."""
    database = copied(server, f"commands-{count}")
    database.add_owners("ann")
    with tempfile.TemporaryDirectory() as name:
        alone, team, second = (Path(name) / folder for folder in ("alone", "team", "second"))
        make(alone, count)
        shutil.copytree(alone, team)
        bench = Bench(Path(name), 9)
        bench.environ["MEM_WARM"] = "off"
        mem = [PYTHON, "-m", "memcli"]
        texts = bench.inside(FILL, str(alone))
        bench.inside(FILL, str(team))
        bench.environ |= {"MEM_INDEX_BACKEND": "postgres", "MEM_INDEX_DSN": database.dsn("ann")}
        bench.cost([*mem, "trust", str(team)])
        pushed = bench.cost([*mem, "index", "--share", "--workspace", str(team)])
        with connect(database.dsn("administrator"), autocommit=True) as administrator:
            graphs = schema.migrate(administrator)
        with connect(database.dsn("postgres"), autocommit=True) as administrator:
            administrator.execute("vacuum analyze")  # as autovacuum does, which is off here
        bench.cost([*mem, "trust", str(_empty(bench, team, "elsewhere"))])
        spent = bench.timed(
            {
                where.name: [*mem, "search", f"{QUERY} {{n}}", "--workspace", str(where)]
                for where in (alone, team, bench.folder / "elsewhere")
            }
        )
        shutil.copytree(team, second, ignore=shutil.ignore_patterns(".mem"))
        bench.cost([*mem, "trust", str(second)])
        start = time.perf_counter()
        ran = bench.inside(INDEXED, str(second))
        again = time.perf_counter() - start
        held = database.run(
            "select relname, pg_table_size(oid), pg_indexes_size(oid) from pg_class"
            " where relnamespace = 'mem'::regnamespace and relkind = 'r' order by pg_total_relation_size(oid) desc",
            "postgres",
        )
        clients = _clients(server, bench, alone, team)
        push = _push(server, database, bench, team)
    return "\n".join(
        [
            f"{count:,} memories, {texts:,} texts",
            f"search, whole process: {spent['alone']:.0f} ms alone, {spent['team']:.0f} ms with the server,"
            f" ratio {spent['team'] / spent['alone']:.2f}; {spent['elsewhere']:.0f} ms where no file is,"
            f" ratio {spent['elsewhere'] / spent['alone']:.2f}",
            *graphs,
            f"first push with its index: {pushed.elapsed / 1000:.1f} s, {pushed.processor / 1000:.1f} s of one core",
            f"second machine, the same files: {again:.1f} s, {ran['embedded']} embedded, {ran['not_embedded']} without",
            f"on the server: {sum(rows + indexes for _, rows, indexes in held) / texts:,.0f} bytes a text",
            *(
                f"  {name}: {rows / texts:,.0f} in rows, {indexes / texts:,.0f} in indexes"
                for name, rows, indexes in held[:5]
            ),
            *clients,
            *push,
        ]
    )


INDEXED = """
import subprocess, sys
print(subprocess.run([sys.executable, "-m", "memcli", "index", "--json", "--workspace", sys.argv[1]],
                     capture_output=True, text=True).stdout)
"""


ASKED = """
import json, os, random, sys, time
from datetime import UTC, datetime
from pathlib import Path
from bench.workspaces import sentence
from memcli.api.find import search
from memcli.store.workspace import Surroundings, opened
root, seconds, right = Path(sys.argv[1]), float(sys.argv[2]), json.loads(sys.argv[3])
asked = [(sentence(random.Random(number)), mode) for number in range(10) for mode in ("hybrid", "keyword", "vector")]

def answer(query, mode):
    workspace = opened(Surroundings(root, os.environ, datetime.now(UTC)), root)
    results = search([workspace], query, mode=mode, limit=10, min_score=0.0)
    return [(hit.id, hit.relevance) for hit in results.hits], [*results.notices, *map(str, results.problems)]

def is_right(hits, wanted):
    alike = len(hits) == len(wanted) > 0 and all(abs(a[1] - b[1]) <= 2e-3 for a, b in zip(hits, wanted))
    relevances = dict(hits)
    return alike and all(abs(relevances.get(id_, wanted[-1][1]) - value) <= 2e-3 for id_, value in wanted)

spent, wrong, errors, end = [], [], [], time.monotonic() + seconds
if not right:
    print(json.dumps([answer(*each) for each in asked]))
while right and time.monotonic() < end:
    number = random.randrange(len(asked))
    start = time.perf_counter()
    try:
        hits, notices = answer(*asked[number])
    except Exception as error:
        hits, notices = right[number][0], [repr(error)]
    spent.append(1000 * (time.perf_counter() - start))
    errors += notices
    if not is_right(hits, right[number][0]):
        wrong.append([asked[number], hits, right[number][0]])
if right:
    print(json.dumps({"spent": spent, "wrong": wrong, "errors": errors}))
"""
"""Searches in one process, first to learn what is right where all files are, then as a client that has none of them."""


def _empty(bench: Bench, team: Path, name: str) -> Path:
    """Return a clone of a shared workspace that has none of its files yet."""
    root = bench.folder / name
    (root / "entries").mkdir(parents=True)
    shutil.copy(team / "mem.yaml", root)
    return root


def _clients(server: TeamServer, bench: Bench, alone: Path, team: Path) -> list[str]:
    """Let clients that have no file search at once, and compare each answer with that of the files by themselves."""
    right = json.dumps(bench.inside(ASKED, str(alone), "0", "[]"))
    processes = []
    before, used = _server_seconds(server), sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    for number in range(CLIENTS):
        bench.cost([PYTHON, "-m", "memcli", "trust", str(_empty(bench, team, f"client-{number}"))])
    for number in range(CLIENTS):
        words = [PYTHON, "-c", ASKED, str(bench.folder / f"client-{number}"), str(CLIENT_SECONDS), right]
        processes.append(subprocess.Popen(words, env=bench.environ, stdout=subprocess.PIPE))
    answers = [json.loads(process.communicate()[0]) for process in processes]
    used = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - used
    spent, wrong, errors = (
        [each for answer in answers for each in answer[name]] for name in ("spent", "wrong", "errors")
    )
    for each in [*wrong[:3], *errors[:3]]:
        print(each, file=sys.stderr, flush=True)
    return [
        f"{CLIENTS} clients for {CLIENT_SECONDS} s: {len(spent):,} searches, {len(errors)} errors, {len(wrong)} wrong,"
        f" p50 {statistics.median(spent):.0f} ms, p95 {np.percentile(spent, 95):.0f} ms,"
        f" {1000 * used / len(spent):.0f} ms of one core a search here and"
        f" {1000 * (_server_seconds(server) - before) / len(spent):.0f} ms on the server"
    ]


PUSHED = """
import json, os, sys, time
from datetime import UTC, datetime
from pathlib import Path
from memcli.index.index import ask
from memcli.store.workspace import Surroundings, opened
root = Path(sys.argv[1])

def push(index):
    index.refresh()
    exchange = index.exchange()
    texts = [body for (body,) in index.connection.execute("select body from words order by rowid desc limit 100")]
    embedder = index.embedding.embedder(bulk=True)
    embedder.embed(texts[:1])
    marks = [(time.perf_counter(), time.process_time())]
    embedder.embed(texts)
    marks.append((time.perf_counter(), time.process_time()))
    count = exchange.push(None)
    marks.append((time.perf_counter(), time.process_time()))
    embedded, pushed = ([after - before for before, after in zip(*pair)] for pair in zip(marks, marks[1:]))
    return {"count": count, "embedded": [count / len(texts) * value for value in embedded], "pushed": pushed}

print(json.dumps(ask(opened(Surroundings(root, os.environ, datetime.now(UTC)), root), push)))
"""
"""Pushes what has changed, and embeds a hundred of the texts to tell what embedding all of them takes."""


def _push(server: TeamServer, database: TeamDatabase, bench: Bench, team: Path) -> list[str]:
    """Push about a thousand chunks, and copy the same rows into tables without and with the same indexes."""
    more = bench.folder / "more"
    make(more, 750, seed=2)
    for path in (more / "entries").rglob("*.md"):
        shutil.copy(path, team / "entries" / path.name)
    bench.inside(FILL, str(team))
    ((last,),) = database.run("select max(chunk) from mem.chunks", "postgres")
    before = _server_seconds(server)
    ran = bench.inside(PUSHED, str(team))
    on_server = _server_seconds(server) - before
    chosen = {
        "files": f"(workspace, file) in (select workspace, file from mem.chunks where chunk > {last})",
        "chunks": f"chunk > {last}",
        "words": f"block > {last >> 10}",
        "embeddings": f"hash in (select hash from mem.chunks where chunk > {last})",
    }
    seconds, (embedding, embedding_used), (pushed, pushed_used) = [], ran["embedded"], ran["pushed"]
    with connect(database.dsn("postgres")) as connection:
        rows = {}
        for name, condition in chosen.items():
            query = f"copy (select * from mem.{name} where {condition}) to stdout (format binary)"
            with connection.cursor().copy(query) as copy:
                rows[name] = b"".join(copy)
        for suffix, like in (("bare", ""), ("indexed", "including indexes")):
            for name in rows:
                connection.execute(f"create table {name}_{suffix} (like mem.{name} {like})")
            connection.commit()
            start = time.perf_counter()
            for name, data in rows.items():
                with connection.cursor().copy(f"copy {name}_{suffix} from stdin (format binary)") as copy:
                    copy.write(data)
            connection.commit()
            seconds.append(time.perf_counter() - start)
    bare, indexed = seconds
    return [
        f"pushing {ran['count']:,} chunks: {pushed:.2f} s, {pushed_used:.2f} s of one core here and {on_server:.2f} s"
        f" on the server; embedding them {embedding:.1f} s, {embedding_used:.1f} s of one core",
        f"a COPY of the same rows: {bare:.2f} s bare, {indexed:.2f} s into the same indexes; ratio to the bare one"
        f" {pushed / bare:.2f}, both with embedding {(pushed + embedding) / (bare + embedding):.2f}",
    ]


def _server_seconds(server: TeamServer) -> float:
    """Return the processor time of the server's processes that have ended."""
    time.sleep(0.5)
    number = (server.folder / "data" / "postmaster.pid").read_text().split()[0]
    fields = Path("/proc", number, "stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def vectors(count: int, seed: int = 1) -> Vectors:
    """Return unit vectors that lie as those of texts do: few directions, in clusters, with some noise."""
    draw = np.random.default_rng(seed)
    shared = np.random.default_rng(0)
    directions = shared.standard_normal((32, DIMENSION)).astype(np.float32)
    centres = shared.standard_normal((500, 32)).astype(np.float32)
    near = centres[draw.integers(0, len(centres), count)] + 0.6 * draw.standard_normal((count, 32)).astype(np.float32)
    rows = near @ directions + 0.5 * draw.standard_normal((count, DIMENSION)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def copy_vectors(connection: Connection[Any], table: str, workspace: int, rows: Vectors) -> None:
    """Copy vectors into a table of them, in the binary form of COPY."""
    row = np.dtype(
        [
            *(("fields", ">i2"), ("a", ">i4"), ("workspace", ">i4"), ("b", ">i4"), ("model", f"S{len(MODEL)}")),
            *(("c", ">i4"), ("hash", ">u8", 2), ("d", ">i4"), ("dimension", ">i2"), ("unused", ">i2")),
            ("vector", ">f2", DIMENSION),
        ]
    )
    with connection.cursor().copy(f"copy {table}(workspace, model, hash, vector) from stdin (format binary)") as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for start in range(0, len(rows), 10_000):
            block = np.zeros(len(rows[start : start + 10_000]), row)
            block["fields"], block["a"], block["b"], block["c"], block["d"] = 4, 4, len(MODEL), 16, 4 + 2 * DIMENSION
            block["workspace"], block["model"], block["dimension"] = workspace, MODEL.encode(), DIMENSION
            block["hash"][:, 0] = workspace
            block["hash"][:, 1] = np.arange(start, start + len(block))
            block["vector"] = rows[start : start + 10_000]
            copy.write(block.tobytes())
        copy.write(b"\xff\xff")


class Case(NamedTuple):
    """Who asks for the nearest, in what, and how."""

    database: TeamDatabase
    role: str
    workspace: int  # 0: whatever the role sees
    rows: Vectors
    way: str
    setting: str = "set enable_sort = off"


def nearest(server: TeamServer, sizes: list[int]) -> str:
    """Compare the ways to find the ten nearest under row security at one size, or the graph's time at several."""
    lines = [
        "| vectors | who asks | way | p50 ms | p95 ms | recall@10 | found of 10 |",
        "|---|---|---|---|---|---|---|",
    ]
    if len(sizes) == 1:
        lines += _ways(copied(server, "nearest"), vectors(sizes[0]), vectors(SMALL, 2))
    else:
        lines += _measured(*(_graphed(*_filled(copied(server, f"nearest-{size}"), vectors(size))) for size in sizes))
    return "\n".join(lines)


def _filled(database: TeamDatabase, many: Vectors, few: Vectors | None = None) -> tuple[Case, Case]:
    """Return who has all of many vectors, and who has few beside them; each looks at all of its own."""
    few = vectors(SMALL, 2) if few is None else few
    database.add_owners("ann", "bea")
    large = database.add_workspace("ann", "00000000-0000-0000-0000-000000000001", "large")
    small = database.add_workspace("bea", "00000000-0000-0000-0000-000000000002", "small")
    with connect(database.dsn("postgres"), autocommit=True) as administrator:
        copy_vectors(administrator, "mem.embeddings", large, many)
        copy_vectors(administrator, "mem.embeddings", small, few)
        administrator.execute("vacuum analyze mem.embeddings")
    way, setting = "look at all of its own", "set enable_sort = on"
    return Case(database, "ann", large, many, way, setting), Case(database, "bea", small, few, way, setting)


def _graphed(all_of: Case, _: Case) -> Case:
    """Make the graph of a large workspace as `mem index --migrate` does; return who asks by it."""
    database, role, large, many, *_rest = all_of
    with connect(database.dsn("postgres"), autocommit=True) as administrator:
        run = administrator.execute
        run(
            "update mem.workspaces set size = %s, model = %s, dimension = %s where workspace = %s",
            (len(many), MODEL, DIMENSION, large),
        )
        run("set maintenance_work_mem = '2GB'")
        start = time.perf_counter()
        schema.migrate(administrator)
        built = time.perf_counter() - start
        ((bytes_,),) = run("select pg_relation_size('mem.nearest_of_' || %s::text)", (large,)).fetchall()
    way = f"a graph of each workspace ({built:,.0f} s, {bytes_ / len(many):,.0f} bytes a vector)"
    return Case(database, role, large, many, way)


def _ways(database: TeamDatabase, many: Vectors, few: Vectors) -> Iterator[str]:
    filled = _filled(database, many, few)
    for case in filled:
        yield from _measured(case)
    yield from _measured(_graphed(*filled))
    large, small = (case.workspace for case in filled)
    with connect(database.dsn("postgres"), autocommit=True) as administrator:
        run = administrator.execute
        run(f"drop index mem.nearest_of_{large}")
        run(
            "create index shared on mem.embeddings using hnsw"
            f" ((vector::halfvec({DIMENSION})) halfvec_cosine_ops) where model = '{MODEL}'"
        )
        for way in ("off", "strict_order", "relaxed_order"):
            setting = f"set enable_sort = off; set hnsw.iterative_scan = {way}"
            yield from _measured(Case(database, "bea", 0, few, f"one graph of all, iterative scan {way}", setting))
        run("drop index mem.shared")
        yield from _partitioned(database, administrator, small, many, few)


def _partitioned(
    database: TeamDatabase, administrator: Connection[Any], small: int, many: Vectors, few: Vectors
) -> Iterator[str]:
    """Measure a table in partitions by workspace, each with a graph; all but two are of others, and small."""
    run = administrator.execute
    run("alter table mem.embeddings rename to whole")
    run(
        "create table mem.embeddings(workspace integer, model text, hash bytea, vector halfvec)"
        " partition by list (workspace)"
    )
    for number in range(1, PARTITIONS + 1):
        run(f"create table mem.part_{number} partition of mem.embeddings for values in ({number})")
    copy_vectors(administrator, "mem.embeddings", 1, many)
    copy_vectors(administrator, "mem.embeddings", small, few)
    run(f"create index on mem.embeddings using hnsw ((vector::halfvec({DIMENSION})) halfvec_cosine_ops)")
    run("alter table mem.embeddings enable row level security")
    run("create policy visible on mem.embeddings using (workspace = any(array(select mem.visible())))")
    run("grant select on mem.embeddings to public")
    run("vacuum analyze mem.embeddings")
    yield from _measured(Case(database, "bea", small, few, f"{PARTITIONS} partitions by workspace, a graph of each"))


def _measured(*cases: Case) -> Iterator[str]:
    """Ask each case, one after the other for each question, so that a busy moment hits them all."""
    draw = np.random.default_rng(7)
    with ExitStack() as stack:
        asked, ask = [], []
        for case in cases:
            near = case.rows[draw.integers(0, len(case.rows), QUERIES)] + 0.02 * draw.standard_normal(
                (QUERIES, DIMENSION)
            )
            asked.append((near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32))
            connection = stack.enter_context(connect(case.database.dsn(case.role), autocommit=True))
            connection.execute("set hnsw.ef_search = 100")
            connection.execute("set hnsw.iterative_scan = strict_order")
            connection.execute(case.setting)
            ask.append(connection.execute)
        spent: list[list[float]] = [[] for _ in cases]
        found: list[list[set[int]]] = [[] for _ in cases]
        for number in range(QUERIES):
            for place, case in enumerate(cases):
                text = "[" + ",".join(f"{value:.4g}" for value in asked[place][number]) + "]"
                which = f"workspace = {case.workspace} and " if case.workspace else ""
                query = (
                    f"select hash from mem.embeddings where {which}model = '{MODEL}'"
                    f" order by vector::halfvec({DIMENSION}) <=> %s::halfvec({DIMENSION}) limit 10"
                )
                start = time.perf_counter()
                hashes = [bytes(hash_) for (hash_,) in ask[place](query, (text,)).fetchall()]
                if number >= QUERIES // 10:
                    spent[place].append(1000 * (time.perf_counter() - start))
                found[place].append({int.from_bytes(hash_[8:], "big") for hash_ in hashes})
    for place, case in enumerate(cases):
        best = [set(np.argpartition(-(case.rows @ vector), 10)[:10].tolist()) for vector in asked[place]]
        recall = statistics.mean(len(near & exact) / 10 for near, exact in zip(found[place], best, strict=True))
        line = (
            f"| {len(case.rows):,} | {case.role} | {case.way} | {statistics.median(spent[place]):.1f}"
            f" | {np.percentile(spent[place], 95):.1f} | {recall:.3f} | {statistics.mean(map(len, found[place])):.1f} |"
        )
        print(line, file=sys.stderr, flush=True)
        yield line


if __name__ == "__main__":
    main()
