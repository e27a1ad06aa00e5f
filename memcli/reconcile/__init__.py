"""How a new memory relates to the memories that exist."""

from typing import TYPE_CHECKING

from .. import import_lazily

if TYPE_CHECKING:
    from .admit import write_memories
    from .changes import (
        Draft,
        ForgetResult,
        Neighbors,
        Outcome,
        build_entry,
        build_inbox_entry,
        build_outcome,
        build_path,
        can_replace,
        change_page_line,
        clean_text,
        complete_draft,
        delete_inbox,
        edit_file,
        find_old_inbox,
        find_same_key,
        list_inbox,
        mask_text,
        supersede,
    )
    from .edit import get_file, move_to_workspace, replace_passage, replace_text, update_entry
    from .forgetting import (
        find_pending_purges,
        find_received_purges,
        forget,
        forget_described,
        get_mentions,
        purge_entries,
        restore,
    )
    from .pairs import find_circles, find_conflicts, find_outdated_ids
    from .review import (
        Choice,
        Question,
        answer_questions,
        build_pair_question,
        find_questions,
        find_repeats,
        get_text,
        list_questions,
        merge_repeats,
    )
    from .similar import find_neighbors

__getattr__ = import_lazily(
    __name__,
    {
        "admit": "write_memories",
        "changes": (
            "Draft ForgetResult Neighbors Outcome build_entry build_inbox_entry "
            "build_outcome build_path can_replace change_page_line clean_text complete_draft "
            "delete_inbox edit_file find_old_inbox find_same_key list_inbox "
            "mask_text supersede"
        ),
        "edit": "get_file move_to_workspace replace_passage replace_text update_entry",
        "forgetting": (
            "find_pending_purges find_received_purges forget forget_described get_mentions "
            "purge_entries restore"
        ),
        "pairs": "find_circles find_conflicts find_outdated_ids",
        "review": (
            "Choice Question answer_questions build_pair_question find_questions find_repeats "
            "get_text list_questions merge_repeats"
        ),
        "similar": "find_neighbors",
    },
)
