"""The hooks of mem in a git repository: some lines at the head of each script, between marks, beside those of others.

They stand at the head since many a script ends with `exec` or `exit`. The folder is the one git itself uses, so that
`core.hooksPath` and linked worktrees are heeded. A script in another language than the shell's is refused.
"""

import re
from pathlib import Path

from ...api.installation import FileChange, propose, read_bytes
from ...errors import RefusedError

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
    """Return the line of each script; `program` is how the shell finds mem."""
    # HEAD^! is this commit alone, the first of a repository too.
    commit = f"{program} consolidate --since-git 'HEAD^!' --no-wait -q; {program} consolidate --all --no-wait -q"
    index = _AWAY.format(f"{program} index", _QUIET)
    check = f'MEM_INSIDE_HOOK=1 {program} check --staged >&2 </dev/null || [ "$?" -ne 1 ]'
    return {
        "pre-commit": f"{check} || {{ echo '{_STOPPED}' >&2; exit 1; }}",
        "post-commit": _AWAY.format(commit, _QUIET),
        "post-merge": index,
        "post-checkout": f'if [ "$3" = 1 ]; then {index} fi',
    }


def install_plan(folder: Path, program: str) -> list[FileChange]:
    """Propose our lines in each script; RefusedError for a script that they would break or that git does not run.

    Where the scripts are of the worktree, others run them too, and `program` is left to be found by name.
    """
    program = program if ".git" in folder.parts else "mem"
    changes = [_with_block(folder / name, body, program) for name, body in bodies(program).items()]
    return [change for change in changes if change.before != change.after]


def uninstall_plan(folder: Path) -> list[FileChange]:
    """Propose the scripts without our lines; one that was made for them goes."""
    changes = []
    for name in NAMES:
        path = folder / name
        data = read_bytes(path)
        text = "" if data is None else data.decode("utf-8", "surrogateescape")
        match = _BLOCK.search(text)
        if match is None:
            continue
        remaining = text[: match.start()] + text[match.end() :]
        is_ours_alone = match["made"] and remaining == "#!/bin/sh\n"
        changes.append(propose(path, None if is_ours_alone else remaining.encode("utf-8", "surrogateescape")))
    return changes


def installed(folder: Path) -> list[str]:
    """List the scripts that hold our lines."""
    return [name for name in NAMES if BEGIN.encode() in (read_bytes(folder / name) or b"")]


def programs(folder: Path) -> list[str]:
    """List by what names our lines call mem, as the shell reads them."""
    texts = [(read_bytes(folder / name) or b"").decode("utf-8", "surrogateescape") for name in NAMES]
    blocks = [match[0] for text in texts if (match := _BLOCK.search(text))]
    return list(dict.fromkeys(named[1] for block in blocks if (named := _PROGRAM.search(block))))


def _with_block(path: Path, body: str, program: str) -> FileChange:
    data = read_bytes(path)
    if data is None:
        return propose(path, f"#!/bin/sh\n{_block(_MADE, body, program)}".encode(), 0o777)
    if not _SHELLS.match(data):
        raise RefusedError(f"{path} is not a shell script", f"add to it what `{body.partition(' ||')[0]}` does")
    if not path.stat().st_mode & 0o111:
        raise RefusedError(f"{path} is not executable, so git does not run it", "make it so, or move it away")
    text = data.decode("utf-8", "surrogateescape")
    match = _BLOCK.search(text)
    if match:
        block = _block(_MADE if match["made"] else BEGIN, body, program)
        return propose(path, (text[: match.start()] + block + text[match.end() :]).encode("utf-8", "surrogateescape"))
    head, newline, script = text.partition("\n")
    if head.endswith("\r"):
        raise RefusedError(f"{path} has Windows line ends, which no shell reads", "convert it, for example with tr")
    if not newline:
        raise RefusedError(f"{path} is one line without an end", "end it with a newline")
    return propose(path, f"{head}\n{_block(BEGIN, body, program)}{script}".encode("utf-8", "surrogateescape"))


def _block(begin: str, body: str, program: str) -> str:
    guard = _GUARD.format(program)
    return f"{begin} `mem hook uninstall git` takes these lines out\n{guard}\n  {body}\nfi\n{END}\n"
