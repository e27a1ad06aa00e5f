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
    from .cli.app import run

    sys.exit(run(sys.argv[1:]))


def _hook(arguments: list[str]) -> None:
    """Answer an agent's event and leave; exit code 2 would stop the agent, so no usage error may get here."""
    if {"-h", "--help"} & set(arguments):
        return
    from .cli.hook_run import run

    if run(arguments):
        import os

        os._exit(0)  # what is late must not be waited for
    sys.exit(0)


if __name__ == "__main__":
    main()
