"""Judge what a sentence claims: whether it is worth keeping without a model to ask, and as what.

Owns: the signs of a lasting statement and of talk that passes, and what each is worth. Refuses to rewrite: see retold.
"""

import re
from dataclasses import dataclass

NEEDED = 4
"""Points a sentence needs to be kept: one strong sign, or two that agree."""


@dataclass(frozen=True)
class Statement:
    """What a sentence claims."""

    type: str
    tags: tuple[str, ...] = ()
    points: int = 0


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_ADVERBS = r"(?:\s+(?:\w+ly|also|always|never|just|still|now|usually|often|do|don['’]t|do not))*+\s+"
_DO = rf"\b(?:I|we){_ADVERBS}"
_AM = r"\b(?:I['’]m|I am|we['’]re|we are)\b"
_OPENING = r"^(?:(?:please|now|so|ok(?:ay)?|and|then|also|first|next|just|yes|yeah|great|perfect|thanks?)[,!.]?\s+)*+"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = (
    r"(?:january|february|march|april|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)\.? \d)"
)
_ORDERS = "|".join(
    """
    add answer apply ask book build call cancel change check clean commit compare confirm continue convert create debug
    delete deploy describe do download draft edit evaluate explain extract find fix format generate give go help
    implement improve inspect install investigate list look make merge move open optimi[sz]e plan print proceed push put
    query rate read refactor remind remove rename replace reply report rerun respond review revert rewrite run schedule
    search select send set show simplify sort split start suggest sum summari[sz]e swap tell test translate try undo
    update upgrade verify walk write
    """.split()  # noqa: SIM905
)
_LETS = "start|try|see|look|do|get|begin|move|focus|work|fix|make|build|add|write|check|talk|go (?:ahead|over|through)"

ASKS = _any(
    r"\?\W*$",
    rf"{_OPENING}(?:can|could|would|will|do|did|have) you\b",
    rf"{_OPENING}let['’]?s (?:{_LETS})\b",
    rf"{_OPENING}(?:{_ORDERS})\b",
    r"\b(?:help|show|walk|tell|teach) me\b",
    r"\bI (?:just )?(?:want|need|would like|'d like) (?:you|help|your|some help|a hand)\b",
    r"^(?:I wonder|any (?:idea|thought|suggestion)|what about|how about|thoughts)\b",
)
_CHATTER = _any(
    r"^(?:hi|hey|hello|yo|good (?:morning|afternoon|evening|night)|yes|yeah|yep|yup|ok(?:ay)?|sure|thanks?"
    r"|thank you|thx"
    r"|perfect|great|nice|cool|awesome|amazing|excellent|exactly|right|got it|sounds? (?:good|great)"
    r"|makes sense|love it|wow"
    r"|haha|lol|good|fine|bye|cheers|no worries|no problem|you['’]re welcome|never ?mind)\b[^a-z]*(?:\w+\W*){0,4}$",
    r"^(?:oh man|ugh|luckily|wish me luck|fingers crossed|sorry)\b",
    r"^(?:that|this|it)(?:['’]s|\s+(?:is|was|would be|looks?|sounds?|seems?|feels?|makes?|worked|works|helps?"
    r"|helped))\b(?!.*\b[A-Z0-9]).{0,80}$",
    rf"{_AM} (?:so |very |really |a bit |kind of |super )*+(?:done with|excited|nervous|thrilled|confused"
    rf"|stuck|tired|happy|glad"
    r"|sorry|lost|sure|not sure|curious|wondering|afraid|back|ready)\b",
    r"\bI (?:think|guess|hope|suppose|see|understand|agree|feel like|mean)\b(?!.*\b(?:will|should|must"
    r"|prefer)\b).{0,40}$",
    r"\b(?:weather|traffic|flight|coffee machine|spilled|lunch|dinner|weekend|groceries)\b",
)
_PASSES = _any(
    r"\b(?:I|we)(?:['’]m| am|['’]re| are)?\s+(?:still\s+)?(?:get(?:ting)?|got|see(?:ing)?|hit(?:ting)?|have"
    r"|having)\b.*"
    r"\b(?:error|exception|failure|traceback|warning|stack trace|crash)",
    r"\b(?:does ?n['’]t|did ?n['’]t|does not|did not|is ?n['’]t|still not|no longer) (?:work|compile|build"
    r"|start|run|pass|load)",
    r"\b(?:is|are|was) (?:still )?(?:broken|failing|red|stuck|down)\b",
    r"^(?:I|we) (?:just )?(?:ran|re-?ran|clicked|typed|pasted|pushed|committed|opened|restarted|tried (?:that"
    r"|it|this)|looked at|checked)\b",
)

