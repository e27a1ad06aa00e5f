"""No text makes a parser raise what is no error of the user's world, or take for ever; promises hold of every text.

`make fuzz` tries more; what it finds is kept in tests/corpora, and tried first from then on.
"""

import hashlib
import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.mutations import branches, near
from tests.fuzz.targets import TARGETS, Target

CORPORA = Path(__file__).parents[1] / "corpora"
EXAMPLES = int(os.environ.get("MEM_FUZZ", "40"))
SECONDS = 5.0  # of the processor, for a text of at most 60,000 characters
BY_NAME = {target.name: target for target in TARGETS}


def tried(target: Target, *texts: str) -> None:
    """Check the texts, and that it took no more than its time."""
    begun = time.process_time()
    target.check(*texts)
    took = time.process_time() - begun
    assert took < SECONDS, f"{took:.1f} s for {sum(map(len, texts)):,} characters"


def kept(target: Target, texts: tuple[str, ...]) -> None:
    """Keep what was found: hypothesis shrinks it, so the last one is the smallest."""
    folder = CORPORA / target.name.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("new-*.json"):
        old.unlink()
    data = json.dumps(texts, indent=1)
    (folder / f"new-{hashlib.sha256(data.encode()).hexdigest()[:8]}.json").write_text(f"{data}\n")


@pytest.mark.parametrize("path", sorted(CORPORA.glob("*/*.json")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_was_found_once_holds(path: Path) -> None:
    tried(BY_NAME[path.parent.name.replace("-", " ")], *json.loads(path.read_text()))


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_text_is_read_or_refused(target: Target) -> None:
    texts = branches(target.seeds()) if target.texts == 3 else near(target.seeds()).map(lambda text: (text,))

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES <= 40)
    @given(texts)
    def every(texts: tuple[str, ...]) -> None:
        try:
            tried(target, *texts)
        except BaseException:
            if "MEM_FUZZ" in os.environ:
                kept(target, texts)
            raise

    every()
