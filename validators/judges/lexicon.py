"""Word lists the judge reads with: closed classes, opposites, synonyms, units.

Every list is data for ``reading`` and ``alignment``; nothing here decides. Words are lower case
and, where a list is keyed by content words, reduced by :func:`stem`.
"""

from typing import Final

_VOWELS: Final = frozenset("aeiouy")

IRREGULAR: Final = dict(
    pair.split("=")
    for pair in (
        "ran=run wrote=write written=write took=take taken=take broke=break broken=break "
        "built=build kept=keep went=go gone=go got=get gotten=get made=make done=do did=do "
        "does=do doing=do has=have had=have having=have been=be was=be were=be is=be are=be "
        "am=be being=be left=leave lost=lose found=find said=say sent=send spent=spend sat=sit "
        "sitting=sit lay=lie lying=lie lain=lie drew=draw drawn=draw drove=drive driven=drive "
        "ate=eat eaten=eat fell=fall fallen=fall flew=fly flown=fly gave=give given=give "
        "grew=grow grown=grow held=hold knew=know known=know led=lead met=meet paid=pay "
        "read=read rode=ride ridden=ride rose=rise risen=rise saw=see seen=see sold=sell "
        "bought=buy brought=bring taught=teach thought=think threw=throw thrown=throw "
        "told=tell understood=understand won=win wore=wear worn=wear chose=choose "
        "chosen=choose began=begin begun=begin became=become came=come caught=catch "
        "children=child men=man women=woman people=person mice=mouse feet=foot teeth=tooth "
        "knives=knife lives=live leaves=leave indices=index data=data caches=cache "
        "bases=base cases=case uses=use used=use using=use releases=release "
        "merging=merge merged=merge leapt=leap swam=swim swum=swim sang=sing sung=sing "
        "stood=stand slept=sleep spoke=speak spoken=speak shot=shoot cut=cut cutting=cut "
        "dying=die tying=tie boxes=box "
        "called=name named=name titled=name biggest=big better=good best=good worse=bad worst=bad"
    ).split()
)


def stem(word: str) -> str:
    """Reduce an English inflection to a shared key ("running", "runs" -> "run")."""
    word = IRREGULAR.get(word, word)
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("ly") and len(word) > 6:
        word = word[:-4] if word.endswith("ically") else word[:-2]
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        base = word[: -len(ending)]
        if word.endswith(ending) and word[-3:] != "eed" and len(base) > 2 and _VOWELS & set(base):
            if base[-1] == base[-2] and base[-1] not in "lsz":
                return base[:-1]
            return base.rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


SYNONYMS: Final = {
    member: group[0]
    for group in (
        [stem(word) for word in line.split()]
        for line in """
        build compile
        repo repository
        database db
        config configuration configure setting conf
        environment env
        folder directory dir
        production prod live-site
        authentication auth authenticate
        authorization authz authorise authorize
        kubernetes k8s
        javascript js
        typescript ts
        postgres postgresql
        documentation docs doc
        document documented
        locate reside store keep live dwell move relocate
        start boot launch
        require need must
        fail failing fails failure broken break red
        pass passing succeed success green
        deploy deployment deploys rollout ship
        delete erase
        create add
        owner own maintainer maintain responsible maintained owned
        max maximum limit cap most
        min minimum least
        argument parameter arg param
        function method func
        dependency dep dependencies
        package library lib pkg
        error exception
        request req
        person someone somebody human
        jump leap
        big large huge
        small little tiny
        quick fast rapid
        begin commence
        buy purchase
        talk speak
        picture photo image
        car automobile
        bike bicycle
        near beside
        use utilize utilise rely employ
        show display
        change alter modify
        choose select pick
        end finish complete
        film movie
        bug defect
        laptop notebook
        vote ballot
        say announce report state declare claim
        rise increase climb grow gain
        fall decline decrease lower slip drop
        plan intend
        firm company corporation
        approve ratify
        kill slay
        cops police
        telephone phone
        woman lady
        man guy
        follow after
        miss lack
        child kid
        job position role
        mean average
        cost price
        expire expiry expiration ttl
        message msg
        directory folder
        merge merged
        version release
        latest newest
        """.strip().splitlines()
    )
    for member in group
}


def key(word: str) -> str:
    """What a word is compared by: its stem, or the first member of its synonym group."""
    stemmed = stem(word)
    return SYNONYMS.get(stemmed, stemmed)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _stems(text: str) -> frozenset[str]:
    return frozenset(key(word) for word in text.split())


