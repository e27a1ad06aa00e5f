"""mem review: answer the questions that need a person's decision."""

from typing import Annotated

from typer import Argument

from ..api import ChangedError, Context, MemError, NotFoundError, Workspace, add_gates, open_all
from ..formats import count_noun
from ..reconcile import Choice, Question, answer_questions, get_text, list_questions
from ..store.undo import undo
from .terminal import Result, clean_line, print_message, read_key, wrap_text

REVIEW_FIELDS = ("id", "kind", "text", "reason", "memories", "answers", "answer", "undo")
KEY_TEXTS = {"both": "keep both"}  # other answers say what they do
LABELS = {
    "older": "Kept the older memory",
    "newer": "Kept the newer memory",
    "copy": "Kept the copy, under the name of the note",
    "note": "Kept the note, and deleted the copy",
    "both": "Kept both",
    "accept": "Saved",
    "reject": "Rejected; it is refused from now on",
}
OTHER_KEYS = "s skip · b back · u undo · q quit"
Item = tuple[Workspace, Question]


def run_review(
    context: Context,
    question: Annotated[str, Argument(metavar="[ID]", help="Only this question.")] = "",
    answer: Annotated[
        str, Argument(metavar="[ANSWER]", help="older, newer, copy, note, both, accept or reject.")
    ] = "",
    duplicates: Annotated[bool, "Also list memories that may be duplicates."] = False,
) -> Result:
    """Answer open questions, each with one key.

    \b
    o  keep the older memory
    n  keep the newer memory, or the note
    c  keep the copy of a note
    k  keep both
    a  accept a memory of the inbox
    r  reject it
    s  skip the question
    b  go back
    u  undo the last answer
    q  quit

    A capital letter answers all remaining questions of the same kind. In a script, pass ID and
    ANSWER.

    \b
    Examples:
      mem review
      mem review --duplicates
      mem review --json
      mem review 3f2a1c newer
    """
    workspaces = [add_gates(workspace) for workspace in open_all(context)]
    items = find_items(workspaces, duplicates=duplicates)
    if question:
        # Possible duplicates only if necessary, because finding them takes longer.
        items = [item for item in items if item[1].id == question] or [
            item for item in find_items(workspaces, duplicates=True) if item[1].id == question
        ]
        if not items:
            raise NotFoundError(
                f"no open question {question!r}; it may have been answered already",
                "list the open questions: mem review --json",
            )
    if answer:
        workspace, asked = items[0]
        done = answer_questions(workspace, [asked], answer)
        data = {"id": asked.id, "kind": asked.kind, "answer": answer, "undo": done.number}
        lines = [f"{LABELS[answer]}: {get_text(asked, answer)}  ({asked.id})"]
        return Result(data, lines, [[asked.id, answer]], done.messages)
    if items and context.is_terminal and not context.common.as_json:
        return Dialog(context, items).ask_all()
    return list_items(context, items)


def find_items(workspaces: list[Workspace], *, duplicates: bool) -> list[Item]:
    return [
        (workspace, question)
        for workspace in workspaces
        for question in list_questions(workspace, duplicates=duplicates)
    ]


def list_items(context: Context, items: list[Item]) -> Result:
    lines, rows = [], []
    for _, question in items:
        answers = "|".join(question.answers)
        texts = [choice.text for choice in question.memories]
        lines += [f"{question.text}  ({question.kind} · {question.id})"]
        rows.append([question.id, question.kind, answers, *texts])
    data = {"questions": [question for _, question in items]}
    return Result(data, lines, rows, nothing="Nothing to decide.")


def list_keys(question: Question) -> dict[str, str]:
    """Return the answers to a question by their keys, the first letter of how they are shown."""
    return {KEY_TEXTS.get(answer, answer)[0]: answer for answer in question.answers}


