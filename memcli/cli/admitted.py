"""How commands say what became of memories that were let in."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..lifecycle.admission import Admitted


def document(one: "Admitted") -> dict[str, Any]:
    """Tell in JSON what became of one; what does not apply is left out."""
    known = {
        "supersedes": list(one.supersedes),
        "superseded_by": one.superseded_by,
        "conflicts_with": list(one.conflicts_with),
        "reason": one.reason,
        "strength": one.strength if one.action == "merged" else 0,
    }
    told = {"action": one.action, "id": one.id, "path": one.path}
    return told | {key: value for key, value in known.items() if value}


def relations(supersedes: Sequence[str] = (), superseded_by: str = "", conflicts_with: Sequence[str] = ()) -> str:
    """Say what became of other memories through one: `supersedes mem_…; conflicts with mem_…`."""
    told = (
        ("supersedes", supersedes),
        ("superseded by", [superseded_by][: bool(superseded_by)]),
        ("conflicts with", conflicts_with),
    )
    return "; ".join(f"{words} {', '.join(ids)}" for words, ids in told if ids)


def counted(admitted: Sequence["Admitted"]) -> str:
    """Count what was more than made anew: `2 merged, 1 superseded`; empty where all was."""
    numbers = {
        "merged": sum(one.action == "merged" for one in admitted),
        "superseded": sum(len(one.supersedes) + bool(one.superseded_by) for one in admitted),
        "in conflict": sum(bool(one.conflicts_with) for one in admitted),
    }
    return ", ".join(f"{number:,} {what}" for what, number in numbers.items() if number)
