"""Run `mem` from the shell."""

import sys


def main() -> None:
    """Run `mem` with the arguments of the process."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        # Answered before anything else is imported.
        from . import __version__

        sys.stdout.write(f"mem {__version__}\n")
        return
    # Ctrl-C can come while Python is still importing, before any handler of ours.
    import os

    try:
        from .cli.main import run_process

        code = run_process(sys.argv[1:])
    except KeyboardInterrupt:
        os.write(2, b"mem: interrupted\n")
        code = 130
    # Skipping the interpreter's own clean-up saves 10 ms. Everything is flushed by now.
    os._exit(code)


if __name__ == "__main__":
    main()
