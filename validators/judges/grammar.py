"""Closed classes of English: function words, negations, and the verbs that end a subject."""

from typing import Final

from keepthread.validators.judges.lexicon import IRREGULAR, keys, stem, words

STOP: Final = words(
    "a an the this that these those it its itself he she him her his they them their we us our "
    "you your i my me mine i'm i've we've it's you're they're he's she's that's there there's "
    "of to in on at by for with from as about than then so such and or if "
    "i'd i'll you'll you'd we'll we'd they'll they'd he'd he'll she'd she'll it'll who's what's "
    "be is are was were been being am do does did done has have had having will would can could "
    "shall should may might must which who whom whose what when where while because since also "
    "too very just really quite rather actually currently now today presently still already "
    "yet again here up out off both each per via s t ve re ll d m let lets via within "
    "all every any anymore between upon e.g i.e eg ie etc vs please well please"
)
"""Words without content of their own. Some of them are cues that ``reading`` looks at first."""

NEGATORS: Final = words(
    "not no never none nobody nothing neither nor without cannot can't don't doesn't didn't "
    "isn't aren't wasn't weren't won't wouldn't shouldn't couldn't hasn't haven't hadn't mustn't "
    "needn't ain't dont doesnt isnt arent wont cant unable nowhere nope hardly barely"
)

NEGATIVE_VERBS: Final = frozenset(map(stem, "stop remove discontinue abandon cease lack".split()))
"""Stems of verbs that deny what follows them ("stopped using", "lacks support for")."""

AUXILIARIES: Final = words(
    "is are was were be became becomes has have had does do did can could will would shall should "
    "may might must cannot isn't aren't wasn't weren't doesn't don't didn't hasn't won't can't"
)

CLEAR_VERBS: Final = words(
    "take use require need have live depend expect become own contain include listen prefer like "
    "love hate want expire connect serve keep get go come belong exist produce emit load parse "
    "expose bind speak know remember cover poll sleep wait scale generate respect ignore skip "
    "fetch push wear eat see hear say tell give hold mean allow deny accept reject enable "
    "disable handle provide ensure manage maintain receive send write read apply remain stay sit "
    "resolve replace join add clean delete create install configure render trigger convert "
    "insert publish subscribe consume restart arrive depart appear happen occur lack"
)
"""Base forms that are verbs wherever they follow a noun."""

NOUN_VERBS: Final = words(
    "run default deploy start fail pass return support store call build lead cost last retry log "
    "point target work finish begin host ship release crash hang exit validate cache lock rotate "
    "compile import export mount sort pull lint format test check report review approve move "
    "change rename switch upgrade bump migrate raise lower increase reduce set merge close land "
    "revert drop stop limit time spawn flush measure lie stand rest act hand open end block ask "
    "turn show talk walk step score lose win study process queue index sign"
)
"""Base forms that are as often nouns: verbs only when inflected or after a plural."""

PAST_VERBS: Final = words(
    "took ran wrote kept went got made found said sent spent sat lay drew drove ate fell gave grew "
    "held knew led met paid rose saw sold bought brought taught thought threw told won wore chose "
    "began came caught lost left broke built"
)

PRONOUNS: Final = words("i you we they he she it i'm i've we've we're you're they're it's there")

TRANSITIONS: Final = keys(
    "change switch move migrate rename bump upgrade downgrade raise increase lower drop reduce go "
    "transition port convert shift relocate transfer cut double grow update pass hand"
)

REPLACERS: Final = ("instead of", "rather than", "in place of", "as opposed to", "in favor of")


DETERMINERS: Final = words("the a an all each every any no some our my your its these those this")


def is_finite(word: str, after: str, before: str) -> bool:
    """Whether a lower-case word is read as the finite verb (``before``/``after``: neighbours)."""
    if word in AUXILIARIES or word in PAST_VERBS:
        return True
    if _may_be_verb(after) or before in DETERMINERS:
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
