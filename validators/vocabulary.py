"""Words as grounding compares them: stems, synonyms, opposites, and words that say nothing.

The tables are small on purpose. They hold the everyday vocabulary of software work, where the
same thing has two names ("timeout" and "time limit"); rarer paraphrase is left to embeddings.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

WORD: Final = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|[A-Za-z]")

_STOP: Final = frozenset(
    """
    a about above across actually after all almost alone along already also although always am
    among an and another any anything apart are around as ask asked asks at away back based
    basically be because been before being below beside besides between both briefly but by
    came can cannot clearly come comes could current currently did do does doing done down
    during each either else ensure entire etc even ever every everything everywhere exactly
    few file files finally first fix fixed fixes for from full further get gets given gives
    giving go goes got had happen happens has have having he hence her here higher him his
    hold holds how however i if in indeed isn aren doesn don didn wasn weren hasn haven won wouldn couldn shouldn
    ll ve initially inside insists instead into is it its
    itself just kind last later least less lets level like likely likes look looking looks
    made make makes many may maybe me mention mentions might mode more most much must my
    namely near need needed needs neither never new newer next no none nor not nothing now of
    off often older on once one only onto or other others otherwise our out outside over own
    part per place placed please point points prefer preferred prefers quite ran rather really
    repo repository run running runs said same say says second see seem seems several shall
    she should since so some someone something somewhere soon state stated states still such
    switched take takes telling tells than that the their them then there therefore these they
    thing this those though through thus time times to together told too took toward turned
    under unless until up upon us use used user users uses using usually very via want wants
    was way we well were what when where whereas whether which while who whole whom whose why
    will wishes with within without work went works would yes yet you your
    """.split()
)

# Frame words: they say that something is said, not what. They neither support nor weaken.
_FRAME: Final = frozenset(
    """
    framework runtime machine minute minutes hour hours character characters final overall
    appear applied apply assign assigned assignment assignments attempt biggest branch branches
    call called calling calls change changed changes chart manifest pull workflow
    class clause clauses code codebase command config configure configured contain contained containing contains
    condition correspond define defined defines definition describe described describes dir directory
    edit edited edits entry exact execute executed exist existing exists find finds folder
    found function include included includes including item know known largest latest line
    lines list listed lists locate located look looks loop loops mean means method missing name named
    names newest note observed occur occurs oldest output outputs patch present print printed
    prints project read reads replace replaced replaces report reported reports reproduction
    result results return returned returns script scripts section set sets setting settings
    show showed showing shown shows smallest step steps switch switches text turned type value
    values
    """.split()
)

_IRREGULAR: Final = {
    "ran": "run", "took": "take", "taken": "take", "built": "build", "wrote": "write",
    "written": "write", "found": "find", "made": "make", "gave": "give", "given": "give",
    "kept": "keep", "sent": "send", "threw": "throw", "thrown": "throw", "broke": "break",
    "broken": "break", "began": "begin", "chose": "choose", "chosen": "choose", "held": "hold",
    "went": "go", "gone": "go", "left": "leave", "lost": "lose", "met": "meet", "shown": "show",
    "said": "say", "told": "tell", "saw": "see", "seen": "see", "hid": "hide", "hidden": "hide",
    "caught": "catch", "brought": "bring", "bound": "bind", "indices": "index",
    "argument": "arg", "arguments": "arg", "parameter": "param", "parameters": "param",
    "directory": "dir", "directories": "dir", "configuration": "config",
    "dependencies": "depend", "dependency": "depend", "repository": "repo",
    "environment": "env", "database": "db", "documentation": "doc", "documents": "doc",
    "maximum": "max", "minimum": "min", "authentication": "auth", "production": "prod",
    "development": "dev", "message": "msg", "temporary": "tmp", "synchronous": "sync",
    "asynchronous": "async", "statistics": "stats", "failure": "fail", "failures": "fail",
    "success": "succeed", "successful": "succeed", "successfully": "succeed", "owner": "own",
    "owned": "own", "owns": "own", "initialization": "init", "initialize": "init",
    "initialise": "init", "versions": "version", "properties": "property", "licence": "license",
    "container": "containr", "containers": "containr", "vulnerabilities": "vulnerability",
}  # fmt: skip

_GROUPS: Final = (
    "timeout limit deadline timed", "enable true active on", "disable false inactive off",
    "small tiny little short minimal", "build compile make",
    "error exception fail crash traceback", "arg param option flag keyword",
    "remove delete drop strip rm", "add create introduce insert mkdir touch", "move rename mv",
    "import require depend", "execute invoke start launch", "folder dir",
    "own responsible maintain belong", "prefer like want keep favour favor",
    "revert undo rollback restore", "large big huge", "fast quick", "slow sluggish",
    "stop exit quit terminate end", "module package library", "fix solve repair resolve",
    "check verify validate assert", "test spec suite", "break crash", "uncommitted commit",
    "raise throw", "version release", "change modify edit update", "ask request instruct",
    "intermittent flaky", "skip ignore omit exclude", "host server",
    "forbid disallow prohibit never", "display show print", "number count amount total",
    "url address endpoint", "retry attempt", "pass succeed ok green", "branch checkout",
    "allow permit accept", "got receive actual", "generate gen produce", "doc docstring", "install add",
    "parent base super", "subclass inherit derive extend", "format style", "job step stage",
    "before prior", "password credential", "log record", "wait sleep delay", "cache memoize",
    "deploy ship", "copy duplicate cp", "empty blank none", "equal same identical match",
    "needed require mandatory", "symlink link", "send post", "save store persist", "like enjoy",
    "dislike hate", "money amount price", "fetch get retrieve download", "regex rgx pattern",
    "func function method", "migrate migration", "pool pooling", "loop iterate",
    "skip continue", "catch except handle rescue",
    "column col", "default fallback fall", "author write", "memory mem", "finish done complete",
    "return yield", "convert cast", "unavailable false",
)  # fmt: skip

_OPPOSITES: Final = (
    ("enable", "disable"), ("enabled", "disabled"), ("true", "false"), ("on", "off"),
    ("allow", "deny"), ("allowed", "denied"), ("allowed", "forbidden"),
    ("required", "optional"), ("ascending", "descending"), ("public", "private"),
    ("increase", "decrease"), ("increased", "decreased"), ("always", "never"),
    ("online", "offline"), ("readonly", "writable"), ("valid", "invalid"),
    ("supported", "unsupported"), ("sync", "async"), ("open", "closed"), ("added", "removed"),
    ("adds", "removes"), ("include", "exclude"), ("includes", "excludes"),
    ("included", "excluded"), ("sensitive", "insensitive"), ("mutable", "immutable"),
    ("minimum", "maximum"), ("min", "max"), ("upgrade", "downgrade"),
    ("upgraded", "downgraded"), ("healthy", "unhealthy"), ("yes", "no"), ("client", "server"),
    ("ahead", "behind"), ("up", "down"), ("installed", "missing"), ("lower", "upper"),
    ("lowercase", "uppercase"), ("before", "after"), ("enabled", "false"), ("disabled", "true"),
    ("enabled", "off"), ("disabled", "on"), ("on", "false"), ("off", "true"),
    ("tabs", "spaces"), ("more", "less"), ("like", "dislike"), ("first", "last"),
    ("oldest", "newest"), ("old", "new"), ("short", "long"), ("signed", "unsigned"),
    ("known", "unknown"), ("open", "merged"), ("created", "destroyed"), ("created", "deleted"),
    ("added", "deleted"), ("added", "destroyed"), ("full", "empty"), ("noon", "midnight"),
    ("skip", "overwrite"), ("staging", "production"), ("light", "dark"), ("gpu", "cpu"),
    ("succeeded", "failed"), ("works", "denied"), ("invalid", "ok"), ("invalid", "successful"),
    ("encode", "decode"), ("serialize", "deserialize"), ("push", "pull"), ("left", "right"),
    ("horizontal", "vertical"), ("inbound", "outbound"), ("ingress", "egress"), ("odd", "even"),
    ("internal", "external"), ("primary", "replica"), ("accepted", "rejected"),
    ("approved", "rejected"), ("append", "prepend"), ("minor", "major"), ("nullable", "unique"),
    ("running", "stopped"), ("started", "stopped"), ("locked", "unlocked"), ("active", "failed"),
    ("active", "inactive"), ("running", "dead"), ("active", "dead"), ("merged", "closed"),
    ("keep", "delete"), ("keep", "remove"), ("keep", "drop"), ("add", "drop"), ("add", "remove"),
    ("hold", "release"), ("held", "release"), ("survive", "lost"), ("lazily", "eagerly"), ("forbid", "allow"),
    ("low", "high"), ("returned", "removed"), ("double", "triple"), ("raise", "lower"),
    ("raised", "lowered"), ("raise", "reduce"), ("increase", "lower"), ("healthy", "degraded"),
    ("linear", "exponential"), ("cascade", "restrict"), ("blocking", "nonblocking"), ("stable", "unstable"),
    ("shared", "exclusive"), ("stateless", "stateful"), ("eager", "lazy"), ("strict", "lenient"),
    ("incremental", "full"), ("horizontally", "vertically"), ("anonymous", "authenticated"),
    ("encrypted", "plaintext"), ("encrypted", "unencrypted"), ("dynamic", "static"), ("draft", "published"),
    ("destroyed", "updated"), ("created", "updated"), ("granted", "revoked"), ("subscribed", "unsubscribed"),
)  # fmt: skip

# Of these every synonym of the one is the contrary of every synonym of the other.
_SCALES: Final = (("small", "large"), ("fast", "slow"))


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Reduce an English word to a form that its inflections share ("retries" -> "retri")."""
    word = word.lower()
    word = _IRREGULAR.get(word, word)
    if len(word) <= 3:
        return word
    for suffix, kept in (("sses", "ss"), ("ies", "y"), ("ied", "y")):
        if word.endswith(suffix):
            word = word[: -len(suffix)] + kept
            break
    else:
        if word.endswith(("xes", "zes", "ches", "shes")):
            word = word[:-2]
        elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
            word = word[:-1]
    word = _IRREGULAR.get(word, word)
    for suffix in ("ing", "ed", "ation", "ion", "ment", "able", "ly", "er", "or"):
        rest = word[: -len(suffix)]
        if word.endswith(suffix) and len(rest) >= 3 and any(v in rest for v in "aeiouy"):
            if suffix in ("er", "or", "ion", "able") and len(rest) < 4:
                continue
            word = rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "sl" else rest
            break
    word = word.removesuffix("e").removesuffix("at") if len(word) > 4 else word
    word = word[:-1] if word.endswith("ll") and len(word) > 5 else word
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


