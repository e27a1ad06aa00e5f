"""What commands that keep text share: the options for a judge and for secrets, and how they report both."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from . import output

if TYPE_CHECKING:
    from ..api.consolidate import Admitted
    from ..api.write import Redacted


MOST = 20
"""Secrets that are listed one by one."""

Judge = Annotated[bool, typer.Option("--judge", help="Let your LLM say what repeats or contradicts what is known.")]
Redact = Annotated[bool, typer.Option("--redact", help="Put [REDACTED:rule] in the place of secrets.")]
AllowSecret = Annotated[bool, typer.Option("--allow-secret", help="Keep what looks like a secret all the same.")]


def judge_progress() -> Callable[[int, int], None]:
    """Return what shows how many questions the judge has answered, where there are several."""
    bar = output.Bar("questions answered by the LLM:", 1)

    def progress(done: int, total: int) -> None:
        if done < total and total > 1:
            bar(done, total)
        else:
            bar.clear()

    return progress


def tell_unheard(error: str) -> None:
    """Say that an LLM did not judge, and who did."""
    if error:
        output.note(f"the LLM could not judge ({error}): the rules did")


def relations(
    supersedes: Sequence[str] = (),
    superseded_by: str = "",
    conflicts_with: Sequence[str] = (),
) -> str:
    """Say what became of other memories through one: `supersedes mem_…; conflicts with mem_…`."""
    texts = (
        ("supersedes", supersedes),
        ("superseded by", [superseded_by][: bool(superseded_by)]),
        ("conflicts with", conflicts_with),
    )
    return "; ".join(f"{words} {', '.join(ids)}" for words, ids in texts if ids)


def counted(admitted: Sequence["Admitted"]) -> str:
    """Count what was more than made anew: `2 merged, 1 superseded`; empty where all was."""
    numbers = {
        "forgotten": sum(admission.action == "forgotten" for admission in admitted),
        "held back": sum(admission.action == "held" for admission in admitted),
        "merged": sum(admission.action == "merged" for admission in admitted),
        "superseded": sum(len(admission.supersedes) + bool(admission.superseded_by) for admission in admitted),
        "in conflict": sum(bool(admission.conflicts_with) for admission in admitted),
    }
    return ", ".join(f"{number:,} {what}" for what, number in numbers.items() if number)


def tell_redacted(redacted: Sequence["Redacted"]) -> None:
    """Say on stderr where a secret stood and which rule saw it, since it cannot be had back."""
    for secret in redacted[:MOST]:
        output.note(str(secret))
    if len(redacted) > MOST:
        output.note(f"and {len(redacted) - MOST:,} more secrets redacted: --json lists them")
