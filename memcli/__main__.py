"""The door from the shell: what costs nothing is answered before anything is imported."""

import sys


def main() -> None:
    """Run `mem` with the words of the command line."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from . import __version__

        sys.stdout.write(f"mem {__version__}\n")
        return
    from .cli.app import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
