"""Run the scripts of situations from public bug reports.

    python -m bench.cases FOLDER

Each subfolder has a run.sh, which ends with 0 if mem behaves. The scripts say `mem stats` and expect
hooks in the project's settings, so a small `mem` in front of the real one translates both.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TRANSLATOR = """\
#!/bin/sh
case "$1 $2" in
  "stats "*) shift; exec {python} -m memcli status --all "$@" ;;
  "hook install") exec {python} -m memcli "$@" --project ;;
esac
exec {python} -m memcli "$@"
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    scripts = sorted(parser.parse_args().folder.glob("*/run.sh"))
    failed = 0
    with tempfile.TemporaryDirectory() as programs:
        mem = Path(programs) / "mem"
        mem.write_text(TRANSLATOR.format(python=sys.executable))
        mem.chmod(0o755)
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        for script in scripts:
            run = subprocess.run(["bash", script], env=environment, capture_output=True, text=True)
            failed += bool(run.returncode)
            print(f"{script.parent.name}: {'fail' if run.returncode else 'pass'}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
