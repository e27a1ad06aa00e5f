"""Files as values: text in, values out. Nothing here touches the disk."""

from typing import TYPE_CHECKING

from .. import import_lazily

if TYPE_CHECKING:
    from .chunks import Chunk
    from .dates import (
        add_month,
        describe_day,
        find_day_in_name,
        format_time,
        normalize_time,
        parse_end,
        parse_period,
        parse_time,
    )
    from .entry import (
        EPISODIC,
        FADED,
        FIELDS,
        KIND_TYPES,
        PROCEDURAL,
        SOURCES,
        SPELLINGS,
        STATUS_SPELLINGS,
        STATUSES,
        TRUST,
        TYPES,
        Entry,
        can_fade,
        compute_retention,
        distrust_entry,
        edit_entry,
        find_claim,
        find_kind,
        find_new_strings,
        fold_key,
        format_entry,
        guess_type,
        is_forgotten,
        is_forgotten_reworded,
        read_document,
        read_entry,
        read_file_time,
        read_id,
        read_key,
        read_list,
        read_share,
        read_tags,
        replace_body,
    )
    from .frontmatter import FrontmatterError, edit, format_document, get_body, get_content, parse
    from .ids import COPY_START, build_id, build_slug, get_id_end, is_id
    from .json_stream import BLANK, CutOffError, JsonStream, LongValue
    from .merge import find_added_lines, merge_lines, merge_sequences
    from .page import (
        HEADING,
        PROMOTED_LINE,
        PageError,
        PromotedLine,
        add_promoted_lines,
        find_promoted_lines,
        format_promoted_line,
        list_promoted_lines,
        replace_promoted_line,
        split_sections,
        strip_comments,
        unlink_line,
    )
    from .records import (
        ANSWERED,
        CONTEXT,
        HISTORY_HEADING,
        LONGEST_LINE,
        NOT_RECORDED,
        NOTE_START,
        UNDATED,
        Message,
        Record,
        find_record_project,
        find_texts,
        format_history_record,
        format_note,
        hide_answer,
        is_unrecorded,
        parse_event,
        parse_events,
        parse_messages,
        read_content,
        read_message,
        split_history,
        split_lines,
    )
    from .text import (
        BLOCK_ID,
        BYTES_PER_TOKEN,
        CONTROL,
        FULL_STOP,
        HIDDEN_MARK,
        LIST_MARK,
        SENTENCE_END,
        SHORT,
        SUMMARY_LENGTH,
        WORD,
        Passage,
        PassageFinder,
        Problem,
        Progress,
        add_title,
        build_digest,
        build_keyed_digest,
        build_text_digest,
        build_words_digest,
        collapse_blanks,
        count_bytes,
        count_noun,
        count_tokens,
        cut_middle,
        decode,
        find_conflict_line,
        find_control_character,
        find_strings,
        find_values,
        find_words,
        fold_name,
        is_binary,
        is_whole_line,
        normalize,
        replace_passages,
        replace_surrogates,
        shorten,
        split_words,
        summarize,
        summarize_texts,
    )

__getattr__ = import_lazily(
    __name__,
    {
        "chunks": "Chunk",
        "dates": (
            "add_month describe_day find_day_in_name format_time normalize_time parse_end "
            "parse_period parse_time"
        ),
        "entry": (
            "EPISODIC Entry FADED FIELDS KIND_TYPES PROCEDURAL SOURCES SPELLINGS STATUSES "
            "STATUS_SPELLINGS TRUST TYPES can_fade compute_retention distrust_entry "
            "edit_entry find_claim find_kind find_new_strings fold_key format_entry guess_type "
            "is_forgotten is_forgotten_reworded read_document read_entry read_file_time read_id "
            "read_key read_list read_share read_tags replace_body"
        ),
        "frontmatter": "FrontmatterError edit format_document get_body get_content parse",
        "ids": "COPY_START build_id build_slug is_id get_id_end",
        "json_stream": "BLANK CutOffError JsonStream LongValue",
        "merge": "find_added_lines merge_lines merge_sequences",
        "page": (
            "HEADING PROMOTED_LINE PageError PromotedLine add_promoted_lines "
            "find_promoted_lines format_promoted_line list_promoted_lines "
            "replace_promoted_line split_sections strip_comments unlink_line"
        ),
        "records": (
            "ANSWERED CONTEXT HISTORY_HEADING LONGEST_LINE Message NOT_RECORDED NOTE_START "
            "Record UNDATED find_record_project find_texts format_history_record format_note "
            "hide_answer is_unrecorded parse_event parse_events parse_messages read_content "
            "read_message split_history split_lines"
        ),
        "text": (
            "BLOCK_ID BYTES_PER_TOKEN CONTROL FULL_STOP HIDDEN_MARK LIST_MARK Passage "
            "PassageFinder Problem Progress SENTENCE_END SHORT SUMMARY_LENGTH WORD "
            "add_title build_digest build_keyed_digest build_text_digest build_words_digest "
            "collapse_blanks count_bytes count_noun count_tokens cut_middle decode "
            "find_conflict_line "
            "find_control_character find_strings find_values find_words fold_name is_binary "
            "is_whole_line normalize replace_passages replace_surrogates shorten split_words "
            "summarize summarize_texts"
        ),
    },
)
