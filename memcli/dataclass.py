"""The decorator `dataclass`, whose methods are generated when they are first needed.

The standard library compiles the source of six methods as soon as a class is defined, in half a millisecond. A command
imports forty such classes, makes instances of some and compares hardly any: a fifth of its time was spent on methods
that nobody called. Here the standard library generates the same methods later: what makes an instance when the first
one is made, the others when one of them is asked for. It is imported only
then: that takes as long as Python takes to start. A type checker sees the decorator of the standard library, and
`field`, `replace` and what else works on dataclasses comes from there.
"""

import sys
from _thread import RLock
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

_MAKING = ["__init__", "__match_args__", "__dataclass_fields__"]
if sys.version_info >= (3, 13):
    _MAKING.append("__replace__")  # what `copy.replace` calls
_COMPARING = ["__repr__", "__eq__", "__hash__", "__dataclass_params__"]
_LOCK = RLock()


class _Member:
    """Stands in a class for a member that is to be generated, and has it generated when it is asked for."""

    def __init__(self, cls: type, name: str, generate: Callable[[], None]) -> None:
        self.cls, self.name, self.generate = cls, name, generate

    def __get__(self, instance: object | None, owner: type) -> Any:
        with _LOCK:
            if vars(self.cls)[self.name] is self:
                self.generate()
        member = vars(self.cls)[self.name]
        return member.__get__(instance, owner) if hasattr(member, "__get__") else member


class FieldOf:
    """A field of a class that is no dataclass of the standard library yet, by what `dataclasses.field` takes."""

    def __init__(self, **stated: Any) -> None:
        self.stated = stated

    @property
    def metadata(self) -> Mapping[Any, Any]:
        return self.stated.get("metadata") or {}


def fields_stated(cls: type) -> dict[str, FieldOf]:
    """Return the fields of a class that are made with `field` from here, in their order."""
    stated: dict[str, FieldOf] = vars(cls)["__fields_stated__"]
    return stated


def _dataclass(cls: type | None = None, /, *, frozen: bool = False) -> Any:
    """Make a class a dataclass, as the decorator of the standard library does with the same options."""
    if cls is None:
        return lambda cls: _dataclass(cls, frozen=frozen)
    written = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    written["__qualname__"] = cls.__qualname__
    library = sys.modules.get("dataclasses")  # where nobody has imported it no class has a field of its kind
    for name, value in written.items():
        if isinstance(value, FieldOf):
            setattr(cls, name, value.stated["default"]) if "default" in value.stated else delattr(cls, name)
        elif library and isinstance(value, library.Field):
            delattr(cls, name) if value.default is library.MISSING else setattr(cls, name, value.default)
    cls.__fields_stated__ = {  # type: ignore[attr-defined]
        name: value for name, value in written.items() if isinstance(value, FieldOf)
    }
    _defer(cls, _MAKING, written, {"frozen": frozen, "repr": False, "eq": False})
    _defer(cls, _COMPARING, written, {"frozen": frozen})
    if frozen:
        cls.__setattr__, cls.__delattr__ = _refuse_to_assign, _refuse_to_delete  # type: ignore[assignment]
    return cls


def _defer(cls: type, names: list[str], written: dict[str, Any], options: dict[str, bool]) -> None:
    """Have members of a class generated from what is written in it, all of them when the first is asked for."""
    names = [name for name in names if name not in written]

    def generate() -> None:

        import dataclasses

        whole = {
            name: dataclasses.field(**value.stated) if isinstance(value, FieldOf) else value
            for name, value in written.items()
        }
        twin: type = type(cls)(cls.__name__, cls.__bases__, whole)
        attributes = vars(dataclasses.dataclass(**options)(twin))
        for name in names:
            setattr(cls, name, attributes[name])

    for name in names:
        setattr(cls, name, _Member(cls, name, generate))


def _refuse_to_assign(instance: object, name: str, value: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(instance: object, name: str) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
else:
    dataclass, field = _dataclass, FieldOf
