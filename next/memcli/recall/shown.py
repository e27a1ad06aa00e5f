"""What an agent session has already been shown, so that nothing is shown twice.

The record is one JSON file per session in the state folder. The action hook reads it too, so this
module imports neither pathlib nor dataclasses.
"""

import json
import os
import re
from contextlib import suppress
from typing import Any

from ..formats.text import SENTENCE_END, WORD, build_digest, count_tokens

FOLDER = "shown"
RECORD_TIME = re.compile(r"\[(?:[\d-]+ )?\d\d:\d\d\] ?")
MOST_SESSIONS = 200


class Shown:
    """The sentences and memories that a session has seen, and what recall knows about it."""

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
        """Count what the agent was given, for `mem status`."""
        self.record["tokens"] = int(self.record.get("tokens") or 0) + count_tokens(text)

    def forget_all(self) -> None:
        """Start again: after a compaction the agent has lost what it was shown."""
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


def load_shown(state_folder: str, session_id: str) -> Shown:
    """Load the record of a session. `state_folder` is mem's own, above the workspaces' folders."""
    if not state_folder or not session_id:
        return Shown("", {})
    name = build_digest(session_id.encode("utf-8", "replace"), size=12)
    path = f"{state_folder}/{FOLDER}/{name}.json"
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, ValueError):
        record = {}
    record = record if isinstance(record, dict) else {}
    record["session"] = session_id
    return Shown(path, record)


def delete_old_records(state_folder: str) -> None:
    """Delete the records of all but the latest sessions."""
    with suppress(OSError):
        files = list(os.scandir(f"{state_folder}/{FOLDER}"))
        files.sort(key=lambda file: file.stat().st_mtime, reverse=True)
        for file in files[MOST_SESSIONS:]:
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
