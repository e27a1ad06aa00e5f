"""Workspaces on disk: find them, read their settings, and change their files by one writer."""

from typing import TYPE_CHECKING

from .. import import_lazily

if TYPE_CHECKING:
    from .files import (
        is_ignored,
        open_lock,
        read_patterns,
        read_small_text,
        replace_whole,
        save_private,
    )
    from .gates import (
        build_forgotten_gate,
        check_agent,
        check_characters,
        check_secrets,
        find_secret_problems,
        has_secret_name,
        mask_name,
        redact_text,
    )
    from .git import (
        SAFE_OPTIONS,
        Repository,
        find_remote,
        find_repository,
        parse_objects,
        read_line,
        run_git,
        run_program,
    )
    from .init import (
        HISTORY_PATHS,
        LOCAL_PATHS,
        SHARED_ONLY_PATHS,
        Place,
        add_lines,
        choose_place,
        create_workspace,
        hide_from_git,
        show_to_git,
    )
    from .machine import LOG, NICENESS, Machine, make_mem_folder
    from .obsidian import (
        APP_SETTINGS,
        EXCLUDING_SETTINGS,
        UNKNOWN,
        find_day,
        find_tags,
        find_title,
        parse_excluded,
        read_daily_settings,
        read_excluded,
        render_canvas,
    )
    from .sessions import (
        ARCHIVE,
        EVENTS,
        METADATA,
        Session,
        append_events,
        build_mask,
        change_metadata,
        cut_masked,
        find_events_file,
        find_sessions_folder,
        get_session,
        has_last_line_end,
        list_sessions,
        load_session,
        mask_field,
        mask_value,
        name_session,
        read_session,
        recount_events,
        repair_events,
    )
    from .settings import (
        LAYOUT,
        SETTINGS,
        edit_settings_text,
        format_setting,
        hide_password,
        parse_setting,
        read_settings,
    )
    from .undo_log import (
        Change,
        Record,
        find_log_folder,
        find_undone_numbers,
        note_failure,
        prune_log,
        read_failure,
        read_log,
        read_record,
        recover,
    )
    from .workspace import (
        MAIN_WORKTREE,
        MARK,
        PURGED_IDS,
        TEMPORARY_PREFIX,
        Workspace,
        find_own_workspace,
        find_project_workspace,
        find_recording_workspace,
        get_own_workspace,
        get_recording_workspace,
        get_target_workspace,
        get_workspaces,
        name_project,
        open_folder,
        parse_purged_ids,
    )
    from .writer import (
        Append,
        ChangeGroup,
        Commit,
        Replace,
        check_group,
        commit,
        commit_one,
        hold_lock,
        locate,
        read_file,
        read_text,
        remove_temporary_file,
        report_progress,
        write_atomically,
    )

__getattr__ = import_lazily(
    __name__,
    {
        "files": ("is_ignored open_lock read_patterns read_small_text replace_whole save_private"),
        "gates": (
            "build_forgotten_gate check_agent check_characters check_secrets "
            "find_secret_problems has_secret_name mask_name redact_text"
        ),
        "git": (
            "Repository SAFE_OPTIONS find_remote find_repository parse_objects "
            "read_line run_git run_program"
        ),
        "init": (
            "HISTORY_PATHS LOCAL_PATHS Place SHARED_ONLY_PATHS add_lines "
            "choose_place create_workspace hide_from_git show_to_git"
        ),
        "machine": "LOG NICENESS Machine make_mem_folder",
        "obsidian": (
            "APP_SETTINGS EXCLUDING_SETTINGS UNKNOWN find_day find_tags find_title "
            "parse_excluded read_daily_settings read_excluded render_canvas"
        ),
        "sessions": (
            "ARCHIVE EVENTS METADATA Session append_events build_mask change_metadata "
            "cut_masked find_events_file find_sessions_folder get_session "
            "has_last_line_end list_sessions load_session mask_field mask_value "
            "name_session read_session recount_events repair_events"
        ),
        "settings": (
            "LAYOUT SETTINGS edit_settings_text format_setting hide_password parse_setting "
            "read_settings"
        ),
        "undo_log": (
            "Change Record find_log_folder find_undone_numbers note_failure "
            "prune_log read_failure read_log read_record recover"
        ),
        "workspace": (
            "MAIN_WORKTREE MARK PURGED_IDS TEMPORARY_PREFIX Workspace find_own_workspace "
            "find_project_workspace find_recording_workspace get_own_workspace "
            "get_recording_workspace get_target_workspace get_workspaces name_project open_folder "
            "parse_purged_ids"
        ),
        "writer": (
            "Append ChangeGroup Commit Replace check_group commit commit_one "
            "hold_lock locate read_file read_text remove_temporary_file "
            "report_progress write_atomically"
        ),
    },
)