class Dialog:
    """Asks the questions one after the other and carries out each answer immediately."""

    def __init__(self, context: Context, items: list[Item]) -> None:
        self.context = context
        self.items = items
        self.closed: set[int] = set()  # positions of the answered questions
        self.done: list[tuple[Workspace, int, list[int]]] = []  # with the numbers for undo

    def ask_all(self) -> Result:
        position = 0
        while position < len(self.items):
            if position in self.closed:
                position += 1
                continue
            self.show(position)
            key = self.read_key(self.items[position][1])
            if key in ("", "q"):
                break
            position = self.handle_key(key, position)
        answered = sum(len(positions) for _, _, positions in self.done)
        still_open = len(self.items) - len(self.closed)
        lines = [f"Answered {count_noun(answered, 'question')}. Still open: {still_open}."]
        if self.done:
            # Each answer is a command of its own.
            lines.append("Undo: mem undo" + (" --list" if len(self.done) > 1 else ""))
        return Result({}, lines)

    def show(self, position: int) -> None:
        _, question = self.items[position]
        self.print(f"{position + 1} of {len(self.items)}: {question.text}")
        for answer, choice in zip(question.answers, question.memories, strict=False):
            label = f"{answer}: " if len(question.memories) > 1 else ""
            self.print(f"  {label}{self.describe(choice)}")
        for line in question.reason.splitlines():
            self.print(f"  {line}")

    def read_key(self, question: Question) -> str:
        """Return the next key that this question accepts."""
        answers = list_keys(question)
        keys = [f"{key} {KEY_TEXTS.get(answer, answer)}" for key, answer in answers.items()]
        while True:
            self.print(f"{' · '.join(keys)} · {OTHER_KEYS}")
            key = read_key(self.context)
            # An empty key means the end of the input.
            if key in ("", *"sbuq") or key.lower() in answers:
                return key

    def describe(self, choice: Choice) -> str:
        day = self.items[0][0].describe_day(choice.date)
        return f"{choice.text}  ({choice.source} · {day or 'undated'} · {choice.short_id})"

    def print(self, line: str) -> None:
        lines = wrap_text(self.context, clean_line(line), 4)
        self.context.stderr.write("\n".join(lines) + "\n")
        self.context.stderr.flush()

    def handle_key(self, key: str, position: int) -> int:
        """Do what a key means, and return the position of the next question."""
        if key == "s":
            return position + 1
        if key == "b":
            earlier = [number for number in range(position) if number not in self.closed]
            return earlier[-1] if earlier else position
        if key == "u":
            return self.undo_last(position)
        answer = list_keys(self.items[position][1])[key.lower()]
        self.answer(position, answer, for_all=key.isupper())
        return position

    def answer(self, position: int, answer: str, *, for_all: bool) -> None:
        """Answer a question, or it and all that follow of its kind."""
        workspace, question = self.items[position]
        positions = [position]
        if for_all:
            positions = [
                number
                for number, (other, asked) in enumerate(self.items)
                if number >= position and number not in self.closed
                # One undo reverts one commit, and that is of one workspace.
                if other is workspace and asked.kind == question.kind
            ]
        try:
            questions = [self.items[number][1] for number in positions]
            done = answer_questions(workspace, questions, answer)
        except MemError as error:
            print_message(self.context, error.message)
            # Otherwise the dialog would ask the same question again. If the answer to all failed,
            # each question can still be answered alone.
            if isinstance(error, ChangedError) or not for_all:
                self.closed.add(position)
            return
        self.closed.update(positions)
        self.done.append((workspace, done.number, positions))
        count = f" ({count_noun(len(positions), 'question')})" if for_all else ""
        self.print(f"{LABELS[answer]}.{count}")
        for message in done.messages:
            print_message(self.context, message)

    def undo_last(self, position: int) -> int:
        """Undo the last answer, and return the position of its question."""
        if not self.done:
            self.print("Nothing to undo yet.")
            return position
        workspace, number, positions = self.done.pop()
        try:
            undo(workspace, number)
        except MemError as error:
            print_message(self.context, error.message)
            return position
        self.closed.difference_update(positions)
        self.print("Undone.")
        return positions[0]
