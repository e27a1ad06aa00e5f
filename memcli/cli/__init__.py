"""The shell commands: parse, call one function, print."""

import gc
from collections.abc import Sequence
from typing import NoReturn


def run(arguments: Sequence[str]) -> NoReturn:
    """Run a command line or answer an agent's event, and end the process with its exit code."""
    from . import output

    # A command keeps most of what it allocates until it ends: collecting garbage took a tenth of its time, freeing
    # everything at the end another tenth.
    gc.set_threshold(100_000, 50, 50)
    if arguments[:2] == ["hook", "run"] and not {"-h", "--help"} & set(arguments):
        from .hook_run import run as answer

        answer(arguments[2:], is_alone=True)
        output.leave(0)  # exit code 2 would stop the agent, so no usage error may leave here
    from .app import run as run_command

    output.leave(run_command(arguments))
