"""A class of `memcli.dataclass` is to its users one of the standard library, and costs an import next to nothing."""

import copy
import dataclasses
import inspect
import pickle
import threading
from collections.abc import Callable
from dataclasses import KW_ONLY, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import pytest

from memcli.dataclass import dataclass
from tests.conftest import Ran

T = TypeVar("T")


@dataclass(frozen=True)
class Point:
    """What other processes know by its name."""

    x: int
    y: int = 0


def family(decorator: Any) -> tuple[type, type, type]:
    """Return a frozen class, one that inherits from it, and one that can be changed."""

    @decorator(frozen=True)
    class Base:
        """One thing."""

        name: str
        tags: list[str] = field(default_factory=list)
        note: str = field(default="none", repr=False, compare=False)

        def __post_init__(self) -> None:
            if not self.name:
                raise ValueError("no name")

        @cached_property
        def length(self) -> int:
            return len(self.name)

    @decorator(frozen=True)
    class Further(Base, Generic[T]):
        """One thing more."""

        size: int = 1
        _: KW_ONLY
        is_odd: bool = False

    @decorator
    class Open:
        """What may change."""

        count: int = 0
        parts: tuple[str, ...] = ()

        def __repr__(self) -> str:
            return f"<{self.count}>"

    return Base, Further, Open


def attempt(do: Callable[[], Any]) -> Any:
    """Return what a function returns, or the class and the text of what it raises."""
    try:
        return do()
    except Exception as error:
        return type(error), str(error)


USES: dict[str, Callable[[type, type, type], Any]] = {
    "repr": lambda base, further, open_: repr([base("a"), further("b", ["t"], is_odd=True), open_(2)]),
    "equal": lambda base, further, open_: (
        base("a", note="x") == base("a"),
        base("a") == further("a"),
        open_() == open_(0, ()),
        open_() == open_(1),
    ),
    "hash": lambda base, further, open_: hash(base("a", ())) == hash(base("a", (), "y")),
    "hash of what changes": lambda base, further, open_: hash(open_()),
    "defaults are not shared": lambda base, further, open_: base("a").tags is base("a").tags,
    "default of the class": lambda base, further, open_: (further.note, further.size, hasattr(base, "tags")),
    "wrong arguments": lambda base, further, open_: base(),
    "positional after keyword only": lambda base, further, open_: further("a", [], "", 1, True),
    "check": lambda base, further, open_: base(""),
    "assign": lambda base, further, open_: setattr(base("a"), "name", "b"),
    "assign what is no field": lambda base, further, open_: setattr(further("a"), "other", "b"),
    "delete": lambda base, further, open_: delattr(base("a"), "name"),
    "assign where it may": lambda base, further, open_: [setattr(one := open_(), "count", 5), one.count],
    "cached": lambda base, further, open_: base("abc").length,
    "replace": lambda base, further, open_: repr(dataclasses.replace(further("a"), size=3)),
    "asdict": lambda base, further, open_: dataclasses.asdict(further("a")),
    "astuple": lambda base, further, open_: dataclasses.astuple(open_(3)),
    "fields": lambda base, further, open_: [(one.name, one.type, one.kw_only) for one in dataclasses.fields(further)],
    "is dataclass": lambda base, further, open_: (dataclasses.is_dataclass(base), dataclasses.is_dataclass(open_)),
    "signature": lambda base, further, open_: str(inspect.signature(further)),
    "annotations": lambda base, further, open_: further.__annotations__,
    "match": lambda base, further, open_: base.__match_args__ + further.__match_args__,
    "options": lambda base, further, open_: (base.__dataclass_params__.frozen, open_.__dataclass_params__.frozen),
    "copy.replace": lambda base, further, open_: repr(copy.replace(base("a"), name="b")),
    "copy": lambda base, further, open_: repr(copy.deepcopy(further("a", ["t"]))),
    "doc": lambda base, further, open_: (base.__doc__, further.__doc__, further.__init__.__qualname__),
    "a subclass that thaws": lambda base, further, open_: dataclasses.dataclass(type("Thawed", (base,), {})),
    "a subclass of none": lambda base, further, open_: type("Plain", (base,), {})("a") == base("a"),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_each_use_is_as_with_the_standard_library_also_when_it_is_the_first(
    use: Callable[[type, type, type], Any],
) -> None:
    assert attempt(lambda: use(*family(dataclass))) == attempt(lambda: use(*family(dataclasses.dataclass)))


def test_a_class_pattern_takes_it_apart() -> None:
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
        case _:
            pytest.fail("no match")


def test_what_another_process_made_is_equal_where_no_instance_was_made_before(spawn: Callable[..., Ran]) -> None:
    code = f"""
import pickle, sys
from memcli.store.workspace import Surroundings
from memcli.beliefs.writing import NewEntry
one = pickle.loads({pickle.dumps(_entry())!r})
print(repr(one) == {repr(_entry())!r}, one == pickle.loads(pickle.dumps(one)), one.tags)
try:
    one.text = "other"
except AttributeError as error:
    print(error)
"""
    assert spawn(code=code).out == "True True ('zoo',)\ncannot assign to field 'text'\n"


def _entry() -> object:
    from memcli.beliefs.writing import NewEntry

    return NewEntry("A quagga.", tags=("zoo",))


def test_threads_that_make_the_first_instance_together_all_get_one() -> None:
    for _ in range(50):
        base, further, _open = family(dataclass)
        start, made = threading.Barrier(4), list[object]()

        def make(kind: type, start: threading.Barrier = start, made: list[object] = made) -> None:
            start.wait()
            made.append(kind("a"))

        threads = [threading.Thread(target=make, args=(kind,)) for kind in (base, further, further, base)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 4
        assert made.count(base("a")) == made.count(further("a")) == 2


def test_to_define_a_class_and_to_make_an_instance_generate_no_more_than_they_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generated = list[tuple[str, bool]]()
    standard = dataclasses.dataclass

    def noted(**options: bool) -> Callable[[type], type]:
        def decorate(cls: type) -> type:
            generated.append((cls.__name__, options.get("eq", True)))
            return standard(**options)(cls)

        return decorate

    monkeypatch.setattr(dataclasses, "dataclass", noted)
    base, _, _ = family(dataclass)
    assert generated == []
    one, other = base("a"), base("b")
    assert generated == [("Base", False)]
    assert one != other
    assert one == copy.copy(one)
    assert generated == [("Base", False), ("Base", True)]
