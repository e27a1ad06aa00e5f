"""How much of a memory is left after a time, and what odd files make of the formula."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import UsageError
from memcli.recall.retention import fading, retention
from memcli.store.settings import TABLE

NOW = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)
SETTINGS = {setting.name: setting.default for setting in TABLE}


def row(kind: str = "fact", days: float = 0.0, **more: Any) -> dict[str, Any]:
    made = (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": kind, "created_at": made, "updated_at": made, "trust": 1.0, "access_count": 0, "tags": []} | more


@pytest.mark.parametrize(
    ("kind", "days"),
    [
        ("correction", 365), ("preference", 90), ("constraint", 90), ("fact", 30), ("entity", 30), ("procedure", 30),
        ("lesson", 30), ("observation", 7), ("something else", 30),
    ],
)  # fmt: skip
def test_after_its_days_a_memory_is_down_to_a_third(kind: str, days: int) -> None:
    assert fading(row(kind, days), NOW, SETTINGS).score == pytest.approx(math.exp(-1))


def test_the_score_is_the_formula_of_age_accesses_and_trust() -> None:
    one = row("fact", 60, access_count=3, trust=0.7)
    assert fading(one, NOW, SETTINGS).score == pytest.approx(math.exp(-2) * (1 + math.log(4)) * 0.7)
    assert fading(one, NOW, SETTINGS, accesses=6).score == pytest.approx(math.exp(-2) * (1 + math.log(10)) * 0.7)


def test_an_episode_does_not_fade() -> None:
    assert fading(row("episode", 4000, trust=0.7), NOW, SETTINGS).score == 0.7


def test_age_counts_from_the_later_of_making_and_changing() -> None:
    old, new = "2020-01-01T00:00:00Z", "2026-11-20T20:15:03Z"
    assert fading(row(created_at=old, updated_at=new), NOW, SETTINGS).age == 1
    assert fading(row(created_at=new, updated_at=old), NOW, SETTINGS).age == 1


@pytest.mark.parametrize("moment", ["2031-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "", "soon", None])
def test_a_date_in_the_future_or_none_at_all_makes_no_age(moment: str | None) -> None:
    assert fading(row(created_at="", updated_at=moment), NOW, SETTINGS).age == 0


def test_the_days_of_a_tag_stand_in_for_those_of_the_type_and_the_longest_wins() -> None:
    settings = SETTINGS | {"decay.tags": ("work=10", "#Home=600")}
    assert fading(row(tags=["work"]), NOW, settings).days == 10
    assert fading(row(tags=["work", "home"]), NOW, settings).days == 600
    assert fading(row("correction", tags=["workshop"]), NOW, settings).days == 365


@pytest.mark.parametrize("told", ["work", "work=soon", "=5", "work=0", "work=nan", "work=-3"])
def test_a_tag_without_sensible_days_is_named(told: str) -> None:
    with pytest.raises(UsageError, match=r"decay\.tags"):
        fading(row(), NOW, SETTINGS | {"decay.tags": (told,)})


@pytest.mark.parametrize("trust", [math.nan, -1, 5, 1e300, "high", None, math.inf])
def test_a_trust_that_makes_no_sense_is_that_of_the_source(trust: object) -> None:
    assert fading(row(trust=trust, source="observed"), NOW, SETTINGS).trust == 0.7
    assert fading(row(trust=trust, source="unheard of"), NOW, SETTINGS).trust == 0.5


@given(
    st.dictionaries(
        st.sampled_from(["type", "created_at", "updated_at", "trust", "source", "access_count", "strength"]),
        st.none() | st.text(max_size=30) | st.integers() | st.floats() | st.booleans(),
    )
)
def test_whatever_a_row_holds_retention_lies_between_nothing_and_all(odd: dict[str, Any]) -> None:
    assert 0 <= retention({"type": "fact", "tags": []} | odd, NOW, SETTINGS) <= 1
