"""No owner can tell what others keep, whatever is asked; the whole search is `python -m bench team --leaks 20000`."""

from contextlib import closing

import psycopg
import pytest

from tests import team_fuzz
from tests.team_server import TeamServer, copied


def test_nothing_leaks(team_server: TeamServer) -> None:
    leaks = list(team_fuzz.leaks(team_server, 200, size=40, seed="suite"))
    assert not leaks, "\n\n".join(f"{leak.owner}: {leak.statements}\n{leak.answers}" for leak in leaks[:3])


@pytest.mark.parametrize(
    "change",
    [
        "alter table mem.chunks disable row level security",
        "create index on mem.embeddings using hnsw ((vector::halfvec(8)) halfvec_cosine_ops) where model = 'm'",
    ],
)
def test_a_gap_would_be_found(team_server: TeamServer, change: str) -> None:
    leaks = team_fuzz.leaks(team_server, 2000, size=40, seed="gap", change=change, owners=("bea",))
    with closing(leaks):
        assert next(leaks, None) is not None


@pytest.mark.parametrize("settings", ["", "set enable_seqscan = off", "set enable_indexscan = off"])
def test_a_plan_is_the_same_whether_somebody_has_what_is_guessed_or_nobody(
    team_server: TeamServer, settings: str
) -> None:
    database = copied(team_server, f"guess {settings}")
    team_fuzz.fill(database, "eve", team_fuzz.FIRST, 20)
    theirs = team_fuzz.text_of(2, 3, team_fuzz.FIRST)
    guesses = {
        "chunks": ("text", theirs.text),
        "files": ("path", team_fuzz.text_of(2, 4, team_fuzz.FIRST).path),
        "words": ("term", theirs.words[0]),
        "embeddings": ("hash", f"\\x{theirs.hash.hex()}"),
        "workspaces": ("name", "bea"),
    }
    with psycopg.connect(database.dsn("eve"), autocommit=True) as connection:
        connection.execute(settings)
        for table, (column, guess) in guesses.items():
            plans = []
            for value in (guess, guess[:-1] + "0"):
                query = f"select 1 from mem.{table} where {column} = '{value}'"
                rows = connection.execute(f"explain (analyze, timing off, summary off, buffers off) {query}").fetchall()
                plans.append("\n".join(line for (line,) in rows).replace(value, ""))
            assert plans[0] == plans[1], table
