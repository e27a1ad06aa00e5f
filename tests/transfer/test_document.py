"""Memories as one document for people."""

from memcli.transfer.export import in_reading_order, lowered


def test_headings_are_pushed_below_their_chapter() -> None:
    assert lowered("# A\n\n## B\ntext", 4) == "#### A\n\n##### B\ntext"
    assert lowered("### A\n# B", 4) == "###### A\n#### B"
    assert lowered("# A\n#### B", 4) == "#### A\n###### B"
    assert lowered("##### A", 4) == "##### A"


def test_what_only_looks_like_a_heading_stays() -> None:
    text = "#tag\n```sh\n# comment\n```\n####### seven\n~~~\n# x\n```\n# y\n~~~"
    assert lowered(text, 4) == text


def test_chapters_come_in_the_order_of_the_types() -> None:
    chosen = [
        ("HISTORY.md", "history"),
        ("HISTORY-2026-01.md", "history"),
        ("notes/2026-01-02.md", "note"),
        ("entries/z.md", "entry"),
        ("entries/y.md", "entry"),
        ("entries/x.md", "entry"),
        ("MEMORY.md", "memory"),
        ("sessions/a/session.jsonl", "session"),
    ]
    types = {"entries/z.md": "fact", "entries/y.md": "summary", "entries/x.md": "feedback"}
    assert [path for path, _ in in_reading_order(chosen, types)] == [
        "MEMORY.md",
        "entries/z.md",
        "entries/y.md",
        "entries/x.md",
        "notes/2026-01-02.md",
        "HISTORY-2026-01.md",
        "HISTORY.md",
    ]
