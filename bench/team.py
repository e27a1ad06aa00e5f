"""Measure the index that a team shares, on a PostgreSQL server of its own.

    python -m bench.team --leaks 20000
    python -m bench.team --entries 10000

`--leaks` runs random scripts of five members against pairs of databases (tests/team/fuzz.py).
`--entries` compares pushing with embedding and with a bare COPY of the same rows, and a search of
a colleague's memories with a search of the same memories as files.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.speed import make_workspace
from tests.team.fuzz import ROLES, find_leaks
from tests.team.server import Database, Server, copy_database, run_server

TREE = Path(__file__).parents[1]
QUERY = "when does the boiler need a valve"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--leaks", type=int, default=0, metavar="SCRIPTS")
    options.add_argument("--entries", type=int, default=0)
    options.add_argument("--runs", type=int, default=9)
    chosen = options.parse_args()
    settings = ("shared_buffers=512MB", "max_wal_size=4GB", "maintenance_work_mem=512MB")
    with run_server(*settings) as server:
        if chosen.leaks:
            count_leaks(server, chosen.leaks)
        if chosen.entries:
            with tempfile.TemporaryDirectory() as folder:
                compare_commands(server, Path(folder), chosen.entries, chosen.runs)


def count_leaks(server: Server, scripts: int) -> None:
    began = time.perf_counter()
    found = 0
    for leak in find_leaks(server, scripts, size=40, seed="bench"):
        found += 1
        print(
            f"{leak.role}: {leak.statements}\n  "
            + "\n  ".join(answer[:2000] for answer in leak.answers)
        )
    seconds = time.perf_counter() - began
    print(
        f"{scripts:,} scripts of {len(ROLES)} members: {found} leaks ({seconds:.0f} s)\n",
        flush=True,
    )


class Member:
    """A member with a home, a workspace and a role."""

    def __init__(self, folder: Path, database: Database, role: str) -> None:
        self.root, self.home, self.dsn = (
            folder / role,
            folder / f"home-{role}",
            database.build_dsn(role),
        )
        self.root.mkdir(exist_ok=True)
        self.home.mkdir()

    def run(self, *words: str, **environment: str) -> float:
        """Run a command and return its seconds."""
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "memcli", *words],
            cwd=self.root,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "PYTHONPATH": str(TREE),
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - began
        if done.returncode or "was not searched" in done.stderr:
            raise SystemExit(f"{words}: {done.stdout[-500:]} {done.stderr[-500:]}")
        return seconds

    def join(self) -> None:
        """Link the workspace with the space `shop`."""
        (self.home / ".config/mem").mkdir(parents=True)
        (self.home / ".config/mem/config.yaml").write_text(f"team.dsn: {self.dsn}\n")
        with (self.root / "mem.yaml").open("a") as file:
            file.write("team.space: shop\n")
        self.run("trust")


def compare_commands(server: Server, folder: Path, count: int, runs: int) -> None:
    database = copy_database(server, f"bench-{count}")
    database.add_members("shop", "ana", "bea")
    ana, bea = Member(folder, database, "ana"), Member(folder, database, "bea")
    make_workspace(ana.root, count)
    ana.run("trust")
    embedding = ana.run("index")
    ana.join()
    pushing = ana.run("index")
    unchanged = ana.run("index")
    copying = time_copy(database, count)
    database.run("vacuum analyze", "postgres")
    # A colleague with a few files of her own.
    make_workspace(bea.root, 5)
    bea.join()
    bea.run("index")
    times: dict[str, list[float]] = {"files": [], "colleague": [], "both": []}
    for number in range(runs + 1):
        query = f"{QUERY} {number}"
        measured = {
            "files": ana.run("search", query, XDG_CONFIG_HOME="/none"),
            "colleague": bea.run("search", query),
            "both": ana.run("search", query),
        }
        if number:
            for name, seconds in measured.items():
                times[name].append(seconds)
    files, colleague, both = (1000 * statistics.median(values) for values in times.values())
    print(f"{count:,} memories, median of {runs} interleaved runs\n\n| what | figure |\n|---|---|")
    print(f"| search of the files | {files:.0f} ms |")
    print(
        f"| search of a colleague's memories | {colleague:.0f} ms, {colleague / files:.2f} of the files |"
    )
    print(f"| search of files and server | {both:.0f} ms, {both / files:.2f} of the files |")
    print(f"| read and embed | {embedding:.1f} s |\n| bare COPY of the rows | {copying:.1f} s |")
    whole = embedding + pushing
    print(
        f"| push | {pushing:.1f} s; with embedding {whole / (embedding + copying):.2f} of COPY and embedding |"
    )
    print(f"| push without a change | {unchanged:.1f} s |", flush=True)


def time_copy(database: Database, count: int) -> float:
    """Return the seconds of a bare COPY of the pushed rows into tables without any index."""
    from psycopg import connect

    with connect(database.build_dsn("postgres"), autocommit=True) as connection:
        seconds = 0.0
        for table in ("files", "chunks"):
            connection.execute(
                f"create table public.{table} as select * from mem.{table} with no data"
            )
            with connection.cursor() as cursor:
                with cursor.copy(
                    f"copy (select * from mem.{table}) to stdout (format binary)"
                ) as copy:
                    rows = list(copy)
                began = time.perf_counter()
                with cursor.copy(f"copy public.{table} from stdin (format binary)") as copy:
                    for row in rows:
                        copy.write(row)
                seconds += time.perf_counter() - began
        copied = connection.execute("select count(*) from public.files").fetchone()
        assert copied == (count,)
        return seconds


if __name__ == "__main__":
    main()
