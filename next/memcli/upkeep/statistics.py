"""Numbers about a workspace."""

from dataclasses import dataclass, field

from ..index.index import Index


@dataclass
class Statistics:
    """Counts of what a workspace contains."""

    files: dict[str, int] = field(default_factory=dict)  # by kind
    statuses: dict[str, int] = field(default_factory=dict)  # of entries
    types: dict[str, int] = field(default_factory=dict)  # of active entries
    texts: int = 0
    not_embedded: int = 0
    problems: int = 0
    bytes: int = 0


def count_everything(index: Index) -> Statistics:
    """Return the numbers of an index that is in step with the files."""

    # Each table is small compared with reading the files, so nothing is cached.
    def count(statement: str) -> dict[str, int]:
        return dict(index.run(statement).fetchall())

    return Statistics(
        files=count("select kind, count(*) from files group by kind order by kind"),
        statuses=count("select status, count(*) from entries group by status order by status"),
        types=count(
            "select type, count(*) from entries where status = 'active'"
            " group by type order by 2 desc, 1"
        ),
        texts=index.run("select count(*) from chunks").fetchone()[0],
        not_embedded=index.run("select count(*) from chunks where vector is null").fetchone()[0],
        problems=index.run("select count(*) from problems").fetchone()[0],
        bytes=index.run("select coalesce(sum(size), 0) from files").fetchone()[0],
    )