_CORRECTS = _any(
    r"^(?:that['’]s|this is|you['’]re|it['’]s) (?:wrong|not (?:right|correct|true|what I)|incorrect|mistaken)",
    r"^(?:it|that|this|the \w+(?: \w+)?)(?:['’]s| is| was| should be)\b.{2,60},\s*not\s+\S+",
    r"^I (?:meant|told you|already (?:said|told)|said (?:that|to|not|I|it|the))\b|^(?:scratch|forget"
    r"|ignore) (?:that|what I said)\b",
    r"^(?:no|nope|nah|wait|correction|actually)\b\s*[,.:;!—–-]+\s*(?:no\W+)?(?:actually|wait|it|that|the|my"
    r"|our|I|we|use|not|don['’]t)\b",
    r"^actually\b(?!\s*[,]?\s*(?:can|could|let|yes|I think|never))",
)
_DECIDES = _any(
    r"\bdecision (?:made|is|was)\b|^decision\b|\b(?:decided|chose|chosen|picked|settled on|opted|agreed (?:to"
    r"|on)|committ(?:ed|ing) to|signed off)\b",
    r"\blet['’]?s (?:go with|use|stick (?:with|to)|adopt|drop|switch|pick|do .* (?:instead|actually))",
    r"\b(?:going|go|went|gone) with\b",
    r"\b(?:switch|mov|migrat|chang|convert|pivot|upgrad|transition)(?:e|ed|es|ing)? (?:\w+ ){0,5}?(?:from|to"
    r"|away|over)\b",
    r"\b(?:will|going to) (?:use|drop|adopt|replace|switch|keep|stick)\b|\b(?:sticking|stick) (?:with|to)\b",
)
_PREFERS = _any(
    rf"{_DO}(?:prefer|like|love|enjoy|hate|dislike|favou?r|avoid|(?:want|need) (?:short|long|brief|concise"
    rf"|simple|plain|more detail|step)"
    r"|can['’]t stand|tend to)\b",
    r"\b(?:I|we)(?:['’]d| would) (?:rather|prefer)\b|\bmy (?:favou?rite|preferred|preference|style)\b"
    r"|\bprefers?\b|\bpreference\b",
    r"\b(?:I|we) (?:do not|don['’]t) (?:like|want|need|drink|eat|use)\b",
    r"^(?:please\s+)?(?:keep|be|avoid|use|stop|skip|prefer)\b.*\b(?:answers?|repl(?:y|ies)|responses?"
    r"|explanations?|examples?"
    r"|comments?|tone|short|brief|concise|direct|simple|clean|emojis?|lists?|tables?|preambles?)\b",
    r"\bone \w+ at a time\b|\btoo (?:verbose|formal|wordy)\b",
)
_BINDS = _any(
    r"^(?:please\s+)?(?:use|do|prefer|run|write|call|put|keep)\b.*,\s*not\s+\S+",
    r"\b(?:must|mustn['’]t|shall) (?:not\s+)?\w+",
    r"(?<!n['’]t )(?<!not )(?<!['’]ve )(?<!have )(?<!has )\b(?:never|always)\b(?! (?:mind|been?|had|has|have"
    r"|felt|feel|here|there|remember|forget|easy|going|seems?|makes?|look)\b)",
    r"\b(?:not allowed|forbidden|prohibited|mandatory|required|at all times|under no circumstances|no matter what)\b",
    r"\b(?:from now on|going forward|in (?:the )?future|every time|each time|by default|as a rule)\b",
    r"\bonly (?:use|ever|allowed)\b|\b(?:no more than|at most|at least|maximum|minimum)\b",
    r"\b(?:do not|don['’]t) (?:ever|touch|commit|push|delete|use|change|edit|modify|deploy)\b",
)
_IS_SOMEBODY = _any(
    r"^I(?:['’]m| am) (?:(?:now|also|currently|actually) )?(?:an? (?!bit|little|lot)\w|the \w|based|from"
    r"|married|engaged|divorced|allergic"
    r"|vegan|vegetarian|pregnant|\d)",
    r"^I(?:['’]m| am) [A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?\W*$|\bmy name\b|\bcall me\b",
    r"\bI (?:live|work|study|teach|grew up|was born) (?:in|at|for|as|on|with|near)\b",
    r"\bmy (?:birthday|anniversary|address|e-?mail|phone number|time ?zone|job|role|wife|husband|partner|son"
    r"|daughter|boss|manager|team)\b",
    r"\ballerg\w+\b|\b(?:currently|now) (?:working on|learning|studying)\b",
)
_STANDS = _any(
    rf"{_AM} (?:(?:now|also|currently|actually|only|still) )?(?:a|an|the|on|in|at|from|responsible|called"
    rf"|named|\d)\b",
    rf"{_AM} (?:\w+ly |now |also )*+(?:work|us|build|learn|runn|liv|stud|lead|manag|teach|writ|develop|migrat"
    rf"|switch|hir|launch|submit"
    r"|target|plann|expect|transition|research|mov|split|extend)\w*ing\b",
    rf"{_DO}(?:use|work|own|have|manage|run|lead|speak|build|write|maintain|plan|handle|detect|integrate|know"
    rf"|store|deploy"
    r"|support|sell|host|take|drink|eat|go by)\b",
    r"\b(?:my|our) (?:\w+[ -]){0,4}?(?:is|are|was|will be|has|have|uses?|wants?|thinks?|said|says|likes?"
    r"|loves?|needs?|asked|handles"
    r"|processes|takes|runs|prefers?)\b",
    r"^(?:I['’]ll|I will|we['’]ll|we will|will)\b",
    r"\b(?:I|we)(?:['’]ve| have) (?:\w+ ){0,2}?(?:been|got|grown|built|used|worked|had|moved|never|decided"
    r"|hired|started|finished)\b",
)
_CLAIMS = _any(
    rf"{_AM} (?:\w+ly |now |also )*+\w+ing\b|{_AM} (?:at|under|over|up|down)\b",
    r"\b(?:they|she|he)(?:['’](?:re|s)| are| is)? (?:\w+ly |already |also |now |mostly )?(?:us|want|need"
    r"|ha[sv]|run|work|prefer|liv|lik|lov"
    r"|lead|report|own|manag)\w*\b",
    r"^(?:the|our|my|an?)\b.{2,60}?\b(?:is|are|has|have|uses?|targets?|takes?|runs?|needs?|wants?|requires?"
    r"|supports?|lives?|works?"
    r"|handles?|will|should|can)\b",
    r"\b(?:thinking (?:about|of)|planning to|hoping to|trying to|looking to|interested in|learning"
    r"|wants? (?:me )?to|needs? to|ha(?:ve|s) to)\b",
)
_HAPPENED = _any(
    r"\b(?:accepted|joined|hired|promoted|launched|shipped|released|closed|raised|finished|completed|approved"
    r"|got|hit|reached|dropped"
    r"|grew|grown|jumped|improved|reduced|increased|moved|pushed|postponed|started|quit|sold|bought|married"
    r"|signed|passed|failed|won"
    r"|lost|added|redesigned|rebuilt|fixed|solved|confirmed|promised|tried|is done|are done|is live|went from"
    r"|worked|learned|found out"
    r"|turned out|set up|built|met|broke up|pregnant|diagnosed|hospitali[sz]ed)\b"
)
_DATED = _any(
    rf"\b(?:deadline|due|until|launch|q[1-4]|starts?|today|yesterday|last night|(?:by|before|next|last"
    rf"|on) (?:the )?(?:end of|{_DAY}|week|month|year|quarter))\b|\b{_MONTH}",
)
_DANGLES = _any(r"\b(?:to|the|an?|of|and|or|with|for|but|so)\W*$")
_VAGUE = _any(
    r"\b(?:it|this|that|something|stuff|things?)\b(?!['’]?s? (?:morning|evening|week|month|year|quarter"
    r"|semester|term))"
)
_TASK = _any(r"^(?:I|we) (?:\w+ly |also |still |just |really )*+(?:need|want|have|should|am trying|['’]m trying) to\b")
_NUMBER = _any(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|half|twice|percent)\b")
_NAME = re.compile(
    r"(?<![.!?] )(?<!^)(?<![\"'(])\b(?!I\b|I['’])(?:[A-Z][\w+#.-]*[\w+#]|[A-Z])|\b\w*[a-z][A-Z]\w*"
    r"|\b[A-Z]{2,}\b|`[^`]+`|\w+[./]\w+"
)

