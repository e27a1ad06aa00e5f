"""Files are read, created, replaced and appended to without losing anybody's text."""

import json
import os
import stat
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memcli.errors import NotFoundError, RefusedError
from memcli.store import atomic_files
from memcli.store.file_steps import PREFIX, sweep
from tests.conftest import Mem
from tests.processes import race, run, running

OLD, NEW = b"old\n", b"new\n"


@pytest.fixture
def page(bare: Path) -> Path:
    path = bare / "page.md"
    path.write_bytes(OLD)
    return path


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_the_digest_is_128_bits_of_blake2b() -> None:
    assert atomic_files.digest(b"") == "cae66941d9efbd404e4d88758ea67670"
    assert atomic_files.digest(OLD) != atomic_files.digest(NEW)


def test_reading_gives_every_byte(bare: Path) -> None:
    data = bytes(range(256)) * 9000
    (bare / "a").write_bytes(data)
    assert atomic_files.read(bare / "a") == data


@pytest.mark.parametrize("name", ["none.md", "page.md/below.md"])
def test_reading_what_is_not_there_says_so(name: str, page: Path) -> None:
    with pytest.raises(NotFoundError, match=f"there is no file {page.parent / name}: `mem ls`"):
        atomic_files.read(page.parent / name)


def test_reading_a_folder_is_refused(bare: Path) -> None:
    with pytest.raises(RefusedError, match="is a folder: name a file in it"):
        atomic_files.read(bare)


def test_reading_a_pipe_is_refused_and_not_waited_for(bare: Path) -> None:
    os.mkfifo(bare / "pipe")
    with pytest.raises(RefusedError, match="is not a regular file"):
        atomic_files.read(bare / "pipe")


def test_reading_a_link_to_itself_is_refused(bare: Path) -> None:
    (bare / "loop").symlink_to("loop")
    with pytest.raises(RefusedError, match="cannot read"):
        atomic_files.read(bare / "loop")


def test_creating_makes_the_folders_and_nothing_else(bare: Path) -> None:
    atomic_files.create(bare / "a" / "b" / "new.md", NEW)
    assert (bare / "a" / "b" / "new.md").read_bytes() == NEW
    assert names(bare / "a" / "b") == ["new.md"]


def test_a_new_file_has_the_mode_the_umask_leaves(bare: Path) -> None:
    before = os.umask(0o027)
    try:
        atomic_files.create(bare / "new.md", NEW)
    finally:
        os.umask(before)
    assert stat.S_IMODE((bare / "new.md").stat().st_mode) == 0o640


def test_creating_over_a_file_raises_and_leaves_it(page: Path) -> None:
    with pytest.raises(FileExistsError):
        atomic_files.create(page, NEW)
    assert page.read_bytes() == OLD
    assert names(page.parent) == ["page.md"]


def test_creating_over_a_dangling_link_raises_and_leaves_it(bare: Path) -> None:
    (bare / "link.md").symlink_to("nowhere.md")
    with pytest.raises(FileExistsError):
        atomic_files.create(bare / "link.md", NEW)
    assert names(bare) == ["link.md"]


def test_creating_below_a_file_is_not_taken_for_a_name_that_is_taken(page: Path) -> None:
    with pytest.raises(RefusedError, match="not a directory: something above it is a file"):
        atomic_files.create(page / "new.md", NEW)


def test_creating_a_name_too_long_says_what_to_do(bare: Path) -> None:
    with pytest.raises(RefusedError, match="file name too long: choose a shorter name"):
        atomic_files.create(bare / ("x" * 300), NEW)
    assert names(bare) == []


def test_of_twenty_processes_that_create_one_name_one_wins(bare: Path) -> None:
    script = """
from pathlib import Path
from memcli.store import atomic_files as files
try:
    files.create(Path(sys.argv[2]) / "deep" / "er" / "one.md", f"{sys.argv[1]}\\n".encode() * 5000)
except FileExistsError:
    print("taken")
else:
    print("won")
"""
    ended = race(script, 20, bare)
    assert [(code, err) for code, _, err in ended] == [(0, "")] * 20
    winners = [number for number, (_, out, _) in enumerate(ended) if out == "won\n"]
    assert len(winners) == 1
    assert (bare / "deep/er/one.md").read_text() == f"{winners[0]}\n" * 5000
    assert names(bare / "deep/er") == ["one.md"]


