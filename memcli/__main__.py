"""Run `mem` from the shell."""

import os
import sys


def main() -> None:
    """Run `mem` with the arguments of the process."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        # Answered before anything else is imported.
        from . import __version__

        sys.stdout.write(f"mem {__version__}\n")
        return
    if sys.argv[1:3] == ["hook", "run"]:
        # Agents wait for their hooks at every step.
        from .cli.hook import run_hook_process

        code = run_hook_process(sys.argv[3:])
        sys.stdout.flush()
        os._exit(code)
    # Ctrl-C can come while Python is still importing, before any handler of ours.
    try:
        from .cli.ask import answer_from_server

        answer = answer_from_server(sys.argv[1:])
        if answer is not None:
            os._exit(answer)
        from .cli.main import run_process

        code = run_process(sys.argv[1:])
    except KeyboardInterrupt:
        os.write(2, b"mem: interrupted\n")
        code = 130
    # Skipping the interpreter's own clean-up saves 10 ms. Everything is flushed by now.
    os._exit(code)


if __name__ == "__main__":
    main()
