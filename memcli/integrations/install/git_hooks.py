"""The hooks of mem in a git repository: some lines at the head of each script, between marks, beside those of others.

They stand at the head since many a script ends with `exec` or `exit`. The folder is the one git itself uses, so that
`core.hooksPath` and linked worktrees are heeded. A script in another language than the shell's is refused.
"""

import re
import subprocess
from pathlib import Path

from ...errors import GitError, RefusedError, UsageError
from ...store.git import hooks_folder
from .skill import FileChange, change, contents

BEGIN, END = "# >>> mem >>>", "# <<< mem <<<"
_MADE = "# >>> mem >>> (and the file)"
_SHELLS = re.compile(rb"#!\s*(?:/usr/bin/env\s+(?:-S\s+)?)?(?:/\S*/)?(?:sh|bash|dash|zsh|ksh)\b")
_BLOCK = re.compile(
    rf"^{re.escape(BEGIN)}(?P<made> \(and the file\))?[^\n]*\n.*?^{re.escape(END)}\n", re.MULTILINE | re.DOTALL
)
_GUARD = 'if [ -z "$MEM_INSIDE_HOOK$MEM_INSIDE_LLM" ] && command -v {} >/dev/null 2>&1; then'
_PROGRAM = re.compile(r"command -v ('(?:[^']|'\\\\'')*'|\S+)")
_QUIET = ">/dev/null 2>&1 </dev/null"
# What takes time goes on behind git's back; git's own variables would make it work on another repository.
_AWAY = "(unset $(git rev-parse --local-env-vars); MEM_INSIDE_HOOK=1; export MEM_INSIDE_HOOK; {}) {} &"
_STOPPED = "mem stopped this commit: mend what stands above and `git add` it, or pass with `git commit --no-verify`"
NAMES = ("pre-commit", "post-commit", "post-merge", "post-checkout")


def bodies(program: str) -> dict[str, str]:
    """Give the line of each script; `program` is how the shell finds mem."""
    # HEAD^! is this commit alone, the first of a repository too.
    commit = f"{program} consolidate --since-git 'HEAD^!' --no-wait -q; {program} consolidate --all --no-wait -q"
    index = _AWAY.format(f"{program} index", _QUIET)
    check = f'MEM_INSIDE_HOOK=1 {program} check --staged >&2 </dev/null || [ "$?" -ne 1 ]'
    return dict(
        zip(
            NAMES,
            (
                f"{check} || {{ echo '{_STOPPED}' >&2; exit 1; }}",
                _AWAY.format(commit, _QUIET),
                index,
                f'if [ "$3" = 1 ]; then {index} fi',
            ),
            strict=True,
        )
    )


def folder_of(place: Path) -> Path:
    """Give the folder git runs hooks from; UsageError where there is no repository."""
    try:
        return hooks_folder(place)
    except GitError as error:
        if "not a git repository" not in error.message:
            raise
        raise UsageError(f"{place} is not in a git repository", "run it inside one") from None


def install_plan(folder: Path, program: str) -> list[FileChange]:
    """Propose our lines in each script; RefusedError for a script that they would break or that git does not run.

    Where the scripts are of the worktree, others run them too, and `program` is left to be found by name.
    """
    program = program if ".git" in folder.parts else "mem"
    changes = [_with_block(folder / name, body, program) for name, body in bodies(program).items()]
    return [one for one in changes if one.before != one.after]


def uninstall_plan(folder: Path) -> list[FileChange]:
    """Propose the scripts without our lines; one that was made for them goes."""
    changes = []
    for name in NAMES:
        path = folder / name
        data = contents(path)
        text = "" if data is None else data.decode("utf-8", "surrogateescape")
        found = _BLOCK.search(text)
        if found is None:
            continue
        rest = text[: found.start()] + text[found.end() :]
        gone = found["made"] and rest == "#!/bin/sh\n"
        changes.append(change(path, None if gone else rest.encode("utf-8", "surrogateescape")))
    return changes


