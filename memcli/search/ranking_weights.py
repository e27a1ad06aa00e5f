"""The constants of ranking, each with what it was measured to be worth; one set for every workspace.

Tuned on half of the queries of ten sets (LoCoMo turns, facts and sessions, MADial, OpenClaw pages, qmd files, gbrain
pages, LongMemEval; conversations 26 and 30 of LoCoMo, every other query elsewhere) and kept where the other half
agreed. A gain is the mean of recall@5 and nDCG@10 on that other half, against the same ranking without it
(`bench/retrieval`, `bench/results/retrieval.md`).
"""

from typing import NamedTuple


class Weights(NamedTuple):
    """How much each sign of relevance counts."""

    # Share of the vector against the keywords, of a turn or of anything else.
    vector_turn: float = 0.45  # .4 to .5 lose less than .01 over six kinds of talk
    vector: float = 0.5  # whatever the length: two scales make texts of different lengths incomparable
    statement: float = 0.1  # added when the query tells instead of asks
    # Share of the mean cosine of a long entry's chunks in its meaning, the best chunk's being the rest. The cosine of
    # their mean vector, which is nearer to everything the more matters a page has, is worth .009 less on OpenClaw.
    mean_cosine: float = 0.5
    last_line: float = 0.7  # of a query of several lines: MADial dialogues +.038
    # Texts, no share of them, with a name from which on the query without it counts as much: LoCoMo facts +.023.
    frequent: int = 20
    # Of the query with another name for whom it names, and of a word for the other name: LoCoMo by nicknames +.035.
    other: float = 0.5

    # Keywords.
    # tf / (tf + this), whatever the length: 1.2 is as good there, and .009 worse on the tuned half
    saturation: float = 0.4
    window: tuple[float, ...] = (0.4, 0.25, 0.15, 0.1)  # the words 1, 2, … turns away
    reach: int = 100  # characters of a turn, from which on its words count less for the turns around it
    # Of an entry of several chunks alone (turns, sections, records and notes are each found by their own words): share
    # of the words of the whole, the best chunk's being the rest. TIME +.009 ± .010, 17 sets -.0015.
    whole: float = 0.4
    everyday_texts: int = 1000  # see term_weights: +.004 with the next
    other_texts: int = 3000  # see term_weights: as good as 1000, and a third steadier when texts are added
    least_share: float = 0.002  # every word is in two: else a rare word shared is near an answer in a small workspace
    idf_power: float = 1.3  # 1.0 to 1.6 lose less than .002
    least_idf: float = 2.0  # a word's on average; without it the best hit of "what is it about" has .22, with it .10

    # Added to the sum.
    named: float = 1.2  # its id, path or address is in the query: more than `base` takes away
    titled: float = 0.06  # every word of the title is in the query: gbrain +.007
    speaker: float = 0.06  # the query names who speaks, or says "I" or "did you" of user and assistant
    pieces: float = -0.05  # × ln(pieces of a turn): the best of many pieces fits by chance alone
    most_pieces: int = 20  # that are counted: one turn in 100 has more, and one without an end must be found too
    asked: float = -0.03  # a turn that asks does not answer: LoCoMo turns +.020
    only_asks: float = -0.75  # × the sum: an entry, record or note that repeats the question never outranks its answer
    # × how far the five texts nearest to a text are above all: of 14 sets of texts nine are better, mean nDCG@10 +.002.
    # Lowered too, by bad neighbours, it were +.003, but right hits fell below the bars of recall.
    near: float = 0.3
    exact: float = 0.05  # × the share of the query's phrases: of 80 quoted ones of TIME .50 come first, .33 without
    # × how far outside the time the query names: .016 on 175 queries that name one, as from .06 to .1
    dated: float = -0.08

    # Relevance = slope × sum + base, a line through how often hits of a sum were right: of turns over six kinds of talk
    # (.6 and -.15 said "nothing found" to 84 of 360 questions to the talk of agents and friends), else the tuned half.
    slope_turn: float = 0.45
    base_turn: float = -0.05
    base: float = -0.15


WEIGHTS = Weights()