# What each sign is worth was set on half of a set of conversations whose facts are known: that something happened, and
# names, tell best; that a sentence states something tells little, since most sentences do.
_SIGNS = (
    (4, _IS_SOMEBODY),
    (3, _HAPPENED),
    (2, _STANDS),
    (2, _DATED),
    (2, _NAME),
    (1, _NUMBER),
    (1, _CLAIMS),
    (-1, _VAGUE),
    (-2, _TASK),
)


def judge(sentence: str, *, corrects: bool = False, answers: bool = False, lasting: bool = False) -> Statement | None:
    """Say what a user's sentence claims; None for what passes.

    `corrects` says that its opening, which is not in it any more, contradicted what was said before; `answers` that
    it answers a question, which then is part of what it says; `lasting` asks for a sign that it holds on.
    """
    short = len(sentence.split()) < 3 and not (answers or _IS_SOMEBODY.search(sentence))
    if short or _CHATTER.search(sentence) or _PASSES.search(sentence) or _DANGLES.search(sentence):
        return None
    corrects = corrects or bool(_CORRECTS.search(sentence))
    prefers, binds, decides = (bool(sign.search(sentence)) for sign in (_PREFERS, _BINDS, _DECIDES))
    strong = corrects + prefers + binds + decides
    if ASKS.search(sentence) and (not strong or sentence.rstrip().endswith("?")):
        return None
    points = 4 * strong + 3 * answers + sum(worth for worth, sign in _SIGNS if sign.search(sentence))
    if points < NEEDED or (lasting and not strong):
        return None
    kind = "correction" if corrects else "preference" if prefers else "constraint" if binds else "fact"
    return Statement(kind, ("decision",) if decides and kind == "fact" else (), points)


def corrects(sentence: str, *, answers: bool) -> bool:
    """Say whether a sentence opens by contradicting what was said; an answer to a question may well start with no."""
    return bool(_CORRECTS.search(sentence)) and not (
        answers and re.match(r"(?:no|nope|nah)\b", sentence, re.IGNORECASE)
    )