def _rivals(text: str) -> dict[str, frozenset[str]]:
    """Each word of a line against the others of the line; a word may stand on several lines."""
    rivals: dict[str, set[str]] = {}
    for line in text.strip().splitlines():
        keys = {key(word) for word in line.split()}
        for word in keys:
            rivals.setdefault(word, set()).update(keys - {word})
    return {word: frozenset(others) for word, others in rivals.items()}


STOP: Final = _words(
    "a an the this that these those it its itself he she him her his they them their we us our "
    "you your i my me mine i'm i've we've it's you're they're he's she's that's there there's "
    "of to in on at by for with from as about than then so such and or if "
    "be is are was were been being am do does did done has have had having will would can could "
    "shall should may might must which who whom whose what when where while because since also "
    "too very just really quite rather actually currently now today presently still already "
    "yet again here up out off both each per via s t ve re ll d m let lets via within "
    "all every between upon e.g i.e eg ie etc vs please well please"
)
"""Words without content of their own. Some of them are cues that ``reading`` looks at first."""

LIGHT: Final = _stems(
    "use take make get go run set give say tell see new thing way time lot kind some other "
    "more much many like want need work come keep put look think know one own good great "
    "before after over under above below inside outside into onto across along toward towards "
    "around behind beside near against among able way part number amount value "
    "name total about roughly approximately exactly "
    "nearly almost file line code project always usually generally normally typically default"
)
"""Content words too common to show by themselves that two statements share a topic."""

ADDITIVE: Final = _stems(
    "support include contain import handle accept export depend list mention cover read parse "
    "like love enjoy want"
)
"""Verbs with many objects at a time: another object adds, it does not replace."""
PERSONAL_FUNCTIONAL: Final = _stems("live work drive study weigh major")
"""Verbs of which a person has one object at a time ("I work as", "I live in")."""

TYPE_NAMES: Final = _words(
    "str int float bool none null list lists dict dicts tuple tuples string strings integer "
    "integers boolean bytes datetime json yaml xml csv toml"
)
"""Plain words that name a type or format: one in place of another is a correction."""

NEGATORS: Final = _words(
    "not no never none nobody nothing neither nor without cannot can't don't doesn't didn't "
    "isn't aren't wasn't weren't won't wouldn't shouldn't couldn't hasn't haven't hadn't mustn't "
    "needn't ain't dont doesnt isnt arent wont cant unable nowhere nope hardly barely"
)
NEGATIVE_VERBS: Final = _stems("stop remove discontinue abandon cease")
"""Verbs that deny what follows them ("stopped using", "dropped support for")."""

