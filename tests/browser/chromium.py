"""Drive Chromium over its debugging pipe, which needs no library."""

import base64
import fcntl
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

PROGRAM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-pipe",
)
SECONDS = 10.0
KEYS = {"Enter": 13, "ArrowDown": 40, "ArrowUp": 38, "/": 191}


class Browser:
    """A running Chromium with one tab."""

    def __init__(self, profile: Path) -> None:
        their_input, self.input = os.pipe()
        self.output, their_output = os.pipe()
        # The browser reads from descriptor 3 and writes to 4. Ours may have these numbers.
        high = [fcntl.fcntl(item, fcntl.F_DUPFD, 20) for item in (their_input, their_output)]
        actions = [(os.POSIX_SPAWN_OPEN, item, os.devnull, os.O_RDWR, 0) for item in (1, 2)]
        actions += [(os.POSIX_SPAWN_DUP2, item, 3 + number) for number, item in enumerate(high)]
        command = [PROGRAM, *ARGUMENTS, f"--user-data-dir={profile}"]
        self.process = os.posix_spawn(PROGRAM, command, os.environ, file_actions=actions)
        for descriptor in (their_input, their_output, *high):
            os.close(descriptor)
        self.pending = b""
        self.number = 0
        self.session = ""
        self.problems: list[str] = []  # exceptions and messages of the console
        self.requests: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.resize(1280, 820)

    def close(self) -> None:
        self.session = ""
        self.send("Browser.close")
        os.waitpid(self.process, 0)
        os.close(self.input)
        os.close(self.output)

    def send(self, method: str, **parameters: Any) -> Any:
        """Send a command and return its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.input, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer["result"]

    def receive(self) -> Any:
        """Return the next answer or event, and note what goes wrong in the page."""
        while b"\0" not in self.pending:
            data = os.read(self.output, 1 << 20)
            if not data:
                raise RuntimeError("Chromium has ended")
            self.pending += data
        line, _, self.pending = self.pending.partition(b"\0")
        message = json.loads(line)
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(parameters["exceptionDetails"]))
        elif message.get("method") == "Log.entryAdded":
            self.problems.append(parameters["entry"]["text"])
        elif message.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        return message

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        result = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def wait(self, script: str) -> Any:
        """Wait until an expression is true. A page that is being left counts as not yet."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                value = self.run(script)
            except RuntimeError:
                value = None
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError(f"never true: {script}; shown: {self.run('document.body.innerText')}")

    def open(self, url: str) -> None:
        self.send("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def click(self, text: str) -> None:
        """Click the link or button with a text, and wait for the next page."""
        self.run("window.isOld = true")
        find = f"[...document.querySelectorAll('a, button')].find(e => e.innerText.trim() === {json.dumps(text)})"
        self.run(f"{find}.click()")
        self.wait("!window.isOld && document.readyState === 'complete'")

    def type(self, text: str) -> None:
        for character in text:
            self.send("Input.dispatchKeyEvent", type="char", text=character)

    def press(self, key: str) -> None:
        code = KEYS[key]
        text = {"Enter": "\r", "/": "/"}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                text=text if kind == "keyDown" else "",
            )

    def resize(self, width: int, height: int) -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )

    def set_scheme(self, scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def save_picture(self, path: Path, *, is_whole: bool = False) -> None:
        data = self.send("Page.captureScreenshot", captureBeyondViewport=is_whole)["data"]
        path.write_bytes(base64.b64decode(data))
