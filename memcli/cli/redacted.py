"""What every command says that blanked secrets out."""

from collections.abc import Sequence

from ..store.redaction import Redacted
from . import output

MOST = 20


def tell_redacted(found: Sequence[Redacted]) -> None:
    """Say on stderr where a secret stood and which rule saw it, since it cannot be had back."""
    for one in found[:MOST]:
        output.note(str(one))
    if len(found) > MOST:
        output.note(f"and {len(found) - MOST:,} more secrets redacted: --json lists them")
