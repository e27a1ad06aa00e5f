"""Run git in a folder that may come from a stranger."""

from pathlib import Path

from ..errors import BusyError, NotFoundError

# A workspace may contain a bare repository whose configuration runs programs.
SAFE_OPTIONS = (
    "-c",
    "safe.bareRepository=explicit",
    "-c",
    "log.showSignature=false",
    "-c",
    "core.fsmonitor=false",
)
SECONDS = 60


def run_git(folder: Path, *arguments: str) -> bytes:
    """Return the output of git. Raises NotFoundError or BusyError."""
    import subprocess  # 3 ms, and hooks rarely need it

    try:
        done = subprocess.run(
            ["git", *SAFE_OPTIONS, "-C", str(folder), *arguments],
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except OSError:
        raise NotFoundError("git is not installed") from None
    except subprocess.TimeoutExpired:
        raise BusyError("git did not answer within a minute") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise NotFoundError(f"git: {reason[0] if reason else 'failed'}")
    return done.stdout
