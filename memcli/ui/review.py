"""The view of open questions, and their number in the navigation."""

from functools import partial
from time import monotonic

from ..errors import ChangedError
from ..formats import count_noun
from ..reconcile.review import Choice, Question, answer_questions, list_questions
from .frame import Page, Request, build_sheet, link_memory, render_button
from .html import Html, fill, fill_file, link_button

QUESTIONS = 50  # on a page
COUNT_SECONDS = 60.0  # finding the questions among 10,000 memories takes 150 ms
ANSWERS = {
    "older": "Keep the older memory",
    "newer": "Keep the newer memory",
    "both": "Keep both",
    "accept": "Save",
    "reject": "Reject",
}


def show_review(request: Request) -> Page:
    """Show the questions that need a person's decision."""
    has_duplicates = bool(request.get("duplicates"))
    questions = list_questions(request.workspace, duplicates=has_duplicates)
    count = count_noun(len(questions), "open question") if questions else "Nothing to decide."
    more = None
    if not has_duplicates:
        request.counts[request.workspace.root] = monotonic(), len(questions)
        address = request.build_address("review", duplicates=1)
        more = link_button(address, "Look for likely duplicates")
    items = [render_question(request, question) for question in questions[:QUESTIONS]]
    return build_sheet("Review", fill('<p class="quiet">{}</p>', count), items, more)


def render_question(request: Request, question: Question) -> Html:
    values = {"question": question.id, "kind": question.kind}
    answers = []
    for answer in question.answers:
        answers.append(render_button(request, "answer", ANSWERS[answer], answer=answer, **values))
    labels = ("Older", "Newer") if len(question.memories) > 1 else ("",)
    sides = map(partial(render_side, request), labels, question.memories)
    reason = fill('<p class="quiet">{}</p>', question.reason)
    return fill_file("question", text=question.text, sides=sides, reason=reason, answers=answers)


def render_side(request: Request, label: str, choice: Choice) -> Html:
    day = request.workspace.describe_day(choice.date)
    about = " · ".join(filter(None, [label, choice.source, day]))
    text: str = choice.text
    if label:
        # A memory in the inbox has no view of its own.
        text = link_memory(request, choice.path, text)
    return fill('<div><p class="quiet">{}</p><p>{}</p></div>', about, text)


def answer_question(request: Request) -> str:
    """Answer an open question."""
    is_duplicate = request.get("kind") == "duplicate"
    questions = list_questions(request.workspace, duplicates=is_duplicate)
    asked = [question for question in questions if question.id == request.get("question")]
    if not asked:
        raise ChangedError("This question was answered already")
    done = answer_questions(request.workspace, asked, request.get("answer"))
    return request.build_address("review", done=done.number, duplicates=int(is_duplicate))


def show_pending(request: Request) -> Page:
    """Return the number of open questions, or nothing if there are none."""
    root, counts, now = request.workspace.root, request.counts, monotonic()
    counted_at, count = counts.get(root, (0.0, 0))
    if not counted_at or now - counted_at > COUNT_SECONDS:
        count = len(list_questions(request.workspace))
        counts[root] = now, count
    return Page("", str(count or ""), is_part=True)
