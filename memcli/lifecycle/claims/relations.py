"""Which verbs and nouns tie a subject to one value at a time, and which to many."""

from .words import canonical, canonicals

SLOTS = canonicals(
    "name role title colour editor language framework database branch region zone timezone port host url address email"
    " phone number version deadline date birthday age height weight budget limit timeout retention size length duration"
    " price cost rent salary font target owner lead leader manager cto ceo cfo director captain chair doctor dentist"
    " status password hint city country capital employer company school university major thesis wife husband"
    " default primary main provider vendor bank license level threshold rate ratio count total maximum"
    " minimum frequency"
    " day month format currency codename domain namespace nationality diet contact insurance favourite"
)
"""What has one value at a time, so that `the X is A` and `the X is B` cannot both hold."""
LOOSE_SLOTS = canonicals(
    "goal purpose topic theme hobby food drink song book movie car dog cat pet partner teacher reviewer responsible"
    " priority plan team schedule location office seat room floor time style convention strategy approach model client"
    " sponsor winner unit scope sprint milestone release bucket queue job religion shift focus project"
)
"""What often has one value, and may have several."""
STATES = {
    canonical(verb): tuple(places.split())
    for verbs, places in (
        ("live locate", "in with"),
        ("work", "in for as"),
        ("call", "core"),
        ("run host deploy ship publish serve", "in with to"),
        ("store back archive log", "in with to"),
        ("write build implement", "in with"),
        ("listen bind", "in"),
        (
            "start end expire open close meet happen renew due retire leave arrive plan schedule",
            "in when until for core",
        ),
        ("last cost weigh measure contain have", "number"),
        ("set default point resolve", "to in"),
        ("use prefer want drink eat train", "alternative"),
        ("report belong", "to"),
        ("commute travel pay", "with in"),
        ("target support need", "number"),
    )
    for verb in verbs.split()
}
"""Verb of a state → where its one value stands."""
MANY = canonicals(
    "like hate know speak read own have use buy eat drink play write watch visit study learn open add call need"
)
"""Verbs whose object is one of many."""
USAGES = canonicals(
    "use run be host deploy work live base write store prefer build manage play study learn drive own have like read"
    " drink eat smoke take subscribe rely depend research do get teach ta tas taing commute member want plan go meet"
)
"""Verbs of what `switched from X` puts an end to."""
VERBS = canonicals(
    "agree disagree trust distrust hate permit forbid include exclude avoid add remove enable disable accept refuse"
    " reject know need speak reply respond log track show print return send fetch ask tell give put bring bill"
    " handle expose review approve own lead head maintain sponsor attend join visit watch wear sing cook bake train"
    " create open close fail pass break crash load parse validate check test lint format compile render sync copy move"
    " collect process sell buy order pay charge spend save earn support provide offer expect"
    " monitor notify alert back cut release tag merge push pull commit squash rebase sign encrypt"
    " translate sleep wake walk swim travel fly fear miss help mean cause follow ride hit kick catch"
    " reach connect listen carry feed clean wash fill pour climb jump throw paint draw lock unlock start"
)
"""Other verbs by which the subject of a statement is told from the rest."""
NOUNS = canonicals(
    "build test log release merge push commit order work plan cost report review check run call back meet"
) | {"deploy"}
"""Words that stand for a thing as often as for what is done."""
KIN = tuple(
    canonicals(group)
    for group in ("live store be locate", "run host deploy ship serve", "be set", "start open", "end close")
)
"""Verbs that say the same where only the value behind them matters."""
LANDS = canonicals(
    "europe asia africa america australia germany portugal spain france italy switzerland austria poland"
    " netherlands belgium"
    " denmark sweden norway finland ireland england scotland wales britain uk greece turkey russia"
    " ukraine czechia hungary"
    " romania usa us canada mexico brazil argentina chile colombia peru china japan korea india indonesia"
    " thailand vietnam"
    " singapore malaysia israel egypt morocco nigeria kenya california texas florida oregon washington"
    " bavaria catalonia eu"
)
"""Countries and the like, in which other places lie."""