NUMBER_WORDS: Final = {
    word: float(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
} | {
    "thirty": 30.0, "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "seventy": 70.0, "eighty": 80.0,
    "ninety": 90.0, "hundred": 100.0, "thousand": 1e3, "million": 1e6, "once": 1.0, "twice": 2.0,
    "thrice": 3.0, "first": 1.0, "second": 2.0, "third": 3.0, "fourth": 4.0, "fifth": 5.0,
    "sixth": 6.0, "seventh": 7.0, "eighth": 8.0, "ninth": 9.0, "tenth": 10.0, "eleventh": 11.0,
    "twelfth": 12.0, "half": 0.5, "single": 1.0, "pair": 2.0, "couple": 2.0, "dozen": 12.0,
    "double": 2.0, "triple": 3.0,
}  # fmt: skip
FREQUENCIES: Final = {
    "hourly": 24.0, "daily": 1.0, "nightly": 1.0, "weekly": 1 / 7, "fortnightly": 1 / 14,
    "biweekly": 1 / 14, "monthly": 12 / 365.25, "quarterly": 4 / 365.25, "yearly": 1 / 365.25,
    "annually": 1 / 365.25,
}  # fmt: skip
"""How often a day."""

MAGNITUDES: Final = {
    "hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
}  # fmt: skip

UNITS: Final = {
    name: (dimension, factor)
    for dimension, factor, names in (
        ("time", 1e-6, "us µs microsecond microseconds"),
        ("time", 1e-3, "ms msec millisecond milliseconds"),
        ("time", 1.0, "s sec secs second seconds"),
        ("time", 60.0, "min mins minute minutes"),
        ("time", 3600.0, "h hr hrs hour hours"),
        ("time", 86400.0, "d day days"),
        ("time", 604800.0, "week weeks wk wks"),
        ("time", 2629800.0, "month months"),
        ("time", 31557600.0, "year years yr yrs"),
        ("bytes", 1.0, "byte bytes"),
        ("bytes", 1e3, "kb kilobyte kilobytes"),
        ("bytes", 1e6, "mb megabyte megabytes"),
        ("bytes", 1e9, "gb gigabyte gigabytes"),
        ("bytes", 1e12, "tb terabyte terabytes"),
        ("bytes", 1024.0, "kib"),
        ("bytes", 1048576.0, "mib"),
        ("bytes", 1073741824.0, "gib"),
        ("dozen", 1.0, "dozen"),
        ("percent", 1.0, "% percent pct"),
        ("length", 1.0, "m meter meters metre metres"),
        ("length", 1000.0, "km kilometer kilometers kilometre kilometres"),
        ("length", 1609.34, "mile miles"),
        ("mass", 1.0, "kg kgs kilo kilos kilogram kilograms"),
        ("mass", 0.4536, "lb lbs pound pounds"),
        ("rate", 1.0, "rps qps req/s requests/s"),
        ("rate", 1 / 60, "rpm req/min requests/min"),
    )
    for name in names.split()
}
MONEY: Final = _words("$ € £ usd eur gbp dollar dollars euro euros")

OPPOSITES: Final = _rivals(
    """
    enable disable
    on off
    open close
    pass fail
    flaky stable reliable deterministic
    flaky pass
    allow deny forbid block prohibit reject
    accept reject refuse decline
    include exclude
    required optional
    mandatory optional
    public private internal
    sync async
    synchronous asynchronous
    true false
    up down
    online offline
    start stop
    start finish
    begin end
    add remove
    create delete
    install uninstall
    encrypt decrypt
    encrypted plaintext unencrypted
    active inactive archived deprecated
    supported deprecated unsupported
    safe unsafe
    valid invalid
    known unknown
    fast slow
    quick slow
    high low
    big small
    long short
    hot cold cool
    old new
    old young
    early late
    first last
    before after
    above below
    increase fall
    rise fall
    more less fewer
    max min
    ascending descending
    manual automatic
    local remote
    read-only writable read-write
    readonly writable
    mutable immutable
    tabs spaces
    success fail
    healthy unhealthy down
    works broken
    work fail
    fixed broken
    fix open
    resolved open
    merged pending open
    merged closed
    done pending
    finished pending
    blocked unblocked
    empty full
    present absent missing
    exist missing
    singular plural
    same different
    equal different
    inside outside
    indoors outdoors
    love hate dislike
    like hate dislike
    prefer avoid dislike
    always never sometimes rarely
    often rarely never
    skipped run pass
    return raise
    lock unlock
    locked unlocked
    free paid
    cheap expensive
    easy hard difficult
    simple complex
    strict lenient loose
    static dynamic
    stateful stateless
    blocking nonblocking
    serial parallel
    sequential parallel
    monolith microservices
    monorepo polyrepo
    clean dirty
    wet dry
    awake asleep
    stand sit lie
    sit run
    alone together
    married single divorced
    alive dead
    win lose
    push pull
    buy sell
    borrow lend
    accepted rejected
    approved rejected
    approve veto
    verified unverified
    case-sensitive case-insensitive
    major minor
    recommended discouraged deprecated
    encourage discourage
    draft published final
    stable beta alpha experimental
    up-to-date outdated
    latest outdated
    lowercase uppercase
    noisy quiet
    loud quiet
    light dark
    happy sad
    laugh cry
    smile frown
    under above top over
    away towards toward
    inside out
    strong weak
    deep shallow
    thick thin
    wide narrow
    dress undress
    fill drain
    lift lower
    vegetarian carnivore
    single-threaded multi-threaded
    """
)
"""Words that cannot both hold of one thing (every two of one line)."""

CONTRASTS: Final = _rivals(
    """
    staging production development test local ci preview sandbox qa demo
    linux macos windows mac ubuntu debian android ios
    unit integration e2e end-to-end smoke acceptance regression
    frontend backend
    client server
    primary replica secondary
    read write
    get post put delete patch
    input output
    upload download
    request response
    monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december
    spring summer autumn winter
    morning afternoon evening night
    us eu asia europe america
    east west north south
    min max
    soft hard
    source target
    source destination
    parent child
    internal external
    x86 arm64 arm amd64
    debug release
    left right
    mobile desktop web
    kitchen bathroom bedroom garage
    mother father brother sister wife husband son daughter
    admin user guest
    free pro
    upper lower
    weekday weekend
    """
)
"""Qualifiers that name different things of one kind: statements about two of them do not meet."""

FUNCTIONAL: Final = _stems(
    "command port version owner name path url branch timeout limit size format license status "
    "manager runner framework language database engine default host domain address region model "
    "theme color colour indentation style linter formatter formatting tool driver backend "
    "provider registry image tag key level mode schedule deadline threshold capacity budget "
    "editor shell email phone location entrypoint target interval frequency "
    "score salary rent price cost height weight age birthday title role employer leader "
    "reviewer assignee contact priority severity strategy algorithm encoding protocol "
    "transport scheduler broker queue cache store storage cluster bucket endpoint prefix suffix "
    "separator delimiter length width timezone locale currency parser compiler "
    "interpreter orm router bundler logger rate retention retry replicas extension "
    "directory folder module entry root convention preference favorite favourite "
    "cadence duration layout channel team platform cdn"
)
"""Attribute nouns that have one value at a time."""

COMPOUND_PARTS: Final = _words(
    "non self re pre multi anti well semi full real open high low long short end up read case "
    "thread on in off two three four one year day based time level old free safe only out date "
    "sensitive insensitive side wide enabled friendly ready hand first second third line write "
    "type cross sub co ex post over under user all part built follow right left co- step way"
)
"""Parts of hyphenated words that are plain English, not the name of a thing."""

INVERSE_FUNCTIONAL: Final = _stems(
    "own maintain manage lead handle review host serve approve assigned responsible administer "
    "oversee head chair"
)
"""Predicates that one subject has at a time ("X owns billing", "X is the default branch")."""

AUXILIARIES: Final = _words(
    "is are was were be became becomes has have had does do did can could will would shall should "
    "may might must cannot isn't aren't wasn't weren't doesn't don't didn't hasn't won't can't"
)
CLEAR_VERBS: Final = _words(
    "take use require need have live depend expect become own contain include listen prefer like "
    "love hate want expire connect serve keep get go come belong exist produce emit load parse "
    "expose bind speak know remember cover poll sleep wait scale generate respect ignore skip "
    "fetch push wear eat see hear say tell give hold mean allow deny accept reject enable "
    "disable handle provide ensure manage maintain receive send write read apply remain stay sit "
    "resolve replace join add clean delete create install configure render trigger convert "
    "insert publish subscribe consume restart arrive depart appear happen occur"
)
"""Base forms that are verbs wherever they follow a noun."""
NOUN_VERBS: Final = _words(
    "run default deploy start fail pass return support store call build lead cost last retry log "
    "point target work finish begin host ship release crash hang exit validate cache lock rotate "
    "compile import export mount sort pull lint format test check report review approve move "
    "change rename switch upgrade bump migrate raise lower increase reduce set merge close land "
    "revert drop stop limit time spawn flush measure lie stand rest act hand open end block ask "
    "turn show talk walk step score lose win study process queue index sign"
)
"""Base forms that are as often nouns: verbs only when inflected or after a plural."""
PAST_VERBS: Final = _words(
    "took ran wrote kept went got made found said sent spent sat lay drew drove ate fell gave grew "
    "held knew led met paid rose saw sold bought brought taught thought threw told won wore chose "
    "began came caught lost left broke built"
)
PRONOUNS: Final = _words("i you we they he she it i'm i've we've we're you're they're it's there")


def is_finite(word: str, after: str, before: str) -> bool:
    """Whether a lower-case word is read as the finite verb (``before``/``after``: neighbours)."""
    if word in AUXILIARIES or word in PAST_VERBS:
        return True
    if _may_be_verb(after):
        return False
    if word in CLEAR_VERBS:
        return True
    if word in NOUN_VERBS:
        return before.endswith("s") and not before.endswith("ss")
    return _may_be_verb(word)


def is_verbal(word: str) -> bool:
    """Whether a lower-case word at the head of a predicate is a verb or participle."""
    if is_finite(word, "", "") or word in CLEAR_VERBS or word in NOUN_VERBS:
        return True
    return word.endswith("ed") or IRREGULAR.get(word, word) != word


def is_base_verb(word: str) -> bool:
    """Whether a clause that opens with this word is read as an instruction."""
    return word in CLEAR_VERBS or word in NOUN_VERBS or word in ("add", "never", "always")


def _may_be_verb(word: str) -> bool:
    """An inflected form of a known verb, an auxiliary, or a verb that is nothing else."""
    if word in AUXILIARIES or word in PAST_VERBS or word in CLEAR_VERBS:
        return True
    for ending in ("s", "es", "d", "ed"):
        base = word.removesuffix(ending)
        if base != word and (base in CLEAR_VERBS or base in NOUN_VERBS):
            return True
    return word.endswith(("ies", "ied")) and word[:-3] + "y" in NOUN_VERBS


TRANSITIONS: Final = _stems(
    "change switch move migrate rename bump upgrade downgrade raise increase lower drop reduce go "
    "transition port convert shift relocate transfer cut double grow update pass hand"
)
REPLACERS: Final = ("instead of", "rather than", "in place of", "as opposed to", "in favor of")
