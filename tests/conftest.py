"""What all tests share: the model."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from memcli.index import model
from tests.helpers import CACHE


@pytest.fixture(scope="session", autouse=True)
def open_the_model_once() -> Iterator[None]:
    """Open the model once per process, because that takes longer than most commands."""
    folder = CACHE / "mem"
    model.prepare_model(folder)
    open_shared = cache(model.open_embedder)

    def open_embedder(_: Any, *, is_bulk: bool) -> model.Embedder:
        return open_shared(folder, is_bulk=is_bulk)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "open_embedder", open_embedder)
        yield