def installed(folder: Path) -> list[str]:
    """List the scripts that hold our lines."""
    return [name for name in NAMES if BEGIN.encode() in (contents(folder / name) or b"")]


def programs(folder: Path) -> list[str]:
    """List by what names our lines call mem, as the shell reads them."""
    texts = [(contents(folder / name) or b"").decode("utf-8", "surrogateescape") for name in NAMES]
    blocks = [found[0] for text in texts if (found := _BLOCK.search(text))]
    return list(dict.fromkeys(named[1] for block in blocks if (named := _PROGRAM.search(block))))


def _with_block(path: Path, body: str, program: str) -> FileChange:
    data = contents(path)
    if data is None:
        return change(path, f"#!/bin/sh\n{_block(_MADE, body, program)}".encode(), 0o777)
    if not _SHELLS.match(data):
        raise RefusedError(f"{path} is not a shell script", f"add to it what `{body.partition(' ||')[0]}` does")
    if not path.stat().st_mode & 0o111:
        raise RefusedError(f"{path} is not executable, so git does not run it", "make it so, or move it away")
    text = data.decode("utf-8", "surrogateescape")
    found = _BLOCK.search(text)
    if found:
        block = _block(_MADE if found["made"] else BEGIN, body, program)
        return change(path, (text[: found.start()] + block + text[found.end() :]).encode("utf-8", "surrogateescape"))
    head, newline, rest = text.partition("\n")
    if head.endswith("\r"):
        raise RefusedError(f"{path} has Windows line ends, which no shell reads", "convert it, for example with tr")
    if not newline:
        raise RefusedError(f"{path} is one line without an end", "end it with a newline")
    return change(path, f"{head}\n{_block(BEGIN, body, program)}{rest}".encode("utf-8", "surrogateescape"))


def _block(begin: str, body: str, program: str) -> str:
    guard = _GUARD.format(program)
    return f"{begin} `mem hook uninstall git` takes these lines out\n{guard}\n  {body}\nfi\n{END}\n"


_MARK = "# mem hook cron"


def line_of(program: str, root: Path) -> str:
    """Give the line; cron takes a percent sign for the end of it."""
    quoted = "'" + str(root).replace("'", "'\\''") + "'"
    if "\n" in quoted:
        raise RefusedError(f"{str(root)!r} cannot stand in a crontab", "rename the folder")
    return f"17 3 * * * {program} tend --quiet --workspace {quoted} {_MARK}".replace("%", "\\%")


def table() -> str:
    """Read the user's crontab; UsageError where there is no cron."""
    try:
        done = subprocess.run(["crontab", "-l"], capture_output=True, check=False)
    except FileNotFoundError:
        raise UsageError(
            "there is no crontab here", "put the line into your own scheduler: --dry-run prints it"
        ) from None
    # No crontab yet is an error of the program, and so is one that may not be read: the second must not be emptied.
    if done.returncode and b"no crontab" not in done.stderr.lower():
        raise RefusedError(f"crontab: {done.stderr.decode(errors='replace').strip()}", "see `crontab -l`")
    return done.stdout.decode("utf-8", "surrogateescape")


def with_line(text: str, line: str) -> str:
    """Put our line for a workspace in, or in the place of an older one for it."""
    kept = without_line(text, line)
    return f"{kept}{'' if not kept or kept.endswith(chr(10)) else chr(10)}{line}\n"


def without_line(text: str, line: str) -> str:
    """Take our line for the same workspace out."""
    place = line.partition(" --workspace ")[2]
    return "".join(
        one for one in text.splitlines(keepends=True) if not one.rstrip("\n").endswith(f" --workspace {place}")
    )


def save(text: str) -> None:
    """Make a text the user's crontab."""
    words = ["crontab", "-"] if text else ["crontab", "-r"]
    done = subprocess.run(words, input=text.encode("utf-8", "surrogateescape"), capture_output=True, check=False)
    if done.returncode:
        raise RefusedError(f"crontab: {done.stderr.decode(errors='replace').strip()}", "see `crontab -l`")
