"""Run git in a folder that may come from a stranger."""

from collections.abc import Mapping, Sequence
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


def run_program(
    command: Sequence[str], environment: Mapping[str, str], data: bytes, seconds: float
) -> tuple[int, bytes, bytes]:
    """Run git where it may need the network. Return its exit code, output and messages.

    Raises NotFoundError if git is not installed, and BusyError if it does not end in time.
    """
    import subprocess
    from tempfile import TemporaryFile

    # Not a pipe: an ssh that stays in the background (ControlPersist) would hold it open.
    with TemporaryFile() as messages:
        try:
            done = subprocess.run(
                command,
                input=data,
                stdout=subprocess.PIPE,
                stderr=messages,
                env=environment,
                timeout=seconds,
                check=False,
                # ssh asks for a password on the terminal, and without a session there is none.
                start_new_session=True,
            )
        except OSError:
            raise NotFoundError("git is not installed", "install git") from None
        except subprocess.TimeoutExpired:
            raise BusyError(f"git did not answer within {seconds:g} seconds") from None
        messages.seek(0)
        return done.returncode, done.stdout, messages.read()
