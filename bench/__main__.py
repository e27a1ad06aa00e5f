"""`python -m bench NAME …` runs the script of that name: `python -m bench beliefs DATA --write`."""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Run it with what follows its name; without a name say which there are."""
    names = sorted(
        path.stem for path in HERE.glob("[!_]*.py") if 'if __name__ == "__main__"' in path.read_text("utf-8")
    )
    if sys.argv[1:2] == [] or sys.argv[1] not in names:
        raise SystemExit(f"python -m bench NAME …, one of {', '.join(names)}")
    script = HERE / f"{sys.argv[1]}.py"
    sys.path.insert(0, str(HERE))
    sys.argv = [str(script), *sys.argv[2:]]
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main()
