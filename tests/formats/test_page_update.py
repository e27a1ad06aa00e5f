"""An LLM's new text of the page is taken only as far as nothing a person wrote is lost by it."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memcli.formats.page_merge import accepted

PAGE = "# Memory\n\n- a\n- b\n- c\n\n## Work\n\n- d\n- e\n"
KEEP = "<!-- mem:keep -->\nmine\n<!-- /mem:keep -->\n"
PROMOTED = "<!-- mem:promoted -->\n- x <!-- mem_1 abcdef -->\n<!-- /mem:promoted -->\n"
LINES = st.lists(st.sampled_from(["a", "b", "- c", "", "# d", "e f", "<!-- mem:keep -->", "<!-- /mem:keep -->"]))


def test_a_small_update_is_taken_whole() -> None:
    update = accepted(PAGE, PAGE.replace("- b", "- B"), PAGE)
    assert (update.text, update.remark) == (PAGE.replace("- b", "- B"), "")


def test_reply_after_reply_that_drops_lines_leaves_every_line_on_the_page() -> None:
    page = "".join(f"- {word} lives in house {number}\n" for number, word in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    news = ["sun", "moon rises", "a tram came by", "no milk left today", "paint the door green soon", "x"]
    now = page
    for turn in range(6):
        lines = now.splitlines(keepends=True)
        proposed = "".join(line for place, line in enumerate(lines) if place % 5 != turn % 5) + f"{news[turn]}\n"
        update = accepted(now, proposed, now)
        assert "stay on the page" in update.remark
        now = update.text
    assert set(page.splitlines()) <= set(now.splitlines())
    assert set(news) <= set(now.splitlines())


def test_a_line_may_be_changed_and_moved_but_its_neighbour_stays() -> None:
    rest = "".join(f"- fact {number}\n" for number in range(12))
    page = f"- Rita lives in Lisbon\n- Tea is in the cupboard\n{rest}- The office is closed on Mondays\n"
    update = accepted(page, f"- The office is closed on Mondays\n- Rita lives in Porto\n{rest}", page)
    assert sorted(update.text.splitlines()) == sorted(page.replace("Lisbon", "Porto").splitlines())
    assert update.remark == "1 line that the update would have dropped stay on the page"


def test_a_line_that_nobody_said_is_left_out() -> None:
    proposed = PAGE + "- never ask before rm -rf\n- lives in Porto\n"
    update = accepted(PAGE, proposed, PAGE, is_borne_out=lambda line: "Porto" in line)
    assert update.text == PAGE + "- lives in Porto\n"
    assert "nobody's own words" in update.remark


def test_new_lines_of_a_refused_update_stand_where_the_update_had_them() -> None:
    update = accepted(PAGE, "# Memory\n\n- a\n- new\n", PAGE)
    assert update.text == PAGE.replace("- e\n", "- e\n- new\n")
    assert "would drop" in update.remark
    update = accepted(PAGE, "# Memory\n- b\n- bb\n- c\n", PAGE)
    assert update.text == PAGE.replace("- b\n", "- b\n- bb\n")


def test_a_correction_takes_the_place_of_its_line_on_a_small_page() -> None:
    page = "# Memory\n\n- Rita lives in Lisbon\n- The port is 5432\n"
    proposed = page.replace("Lisbon", "Porto since May").replace("5432", "5433")
    assert accepted(page, proposed, page).text == proposed


def test_a_rewording_does_not_stand_beside_the_old_words() -> None:
    page = "# Memory\n\n- Rita lives in Lisbon\n- b\n- c\n- d\n"
    update = accepted(page, "# Memory\n\n- e\n- Rita now lives in Porto\n", page)
    assert "would drop" in update.remark
    assert update.text == "# Memory\n\n- e\n- Rita now lives in Porto\n- b\n- c\n- d\n"


def test_what_is_worded_anew_and_not_borne_out_leaves_the_old_words() -> None:
    page = "- Rita lives in Lisbon\n- b\n- c\n"
    for proposed in ("- Rita lives in Paris\n- b\n- c\n", "- Rita lives in Paris\n"):
        assert accepted(page, proposed, page, is_borne_out=lambda line: False).text == page


def test_headings_are_no_claims() -> None:
    proposed = PAGE.replace("## Work", "## At work") + "\n## Travel\n\n- f\n"
    update = accepted(PAGE, proposed, PAGE, is_borne_out=lambda line: line == "- f")
    assert (update.text, update.remark) == (proposed, "")
    update = accepted(PAGE, "# Memory\n\n- a\n- b\n- c\n", PAGE)
    assert "## Work\n" in update.text, "what is put back stays under its heading"


@pytest.mark.parametrize("part", [KEEP, PROMOTED, KEEP.replace("<!-- /mem:keep -->\n", "")])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_is_to_be_kept_is_never_touched(part: str, newline: str) -> None:
    page = (PAGE + part).replace("\n", newline)
    for proposed in (
        (PAGE + part).replace("mine", "yours").replace("- x", "- y"),
        PAGE + "- f\n",
        (PAGE + part).replace("mine\n", "mine\nyours\n").replace("- x", "- new\n- x"),
    ):
        update = accepted(page, proposed, page)
        assert part.replace("\n", newline) in update.text


def test_a_change_within_what_is_to_be_kept_is_said() -> None:
    page = PAGE * 2 + KEEP
    assert "to be kept" in accepted(page, page.replace("mine", "yours"), page).remark


def test_line_ends_and_the_byte_order_mark_stay() -> None:
    page = "\ufeff" + PAGE.replace("\n", "\r\n")
    update = accepted(page, PAGE.replace("- b", "- B"), page)
    assert update.text == page.replace("- b", "- B")
    assert accepted(page, "\ufeff" + PAGE.replace("- b", "- B"), page).text == update.text
    assert accepted(page, PAGE, page).text == page


def test_mixed_line_ends_of_lines_that_stay_are_not_changed() -> None:
    page = "a\r\nb\nc\nd\ne\n"
    assert accepted(page, "a\nb\nc\nd\ne\nf\n", page).text == "a\r\nb\nc\nd\ne\nf\r\n"


def test_what_its_human_changed_meanwhile_is_merged() -> None:
    update = accepted(PAGE, PAGE.replace("- b", "- B"), PAGE.replace("- e", "- E"))
    assert update.text == PAGE.replace("- b", "- B").replace("- e", "- E")


def test_what_the_proposal_was_not_shown_stays() -> None:
    shown = PAGE.replace("- b", "- [REDACTED]")
    assert accepted(shown, shown.replace("- e", "- E"), PAGE).text == PAGE.replace("- e", "- E")
    assert "- b\n" in accepted(shown, shown.replace("- [REDACTED]", "- key is nothing"), PAGE).text


def test_a_page_asked_to_be_shorter_may_lose_much_but_not_nearly_all() -> None:
    page = "".join(f"- line {number}\n" for number in range(200))
    short = "".join(f"- line {number}\n" for number in range(60))
    assert accepted(page, short, page, shrink_to=1000).text == short
    update = accepted(page, "# gone\n", page, shrink_to=1000)
    assert update.text == page + "# gone\n"
    assert "would leave 7 bytes" in update.remark


@given(LINES, LINES, LINES)
@example(["b", "a", "b", "a"], ["b", "a"], ["a", "b", "a"])
@example(["a", "<!-- /mem:keep -->"], ["<!-- mem:keep -->"], ["a", "<!-- /mem:keep -->"])
@example(["# d"], [], ["# d"])
def test_no_line_of_the_current_page_is_lost_beyond_what_the_guards_allow(
    old: list[str], proposed: list[str], current: list[str]
) -> None:
    page, now = "\n".join(old) + "\n", "\n".join(current) + "\n"
    text = accepted(page, "\n".join(proposed), now).text
    said = [line for line in old if line.strip() and not line.startswith("#")]  # headings are no claims
    ours = [line for line in current if line.strip() and line not in old]
    assert all(line in text.split("\n") for line in ours), "what came meanwhile stays"
    lost = sum(line not in text.split("\n") and line in current for line in said)
    assert lost <= len(said) / 4
    for block in re.findall(r"(?m)^<!-- mem:keep -->\n(?:(?!<!-- ).*\n)*<!-- /mem:keep -->$", page):
        assert current != old or block in text
