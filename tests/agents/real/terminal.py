"""An agent in a terminal, as a person sees and uses it. Needs tmux."""

import os
import re
import shlex
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

WIDTH, HEIGHT = 120, 45


class Terminal:
    """A program in a terminal of tmux."""

    def __init__(
        self, command: list[str], folder: Path, environment: Mapping[str, str], socket: Path
    ) -> None:
        self.socket, self.folder = socket, folder
        self.environment = {**environment, "TERM": "xterm-256color"}
        variables = [f"{name}={value}" for name, value in environment.items()]
        self.run_tmux(
            *("-f", "/dev/null", "new-session", "-d", "-x", str(WIDTH), "-y", str(HEIGHT)),
            *("-c", str(folder), shlex.join(["env", "-i", *variables, *command])),
        )
        self.run_tmux("set-option", "-g", "remain-on-exit", "on")

    def run_tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self.socket), *words],
            env={"PATH": os.environ["PATH"], **self.environment},
            capture_output=True,
            text=True,
            errors="replace",
        )
        return done.stdout

    def read_screen(self) -> str:
        return self.run_tmux("capture-pane", "-p")

    def type(self, text: str, *, enter: bool = True) -> None:
        """Type a text, wait until it is on the screen, and press Enter."""
        self.run_tmux("send-keys", "-l", text)
        # A pasted line and its Enter that arrive together are taken for a paste of two lines.
        self.wait_for(re.escape(text[:20]), 10)
        time.sleep(0.6)
        if enter:
            self.press("Enter")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.run_tmux("send-keys", key)
            time.sleep(0.4)

    def wait_for(self, pattern: str, seconds: float = 90) -> bool:
        """Wait until the screen matches a pattern. Return whether it does."""
        end = time.monotonic() + seconds
        while not re.search(pattern, self.read_screen()):
            if time.monotonic() > end:
                return False
            time.sleep(0.3)
        return True

    def wait_for_end(self, seconds: float = 60) -> bool:
        """Wait until the program has ended. Return whether it has."""
        end = time.monotonic() + seconds
        while self.run_tmux("list-panes", "-F", "#{pane_dead}").strip() == "0":
            if time.monotonic() > end:
                return False
            time.sleep(0.3)
        return True

    def get_process_id(self) -> int:
        return int(self.run_tmux("list-panes", "-F", "#{pane_pid}"))

    def close(self) -> None:
        self.run_tmux("kill-server")
