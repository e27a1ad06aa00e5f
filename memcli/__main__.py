"""Run `mem` from the shell: `--version`, git's merges and what a warm process runs need no command line here."""

import sys


def main() -> None:
    """Run `mem` with the arguments of the process."""
    try:
        _run()
    except KeyboardInterrupt:  # while it imports
        import os

        os.write(2, b"mem: interrupted\n")
        os._exit(130)


def _run() -> None:
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
    _open_streams()
    from . import warm

    code = warm.ask(sys.argv[1:])
    if code is None:
        from .cli import run

        run(sys.argv[1:])
    import os

    os._exit(code)


def _open_streams() -> None:
    """Open the standard streams that are closed; a file opened later would take their number and get the output."""
    import os

    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        if number > 0:
            stream = os.fdopen(number, "w", encoding="utf-8", closefd=False)
            setattr(sys, ("stdout", "stderr")[number - 1], stream)
    os.close(number)


if __name__ == "__main__":
    main()
