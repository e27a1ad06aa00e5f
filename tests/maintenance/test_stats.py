"""Entries are counted by kind, age and month, and those used most, fading and in conflict are named."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from memcli.maintenance.stats import Stats, stats
from memcli.store.access_log import Access
from memcli.store.settings import Settings, load_settings

NOW = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)
SETTINGS: Settings = load_settings(Path("/nonexistent/config.yaml"), None, {})


def row(name: str, days: float = 0.0, **more: Any) -> dict[str, Any]:
    made = (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    plain = {
        "id": name, "path": f"entries/{name}.md", "type": "fact", "layer": "semantic", "tags": [], "project": "",
        "created_at": made, "updated_at": made, "source": "user", "status": "active", "trust": 1.0, "pinned": False,
        "expires_at": "", "conflicts_with": "", "access_count": 0, "summary": name,
    }  # fmt: skip
    return plain | more


def counted(*rows: dict[str, Any], zone: str = "UTC", **accesses: Access) -> Stats:
    return stats(rows, accesses, NOW, ZoneInfo(zone), SETTINGS)


def test_what_is_superseded_or_archived_counts_by_status_and_month_alone() -> None:
    found = counted(row("a"), row("b", status="superseded", type="lesson"), row("c", status="archived"))
    assert found.statuses == {"active": 1, "archived": 1, "superseded": 1}
    assert found.types == {"fact": 1}
    assert found.growth == {"2026-11": 3}


def test_the_most_frequent_comes_first() -> None:
    rows = [row(str(number), tags=["x"] if number else ["x", "y"]) for number in range(3)]
    assert list(counted(*rows, row("z", type="lesson")).types.items()) == [("fact", 3), ("lesson", 1)]
    assert counted(*rows).tags == {"x": 3, "y": 1}


@pytest.mark.parametrize(
    ("days", "age"),
    [(0.5, "under 1 day"), (1, "under 1 week"), (8, "under 1 month"), (400, "older"), (-30, "under 1 day")],
)
def test_ages(days: float, age: str) -> None:
    assert counted(row("a", days)).ages == {age: 1}


def test_months_without_an_entry_are_shown_and_no_more_than_a_year() -> None:
    growth = counted(row("a", 95), row("b", 0), row("c", 5000)).growth
    assert growth == {"2026-08": 1, "2026-09": 0, "2026-10": 0, "2026-11": 1}


def test_a_month_is_the_one_where_the_user_lives() -> None:
    late = row("a", created_at="2026-10-31T23:30:00Z")
    assert counted(late, zone="Asia/Tokyo").growth == {"2026-11": 1}


def test_the_stalest_are_those_that_fade_first() -> None:
    rows = [row(str(days), days) for days in (10, 300, 100)]
    found = counted(*rows, row("e", 900, layer="episodic", type="episode"), row("p", 900, pinned=True))
    assert [one.id for one in found.stalest] == ["300", "100", "10"]
    assert (found.faded, found.pinned) == (2, 1)


def test_conflicts_are_listed() -> None:
    assert [one.id for one in counted(row("a", conflicts_with="b"), row("b")).conflicts] == ["a"]
