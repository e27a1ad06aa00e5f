"""The door from the shell: what costs nothing is answered before anything is imported."""

import sys


def main() -> None:
    """Run `mem` with the words of the command line."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from . import __version__

        sys.stdout.write(f"mem {__version__}\n")
        return
    if sys.argv[1:3] == ["hook", "run"]:
        _hook(sys.argv[3:])
    import gc
    import os
    from contextlib import suppress

    _open_streams()

    # A command keeps most of what it makes until it ends: to look for garbage in it took a tenth of its time.
    gc.set_threshold(100_000, 50, 50)
    from .cli.app import run

    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # told already, or closed by whoever started this
            stream.flush()
    # Files are closed by now; to take everything else apart piece by piece took another tenth.
    os._exit(code)


def _open_streams() -> None:
    """Open what the caller closed: a file opened later would take its number, and get what is printed."""
    import os

    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        if number > 0:
            stream = os.fdopen(number, "w", encoding="utf-8", closefd=False)
            setattr(sys, ("stdout", "stderr")[number - 1], stream)
    os.close(number)


def _hook(arguments: list[str]) -> None:
    """Answer an agent's event and leave; exit code 2 would stop the agent, so no usage error may get here."""
    if {"-h", "--help"} & set(arguments):
        return
    from .cli.hook_run import run

    if run(arguments, is_alone=True):
        import os

        os._exit(0)  # what is late must not be waited for
    sys.exit(0)


if __name__ == "__main__":
    main()
