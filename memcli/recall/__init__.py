"""Choose the memories for a start, a prompt, an action and a failure."""

from typing import TYPE_CHECKING

from .. import import_lazily

if TYPE_CHECKING:
    from .action import build_action_context, build_failure_context
    from .lookup import (
        ALL,
        FOLDER,
        PLACES,
        START_TIME,
        Place,
        Shown,
        delete_old_records,
        load_fork,
        load_shown,
        lock_session,
        render_context,
        render_line,
    )
    from .pack import FORMATS, Pack, build_pack
    from .prompt import (
        build_prompt_context,
        get_least_relevance,
        measure_need,
        needs_memory,
        queue_memories,
    )
    from .start import HEADINGS, PAGE, build_start

__getattr__ = import_lazily(
    __name__,
    {
        "action": "build_action_context build_failure_context",
        "lookup": (
            "ALL FOLDER PLACES Place START_TIME Shown delete_old_records load_fork "
            "load_shown lock_session render_context render_line"
        ),
        "pack": "FORMATS Pack build_pack",
        "prompt": (
            "build_prompt_context get_least_relevance measure_need needs_memory queue_memories"
        ),
        "start": "HEADINGS PAGE build_start",
    },
)
