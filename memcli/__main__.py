"""Run `mem` from the shell: `--version`, git's merges and hooks are answered before the command line is imported."""

import sys


def main() -> None:
    """Run `mem` with the arguments of the process."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from . import __version__

        try:
            sys.stdout.write(f"mem {__version__}\n")
            sys.stdout.flush()
            return
        except (OSError, AttributeError):  # a full disk or a closed stream, of which the command line tells
            pass
    if sys.argv[1:2] == ["merge-driver"] and len(sys.argv) == 7:
        from .git import merge_driver

        sys.exit(merge_driver.run(sys.argv[2:]))
    if sys.argv[1:3] == ["hook", "run"]:
        _hook(sys.argv[3:])
    import gc
    import os
    from contextlib import suppress

    _open_streams()

    # A command keeps most of what it allocates until it ends: collecting garbage took a tenth of its time.
    gc.set_threshold(100_000, 50, 50)
    from .cli.app import run

    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # reported already, or closed by the caller
            stream.flush()
    # Files are closed by now; freeing everything else took another tenth.
    os._exit(code)


def _open_streams() -> None:
    """Open the standard streams that are closed; a file opened later would take their number and get the output."""
    import os

    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        if number > 0:
            stream = os.fdopen(number, "w", encoding="utf-8", closefd=False)
            setattr(sys, ("stdout", "stderr")[number - 1], stream)
    os.close(number)


def _hook(arguments: list[str]) -> None:
    """Answer an agent's event and exit with 0; exit code 2 would stop the agent, so no usage error may leave here."""
    if {"-h", "--help"} & set(arguments):
        return
    from .cli.hook_run import run

    if run(arguments, is_alone=True):
        import os

        os._exit(0)  # do not wait for threads that are late
    sys.exit(0)


if __name__ == "__main__":
    main()
