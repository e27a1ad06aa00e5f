"""Record the memories and sentences that an agent session was shown, to show none twice.

The record is one JSON file per session in the state folder. The action hook reads it too, so this
module imports neither pathlib nor dataclasses.
"""

import fcntl
import json
import os
import re
import time
from contextlib import suppress
from typing import Any

from ..formats import SENTENCE_END, WORD, build_digest, count_tokens

FOLDER = "shown"
# Keys of a record: when the start was shown, and the workspaces of each folder.
START_TIME, PLACES = "start_time", "places"
RECORD_TIME = re.compile(r"\[(?:[\d-]+ )?\d\d:\d\d\] ?")
MOST_FILES = 400  # a record and a lock for each session
LOCK_SECONDS = 3.0


class Shown:
    """The sentences and memories that a session was shown, and the record about it."""

    def __init__(self, path: str, record: dict[str, Any]) -> None:
        self.path = path  # empty: nothing is saved
        self.record = record
        self.sentences: set[str] = set(record.get("sentences", ()))
        self.ids: set[str] = set(record.get("ids", ()))

    def has(self, text: str) -> bool:
        """Return whether every sentence of a text was shown."""
        digests = digest_sentences(text)
        return bool(digests) and all(digest in self.sentences for digest in digests)

    def add(self, text: str, entry_id: str = "") -> None:
        self.sentences.update(digest_sentences(text))
        if entry_id:
            self.ids.add(entry_id)

    def count_tokens(self, text: str) -> None:
        """Count the tokens of a text for the agent, for `mem status`."""
        self.record["tokens"] = int(self.record.get("tokens") or 0) + count_tokens(text)

    def forget_all(self) -> None:
        """Clear the record, because a compaction removed the memories from the conversation."""
        self.sentences.clear()
        self.ids.clear()

    def save(self) -> None:
        """Save the record. Without a writable state folder the session may see a text twice."""
        if not self.path:
            return
        self.record["sentences"] = sorted(self.sentences)
        self.record["ids"] = sorted(self.ids)
        folder = os.path.dirname(self.path)
        temporary = f"{self.path}.{os.getpid()}"
        with suppress(OSError):
            os.makedirs(folder, 0o700, exist_ok=True)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump(self.record, file)
            os.replace(temporary, self.path)


def lock_session(state_folder: str, session_id: str, seconds: float = LOCK_SECONDS) -> int:
    """Wait for the earlier hooks of a session, which may still record something.

    The lock lasts until its descriptor is closed, usually by the end of the process. Returns -1 if
    another process still has the lock after some seconds.
    """
    path = find_record(state_folder, session_id)
    if not path:
        return -1
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(lock)
                    return -1
                time.sleep(0.005)
    return -1


def find_record(state_folder: str, session_id: str) -> str:
    if not state_folder or not session_id:
        return ""
    name = build_digest(session_id.encode("utf-8", "replace"), size=12)
    return f"{state_folder}/{FOLDER}/{name}.json"


def load_shown(state_folder: str, session_id: str) -> Shown:
    """Load the record of a session. `state_folder` is mem's own, above the workspaces' folders."""
    path = find_record(state_folder, session_id)
    if not path:
        return Shown("", {})
    return Shown(path, {**load_record(path), "session": session_id})


def load_record(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def load_fork(state_folder: str, session_id: str, folder: str) -> Shown:
    """Return a new record for a fork, with everything that its parent was shown.

    No event names the parent. It is nearly always the latest session in the folder.
    """
    fork = load_shown(state_folder, session_id)
    with suppress(OSError):
        files = [
            file for file in os.scandir(f"{state_folder}/{FOLDER}") if file.name[-5:] == ".json"
        ]
        files.sort(key=lambda file: file.stat().st_mtime, reverse=True)
        for file in files:
            parent = load_record(file.path)
            if START_TIME in parent and folder in (parent.get(PLACES) or {}):
                return Shown(fork.path, {**parent, "session": session_id, "tokens": 0})
    return fork


def delete_old_records(state_folder: str) -> None:
    """Delete the records of all but the latest sessions."""
    with suppress(OSError):
        files = list(os.scandir(f"{state_folder}/{FOLDER}"))
        files.sort(key=lambda file: file.stat().st_mtime, reverse=True)
        for file in files[MOST_FILES:]:
            os.unlink(file.path)


def digest_sentences(text: str) -> list[str]:
    """Return a digest for each sentence of a text: its words, without case and punctuation.

    The time of a note does not make another sentence of it.
    """
    digests = []
    for sentence in SENTENCE_END.split(RECORD_TIME.sub("", text)):
        words = WORD.findall(sentence.casefold())
        if words:
            digests.append(build_digest(" ".join(words).encode("utf-8", "replace"), size=8))
    return digests