_SYNONYMS: Final[dict[str, frozenset[str]]] = {}
for _group in _GROUPS:
    _stems = frozenset(stem(_word) for _word in _group.split())
    for _stem in _stems:
        _SYNONYMS[_stem] = _SYNONYMS.get(_stem, frozenset()) | _stems

_FRAME_STEMS: Final = frozenset(stem(word) for word in _FRAME)
_OPPOSITE: Final[dict[str, frozenset[str]]] = {}
for _a, _b in _OPPOSITES:
    for _one, _other in ((stem(_a), stem(_b)), (stem(_b), stem(_a))):
        _OPPOSITE[_one] = _OPPOSITE.get(_one, frozenset()) | {_other}
for _a, _b in _SCALES:
    for _one, _other in ((stem(_a), stem(_b)), (stem(_b), stem(_a))):
        for _stem in _SYNONYMS[_one]:
            _OPPOSITE[_stem] = _OPPOSITE.get(_stem, frozenset()) | _SYNONYMS[_other]


def synonyms(stemmed: str) -> frozenset[str]:
    """Stems that may stand for ``stemmed``, itself included."""
    return _SYNONYMS.get(stemmed, frozenset()) | {stemmed}


def opposites(stemmed: str) -> frozenset[str]:
    """Stems that say the contrary of ``stemmed``; empty for most words."""
    return _OPPOSITE.get(stemmed, frozenset())


