"""The search index. It is derived from the files, and updated whenever they change."""

import os
from typing import TYPE_CHECKING

from .. import import_lazily

# Read by numpy's BLAS when it is imported. With threads of its own it takes 40 to 60 ms longer to
# import, and scans 10,000 vectors in 8 ms instead of 1, because the threads wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

if TYPE_CHECKING:
    from .database import FILE, TOKENIZER, open_database, read_passages
    from .filters import (
        Filter,
        build_chunk_sql,
        build_filter,
        build_sql,
        check_type,
        find_entries,
        find_files,
        parse_date,
        parse_expiry,
    )
    from .index import COLUMNS, KINDS, Index, IndexedEntry, build_entry, get_index, open_index
    from .model import open_embedder, prepare_model
    from .reader import SECRET_NAME, ForgottenTexts, ParsedFile, parse_file, read_entry_file
    from .scan import list_all_files, read_ignored_patterns, remove_leftovers, scan_workspace
    from .settled import is_same_file
    from .words import (
        UNSPACED,
        find_content_words,
        find_spellings,
        get_small_talk,
        get_stop_words,
        is_one_edit_apart,
        split_query,
    )
    from .writer import delete_file, store_file

__getattr__ = import_lazily(
    __name__,
    {
        "database": "FILE TOKENIZER open_database read_passages",
        "filters": (
            "Filter build_chunk_sql build_filter build_sql check_type find_entries "
            "find_files parse_date parse_expiry"
        ),
        "index": "COLUMNS Index IndexedEntry KINDS build_entry get_index open_index",
        "model": "open_embedder prepare_model",
        "reader": "SECRET_NAME ForgottenTexts ParsedFile parse_file read_entry_file",
        "scan": "list_all_files read_ignored_patterns remove_leftovers scan_workspace",
        "settled": "is_same_file",
        "words": (
            "UNSPACED find_content_words find_spellings get_small_talk get_stop_words "
            "is_one_edit_apart split_query"
        ),
        "writer": "delete_file store_file",
    },
)