@pytest.mark.parametrize("mode", [0o640, 0o755, 0o600, 0o664])
def test_replacing_keeps_the_mode(mode: int, page: Path) -> None:
    page.chmod(mode)
    atomic_files.replace(page, NEW, atomic_files.digest(OLD))
    assert page.read_bytes() == NEW
    assert stat.S_IMODE(page.stat().st_mode) == mode
    assert names(page.parent) == ["page.md"]


def test_replacing_what_changed_underneath_is_refused(page: Path) -> None:
    with pytest.raises(RefusedError, match="changed underneath: read it again"):
        atomic_files.replace(page, NEW, atomic_files.digest(b"what was read"))
    assert page.read_bytes() == OLD
    assert names(page.parent) == ["page.md"]


@pytest.mark.parametrize("at", ["open", "fsync"])
def test_an_edit_made_while_replacing_is_kept(at: str, page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = getattr(os, at)

    def editor_first(*args: Any, **options: Any) -> Any:
        page.write_bytes(b"from the editor\n")
        return real(*args, **options)

    monkeypatch.setattr(f"memcli.store.file_steps.os.{at}", editor_first)
    with pytest.raises(RefusedError, match="changed underneath"):
        atomic_files.replace(page, NEW, atomic_files.digest(OLD))
    assert page.read_bytes() == b"from the editor\n"


def test_replacing_what_vanished_is_refused(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RefusedError, match="vanished underneath"):
        atomic_files.replace(page.parent / "none.md", NEW, atomic_files.digest(OLD))
    real = os.fsync
    monkeypatch.setattr("memcli.store.file_steps.os.fsync", lambda fd: (page.unlink(missing_ok=True), real(fd)))
    with pytest.raises(RefusedError, match="vanished underneath"):
        atomic_files.replace(page, NEW, atomic_files.digest(OLD))
    assert names(page.parent) == []


def test_a_file_made_read_only_is_not_written(page: Path) -> None:
    page.chmod(0o444)
    with pytest.raises(RefusedError, match="permission denied: change its permissions"):
        atomic_files.replace(page, NEW, atomic_files.digest(OLD))
    with pytest.raises(RefusedError, match="permission denied"):
        atomic_files.append(page, NEW)
    assert page.read_bytes() == OLD


def test_a_link_is_not_written_through(page: Path) -> None:
    link = page.parent / "link.md"
    link.symlink_to("page.md")
    with pytest.raises(RefusedError, match="is a symbolic link: name the file it leads to"):
        atomic_files.replace(link, NEW, atomic_files.digest(OLD))
    with pytest.raises(RefusedError, match="is a symbolic link"):
        atomic_files.append(link, NEW)
    assert page.read_bytes() == OLD


def test_a_process_killed_while_replacing_leaves_one_of_the_texts(bare: Path) -> None:
    script = """
import sys
from itertools import count
from pathlib import Path
from memcli.store import atomic_files as files
path = Path(sys.argv[1])
for number in count():
    data = files.read(path)
    files.replace(path, f"{number}\\n".encode() * 50_000, files.digest(data))
    print(number, flush=True)
"""
    page = bare / "page.md"
    page.write_bytes(b"first\n" * 50_000)
    for round in range(8):
        with running(script, page) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "0\n"
            time.sleep(round * 0.004)
        lines = page.read_bytes().splitlines()
        assert len(lines) == 50_000
        assert len(set(lines)) == 1
    sweep(bare, time.time() + 7200)
    assert names(bare) == ["page.md"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", NEW),
        (OLD, OLD + NEW),
        (b"no newline", b"no newline\n" + NEW),
        (b"windows\r\n", b"windows\r\n" + NEW),
    ],
)
def test_appending_begins_a_line_of_its_own(before: bytes, after: bytes, bare: Path) -> None:
    (bare / "log.md").write_bytes(before)
    atomic_files.append(bare / "log.md", NEW)
    assert (bare / "log.md").read_bytes() == after


def test_appending_makes_the_file_and_its_folders(bare: Path) -> None:
    atomic_files.append(bare / "notes" / "log.md", NEW)
    assert (bare / "notes" / "log.md").read_bytes() == NEW


