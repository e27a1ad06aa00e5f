"""Packages import only packages below them, and their front doors open."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import memcli

ROOT = Path(memcli.__file__).parent
# From the top to the bottom; packages of one line do not import each other.
LAYERS = (
    "cli",
    "ui",
    "agents",
    "upkeep transfer sync",
    "consolidate",
    "transcripts",
    "team recall",
    "reconcile",
    "search",
    "index",
    "llm",
    "store",
    "secrets formats",
)
HEIGHTS = {name: height for height, line in enumerate(reversed(LAYERS)) for name in line.split()}


def list_imports(path: Path) -> list[str]:
    """Return the other packages of mem that a module imports when it is imported."""
    names = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.level == 2 and node.module:
            names.append(node.module.partition(".")[0])
    return [name for name in names if name in HEIGHTS]


@pytest.mark.parametrize("package", sorted(HEIGHTS))
def test_a_package_imports_only_packages_below_it(package: str) -> None:
    for path in sorted((ROOT / package).glob("*.py")):
        for name in list_imports(path):
            assert HEIGHTS[name] < HEIGHTS[package], f"{path.name} imports {name}"


@pytest.mark.parametrize("package", ["formats", "store", "index", "reconcile", "recall"])
def test_a_front_door_opens_for_the_names_that_type_checkers_see(package: str) -> None:
    tree = ast.parse((ROOT / package / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    door = import_module(f"memcli.{package}")
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert getattr(door, alias.name) is getattr(
                import_module(f"memcli.{package}.{node.module}"), alias.name
            )


def test_the_page_of_the_architecture_names_every_file() -> None:
    page = (ROOT.parent / "ARCHITECTURE.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.M))
    assert sorted(rows) == sorted([*HEIGHTS, "data"])
    for folder, row in rows.items():
        for path in sorted((ROOT / folder).glob("*.*")):
            named = re.search(rf"`[^`]*\b{path.stem}\b", row)
            assert named or path.stem == "__init__", f"{folder}/{path.name}"