def is_generic(stemmed: str) -> bool:
    """Whether a stem is everyday vocabulary of software work, naming nothing in particular."""
    return stemmed in _SYNONYMS or stemmed in _FRAME_STEMS


def content_words(text: str) -> list[str]:
    """Words of ``text`` that carry meaning, in order, camelCase and snake_case split."""
    return [w for w in WORD.findall(text) if len(w) > 1 and w.lower() not in _STOP]


def is_frame(stemmed: str) -> bool:
    """Whether a stem only says that something is said or done ("shows", "file", "run")."""
    return stemmed in _FRAME_STEMS


_SURFACES: Final[dict[str, tuple[str, ...]]] = {}
for _word in _IRREGULAR:
    _SURFACES[stem(_word)] = (*_SURFACES.get(stem(_word), ()), _word)


@lru_cache(maxsize=4096)
def surface_forms(stemmed: str) -> tuple[tuple[str, Callable[[str], bool]], ...]:
    """Prefixes to look for, each with the test that a whole word must pass, for one stem."""

    def same_stem(word: str) -> bool:
        return stem(word) == stemmed

    own = stemmed[:-1] if stemmed.endswith("i") and len(stemmed) > 3 else stemmed
    return tuple((p, same_stem) for p in (own, *_SURFACES.get(stemmed, ())))


# What stands for a technology in commands, file names and code.
_ALIASES: Final = {
    "tls": "ssl https", "ssl": "tls https", "maven": "mvn pom", "gradle": "gradlew",
    "kubernetes": "k8s kubectl helm kind", "k8s": "kubernetes kubectl helm",
    "postgresql": "postgres psql pg", "postgres": "postgresql psql pg pgpool",
    "javascript": "js", "js": "javascript", "typescript": "ts tsx tsc tsconfig", "ts": "typescript",
    "golang": "go", "go": "golang", "elasticsearch": "elastic", "elastic": "elasticsearch",
    "mongodb": "mongo", "mongo": "mongodb", "windows": "win32", "node": "nodejs npm nvmrc",
    "python": "py pip python3 pyproject", "rust": "cargo rs rustc", "ruby": "rb bundle",
    "docker": "dockerfile", "terraform": "tf", "prometheus": "promql query", "sqlite": "sqlite3",
    "pypi": "pypa pip twine", "github": "gh", "mysql": "mysqld", "http": "https",
}  # fmt: skip


ALIASED: Final = frozenset(_ALIASES)


def aliases(name: str) -> tuple[str, ...]:
    """Other words for a proper name: "k8s" for Kubernetes."""
    return tuple(_ALIASES.get(name.lower(), "").split())
