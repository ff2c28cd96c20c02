"""What words mean to the judge: stems, synonyms, opposites, and nouns that have one value.

Data for ``tokens``, ``alignment`` and ``conflicts``; nothing here decides. Lists of content words
hold keys (see :func:`key`).
"""

from functools import lru_cache
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
    if word.endswith(("ies", "ied")):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        base = word[: -len(ending)]
        if word.endswith(ending) and word[-3:] != "eed" and len(base) > 2 and _VOWELS & set(base):
            if base[-1] == base[-2] and base[-1] not in "lsz" and len(base) > 3:
                return base[:-1]
            return base.rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


SYNONYMS: Final = {
    member: group[0]
    for group in (
        [stem(word) for word in line.split()]
        for line in """
        build compile
        repo repository project codebase
    app application
    honor honour
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
        floor ground
        plane airplane aircraft jet
        cook chef
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


@lru_cache(maxsize=1 << 14)
def key(word: str) -> str:
    """What a word is compared by: its stem, or the first member of its synonym group."""
    stemmed = stem(word)
    return SYNONYMS.get(stemmed, stemmed)


def words(text: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(text.split())


def keys(text: str) -> frozenset[str]:
    """The keys of a list of words."""
    return frozenset(key(word) for word in text.split())


def _rivals(text: str) -> dict[str, frozenset[str]]:
    """Each word of a line against the others of the line; a word may stand on several lines."""
    rivals: dict[str, set[str]] = {}
    for line in text.strip().splitlines():
        keys = {key(word) for word in line.split()}
        for word in keys:
            rivals.setdefault(word, set()).update(keys - {word})
    return {word: frozenset(others) for word, others in rivals.items()}


LIGHT: Final = keys(
    "use take make get go run set give say tell see new thing way time lot kind some other "
    "more much many like want need work come keep put look think know one own good great "
    "before after over under above below inside outside into onto across along toward towards "
    "around behind beside near against among able way part group wear number amount value "
    "name total about roughly approximately exactly "
    "nearly almost file line code always usually generally normally typically default"
)
"""Content words too common to show by themselves that two statements share a topic."""

ADDITIVE: Final = keys(
    "support include contain import handle accept export depend list mention cover read parse "
    "define implement describe like love enjoy want dislike"
)
"""Verbs with many objects at a time: another object adds, it does not replace."""

REPEATABLE: Final = keys(
    "fail pass work break crash hang reproduce happen occur appear test support verify"
)
"""Verbs that hold in many cases at a time: "fails on Linux" and "fails on macOS" are two facts."""

PERSONAL_FUNCTIONAL: Final = keys("live work drive study weigh major")
"""Verbs of which a person has one object at a time ("I work as", "I live in")."""

TYPE_NAMES: Final = words(
    "str int float bool none null list lists dict dicts tuple tuples string strings integer "
    "integers boolean bytes datetime json yaml xml csv toml"
)
"""Plain words that name a type or format: one in place of another is a correction."""

OPPOSITES: Final = _rivals(
    """
    enable disable
    on off
    enable off
    disable on
    skip reject
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
    hand automatic
    paused running
    stopped running
    pause resume
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
    ignore respect
    ignore honor
    ignore read
    ignore use
    ignore obey
    hold release
    acquire release
    stay leave
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

KINDS: Final = {
    key(general): keys(special)
    for general, special in (
        ("person", "man woman boy girl kid child lady guy adult biker player people"),
        ("kid", "boy girl toddler"),
        ("animal", "dog cat horse puppy kitten"),
        ("instrument", "guitar piano flute drum violin"),
        ("vehicle", "car truck bus bike motorcycle"),
        ("cut", "slice chop"),
        ("fruit", "apple orange banana"),
    )
}
"""A general word and special ones that it may stand for."""

CONTRASTS: Final = _rivals(
    """
    staging production development test local ci preview sandbox qa demo
    linux macos windows mac ubuntu debian android ios
    unit integration e2e end-to-end smoke acceptance regression
    frontend backend
    client server browser
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
    old new
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

FUNCTIONAL: Final = keys(
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

ROLES: Final = keys(
    "endpoint queue cache cluster bucket store storage scheduler broker database runner driver "
    "tool engine framework compiler interpreter parser module image registry logger backend "
    "platform channel team host domain folder directory router bundler linter formatter provider"
)
"""Nouns of FUNCTIONAL that also name a thing with many properties ("the cache is slow")."""

COMPOUND_PARTS: Final = words(
    "non self re pre multi anti well semi full real open high low long short end up read case "
    "thread on in off two three four one year day based time level old free safe only out date "
    "sensitive insensitive side wide enabled friendly ready hand first second third line write "
    "type cross sub co ex post over under user all part built follow right left co- step way"
)
"""Parts of hyphenated words that are plain English, not the name of a thing."""

INVERSE_FUNCTIONAL: Final = keys(
    "own maintain manage lead handle review approve assigned responsible administer oversee head "
    "chair"
)
"""Predicates that one subject has at a time ("X owns billing", "X is the default branch")."""
