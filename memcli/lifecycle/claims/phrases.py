"""Words that together mean other words, so that a statement has one form however it was put."""

_PHRASES = """
    no longer = not changed; not any more = not changed; not anymore = not changed; not any longer = not changed;
    no more = not changed; stopped = not changed; stop = not changed; quit = not changed; gave up = not changed;
    give up = not changed; given up = not changed; giving up = not changed; has ceased = not changed;
    got rid of = not changed have;
    need not = not; needs not = not; no need to = not; does not need to = not; do not need to = not; not need to = not;
    do not have to = not; does not have to = not; not have to = not; not allowed to = not; not permitted to = not;
    there is no = no there; there are no = no there; there is = there; there are = there;
    not a = not; not any = not; not at all = not; no one = nobody; is unable to = not; are unable to = not;
    dislike = not like; dislikes = not like; not like to = not like; does not trust = distrust; do not trust = distrust;
    can not stand = hate; not stand = hate; can not bear = hate; is fond of = like; is a fan of = like;
    is keen on = like;
    would rather = prefer; would like = want; would like to = want to;
    rather than = instead; instead of = instead; in place of = instead; as opposed to = instead;
    in favour of = infavour; in favor of = infavour; in front of = infront; prior to = before; as soon as = when;
    has to = must; have to = must; needs to = must; need to = must; ought to = must; had to = must;
    is able to = can; are able to = can; is allowed to = can; are allowed to = can; it is = ; make sure to = ;
    remember to = ; be sure to = ; as well = ; kind of = ; sort of = ; so that = ; in order to = to;
    such as = as; a lot of = many; lots of = many; a few = some; at least = minimum; at most = maximum;
    2 times = twice; 2 times per = twice every; 2 times a = twice every; twice a = twice every; times a = times every;
    times per = times every; daily = every day; nightly = every night; hourly = every hour; weekly = every week;
    monthly = every month; yearly = every year; annually = every year; at night = every night; all the time = always;
    went up to = rise to; gone up to = rise to; went down to = drop to; gone down to = drop to;
    turned on = enable; turned off = disable; switched on = enable; switched off = disable; switch on = enable;
    switch off = disable; turn on = enable; turn off = disable; is on by default = be enable by default;
    is off by default = be disable by default; are on by default = be enable by default;
    are off by default = be disable by default; because of = because; due to = because; is due = due; are due = due;
    used to = formerly; right now = now; from now on = now; these days = now; at the moment = now; at present = now;
    last week = recently; last month = recently; last year = recently; this week = recently; this month = recently;
    works as = be; work as = be; working as = be; works for = work at; work for = work at; working for = working at;
    is employed at = work at; is employed by = work at; has a job at = work at;
    is based in = live in; are based in = live in; based in = live in; is based at = live in; is located in = live in;
    is called = call; are called = call; is named = call; named = call; called = call; name is = call;
    's name is = call;
    goes by = call; is known as = call; was born on = birthday; were born on = birthday; time zone = timezone;
    day off = off
"""
_OPENING = "done with = not changed; finished with = not changed; through with = not changed"


def _table(text: str) -> dict[tuple[str, ...], tuple[str, ...]]:
    table = {}
    for line in text.split(";"):
        left, _, right = line.partition("=")
        table[tuple(left.split())] = tuple(right.split())
    return table


PHRASES = _table(_PHRASES)
"""Words as they follow each other → what they stand for; `changed` marks what is no longer as it was."""
OPENING_PHRASES = _table(_OPENING)
"""Phrases that mean this only where nothing but the user stands before them."""
LONGEST = max(map(len, PHRASES))