def test_appending_to_a_pipe_is_refused(bare: Path) -> None:
    os.mkfifo(bare / "pipe")
    with pytest.raises(RefusedError, match="is not a regular file"):
        atomic_files.append(bare / "pipe", NEW)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.binary(min_size=1, max_size=9)), max_size=6))
def test_whatever_was_torn_before_each_record_is_a_line_and_nothing_is_lost(
    steps: list[tuple[bool, bytes]],
) -> None:
    with TemporaryDirectory() as folder:
        log, written = Path(folder) / "log.md", b""
        for is_torn, text in steps:
            text = text.replace(b"\n", b"-")
            if is_torn:
                with log.open("ab") as file:
                    file.write(text)
                written += text
            else:
                atomic_files.append(log, text + b"\n")
                start = b"\n" if written and not written.endswith(b"\n") else b""
                written += start + text + b"\n"
            assert log.read_bytes() == written


def test_a_file_size_limit_is_met_as_a_full_disk(bare: Path) -> None:
    script = """
import json, resource, sys
from pathlib import Path
from memcli.errors import MemError
from memcli.store import atomic_files as files
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
folder, big = Path(sys.argv[1]), b"x" * 3000
said = []
for change in (
    lambda: files.append(folder / "page.md", big),
    lambda: files.append(folder / "none.md", big),
    lambda: files.create(folder / "new.md", big),
    lambda: files.replace(folder / "page.md", big, files.digest(files.read(folder / "page.md"))),
):
    try:
        change()
    except MemError as error:
        said.append((error.exit_code, str(error)))
print(json.dumps(said))
"""
    (bare / "page.md").write_bytes(OLD * 100)
    code, out, err = run(script, bare)
    assert (code, err) == (0, "")
    fix = "file too large: raise the limit on file sizes (ulimit -f) and run it again"
    assert json.loads(out) == [
        [5, f"cannot write {bare / name}: {fix}"] for name in ("page.md", "none.md", "new.md", "page.md")
    ]
    assert names(bare) == ["page.md"]
    assert (bare / "page.md").read_bytes() == OLD * 100


def test_a_record_of_an_editor_is_not_cut_off_with_ours(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def editor_then_fail(fd: int) -> None:
        with page.open("ab") as file:
            file.write(b"from the editor\n")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("memcli.store.atomic_files.os.fsync", editor_then_fail)
    atomic_files.append(page, NEW)  # what stands and cannot be taken back is not said to have failed
    assert page.read_bytes() == OLD + NEW + b"from the editor\n"


OLD_NAME, YOUNG_NAME = f"{PREFIX}{0:016x}", f"{PREFIX}{1:016x}"


def test_who_writes_to_a_folder_clears_it_of_what_killed_writers_left(mem: Mem, workspace: Path) -> None:
    (row,) = mem("write", "--no-dedup", "the quagga sleeps").rows
    folder = next((workspace / "entries").iterdir())
    atomic_files._swept.clear()  # as in another process

    def leave() -> None:
        for name, age in ((OLD_NAME, 3700), (YOUNG_NAME, 60)):
            (folder / name).touch()
            os.utime(folder / name, (time.time() - age,) * 2)

    leave()
    assert mem("write", "--no-dedup", "the okapi wakes").code == 0
    assert (folder / YOUNG_NAME).exists()
    assert not (folder / OLD_NAME).exists()
    leave()
    atomic_files._swept.clear()
    assert mem("edit", row[1], "--replace", "sleeps", "dreams").code == 0
    assert [path.name for path in folder.glob(".mem-tmp-*")] == [YOUNG_NAME]


def test_a_folder_is_listed_once_however_much_is_written_to_it(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[Path] = []
    monkeypatch.setattr(atomic_files.file_steps, "sweep", lambda folder, now: listed.append(folder))
    for number in range(3):
        atomic_files.create(bare / f"{number}.md", b"x\n")
        atomic_files.replace(bare / f"{number}.md", b"y\n", atomic_files.digest(b"x\n"))
    assert listed == [bare]


def test_creating_a_file_loads_no_heavy_library(bare: Path) -> None:
    script = """
import sys
from pathlib import Path
from memcli.store import atomic_files as files, lock
files.create(Path(sys.argv[1]) / "new.md", b"new")
heavy = ("filelock", "ruamel", "yaml", "hashlib", "tempfile", "shutil")
print([name for name in heavy if name in sys.modules])
"""
    assert run(script, bare) == (0, "[]\n", "")
