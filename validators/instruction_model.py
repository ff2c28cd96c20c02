"""A small linear model: does a sentence direct a reader, or describe the world?

Logistic regression over hashed words and word pairs, stems, a score of word classes (who is
addressed, what is asked, where it is to go) and pairs of those classes. ``evals/training``
holds its sentences and the script that fits it; inference is plain Python. The weights are one
signed byte a bucket, loaded when first needed.
"""

import base64
import json
import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from keepthread.validators.directives import REPORT
from keepthread.validators.normalize import without_marks

BUCKETS = 1 << 16
MODEL_PATH = Path(__file__).parent / "data" / "instruction_model.json"
SEGMENT_MAX = 400  # characters; a longer sentence is cut
SEGMENTS_MAX = 60
TOKENS_MAX = 80

_TOKEN = re.compile(
    r"(?P<URL>\b(?:https?|ftp|s3)://\S+)|(?P<EMAIL>[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+)"
    r"|(?P<FLAG>(?<!\w)--?[a-z][\w-]*)|(?P<CODE>\$\{?\w+|\w+\(\)?|\w+[_:=]{1,2}\w[\w:=-]*)"
    r"|(?P<PATH>[\w~.-]*/[\w./*{}-]+|\b\w[\w-]*\.(?:[a-z]{2,5}|[0-9][\w.]*)\b)"
    r"|(?P<MONEY>[$€£]\s?\d[\d.,]*)|(?P<NUM>\d[\w.,:%-]*)|(?P<WORD>[^\W\d_]+(?:'[a-z]{1,2}\b)?)|(?P<MARK>[!?:])"
)
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n|(?<=[。！？])")
_DATA = re.compile(r"[\"']\s?[:,]\s?[\"'{\[]|</?[a-z!][^<>]{0,80}>")
_DATA_EDGE = re.compile(r"(?<=[\w.!?)\]])[\"']\s*[,:}\]]\s*[\"'{\[]*|\{[\"']|[:\[]\s*[\"']|<[^<>]{0,200}>|<!--|-->")

# Word classes; a trailing hyphen matches any ending. Accents are folded when compiled.
_CLASSES = {
    "please": "please kindly bitte veuillez merci пожалуйста 请 请把 ください 주세요 세요 pls",
    "mine": "my mine mein- meu minha meus minhas mio miei mio mia mes mon mis mi мой мои моя мою моего моих 我的 私の 내 mijn moje moich",
    "me": "me i i'm i've i'll mir mich moi mim мне меня 我 私",
    "you": "you you're you'll du dir dich tu te toi usted voce ты тебя 你 您 あなた 당신 je jou",
    "your": "your yours dein- ihre ihren ton ta tes votre vos tus seu sua tuo tua твой твои твою 你的 jouw",
    "user": "user users user's benutzer- nutzer- utilisateur- usuari- utent- пользовател- 用户 ユーザー 사용자 gebruiker uzytkownik-",
    "agent": "assistant- ai llm llms agent agents agente- agentes chatbot- bot model models claude copilot chatgpt gpt gemini codex cursor asistent- asistente- assistente- assistenti ki ia ассистент- ии 助手 智能体 アシスタント エージェント 어시스턴트",
    "send": "send sends sending forward forwards email emailing e-mail mail transmit upload post share exfiltrate text schicke- sende- leite weiterleiten envoie- envoyez transfere- transmettez partage- envia- envie- reenvia- reenvie- comparte- encaminhe- invia- inoltra- отправ- перешли- 发送 发给 转发 送って 送信 転送 보내 stuur wyslij gonder",
    "private": "password- passphrase- passcode credential- secret- token tokens key keys cookie- contact contacts history account- bank- card cards medical health prescription- genetic genome address details profile- salary tax statement personal private sensitive passwort kennwort zugangsdaten schlussel mot contrasena clave- senha- chave- credenzial- парол- ключ- 密码 密钥 联系人 账户 パスワード 鍵 口座 連絡先 비밀번호 hasl- klucz- wachtwoord parola- env .env conversation conversations transcript prompt",
    "act": "unlock lock open close turn switch transfer deposit withdraw pay wire buy purchase order book schedule cancel reschedule grant guide drive play redirect reroute subscribe apply accept decline leave join overweise- offne entsperre vire- paie- transfiere- paga- pague transfira abre desbloquea ouvrir deverrouiller trasferisci открой разблокируй переведи заплати 转账 支付 打开 解锁 振り込んで 開けて",
    "thing": "door doors garage gate car light lights lamp thermostat heating oven speaker alarm camera robot vacuum drone traffic signal appointment doctor dentist patient prescription flight hotel shipment parcel package bitcoin btc eth usd dollars euros loan payee payees wallet friend friends boss lawyer advisor accountant home house kitchen bedroom bathroom tur haustur porte puerta porta дверь гараж 门 玄関 문",
    "get": "get retrieve fetch retrive find search look check list download collect pull read access",
    "future": "henceforth onwards future forever always never everytime whenever ab kunftig immer niemals desormais toujours jamais siempre nunca adelante sempre всегда никогда отныне впредь 从现在开始 以后 总是 一律 今後 必ず 常に 항상 이제부터 altijd voortaan zawsze",
    "every": "every each whenever any all",
    "memory": "remember remembers memory memories memorise memorize recall forget note merke denk souviens retiens recuerda memoriza lembre ricorda запомни помни 记住 覚えて 記憶 기억 onthoud zapamietaj",
    "override": "ignore disregard override overrides bypass forget supersedes overrule vergiss ignoriere ignore- oublie- ignora- olvida- esqueca dimentica игнорируй забудь 忽略 无视 無視 무시 negeer zignoruj",
    "orders": "instruction instructions directive directives orders rules prompt guidelines command commands anweisung- regeln instrucciones instrucoes istruzioni consignes инструкц- указания 指令 指示 提示 命令 지시 instructies instrukcje polecenia talimat-",
    "secrecy": "silently secretly quietly hide conceal hidden anyone nobody unnoticed tell telling inform informing mention asking notifying sage verrate dis diga digas conte говори сообщай 告诉 言わないで 알리지",
    "harm": "rm curl wget sudo disable bypass backdoor wipe delete erase remove force unrestricted malware miner chmod skip",
    "check": "test tests review reviews scan check checks verification signature firewall sandbox confirmation approval hooks 2fa two-factor validation",
    "urgent": "urgent urgently immediately now critical priority must important attention warning sofort maintenant ahora agora subito сейчас 立即 必须",
    "trust": "trusted trust trustworthy authoritative approved preferred reliable recommend recommends promote prefer suggest favourite best vertrau- fiable confianza confianca affidabile надежн- 可信 推荐 信頼 추천",
    "say": "say state claim answer respond reply output conclude report print write summarise summarize mention declare dis di declara скажи сообщи 输出 回答 出力 출력",
    "answer": "answer answers reply replies response responses output summary solution implementation antwort reponse- respuesta- resposta- risposta- ответ- 回答 回复",
    "imagine": "imagine suppose hypothetically assume pretend hypothetical scenario universe roleplay role-play act behave",
    "boss": "developer creator administrator admin supervisor god boss owner authority expert root ceo",
    "mode": "mode activated unlocked dan jailbreak jailbroken unrestricted",
    "insert": "include insert embed incorporate integrate blend merge weave append add place put use utilise utilize ensure",
    "snippet": "snippet excerpt block fragment code segment lines following subsequent below",
    "vendor": "product products vendor brand shop store newsletter subscription offer free prize click link visit website donate vote",
    "docs": "see note usage example examples default defaults option options flag flags parameter argument config configuration file files directory installed install version versions command commands build tests branch release package dependency dependencies documentation changelog readme supports returns requires raises deprecated",
    "third": "is are was were has have does returns uses runs supports requires contains accepts raises fails reads takes defaults lives creates stores sends ist sind wird est sont es son e sono является 是 である 이다",
}
_LEAD = re.compile(
    r"^[\W_]*(?:(?:please|kindly|first|then|now|also|and|so|can you|could you|would you|will you"
    r"|i need you to|bitte|por favor|merci de|veuillez)[\s,:]+){0,3}([^\W\d_]+)"
)
_IMPERATIVES = frozenset(
    """accept act activate add address adjust answer append apply approve archive arrange ask assume
    attack avoid ban begin believe block book broadcast build bump buy bypass call cancel change
    check choose claim clear click clone close collect commit compare compose conceal conclude
    configure confirm connect consider convert copy create declare decline define delete deploy
    deposit describe disable disclose dispatch display disregard do donate download draft drop dump
    edit email embed enable encode end ensure enter erase execute expect export expose extend fetch
    fill find fix follow force forget fork format forward fund generate get give go grant guide
    hand hide ignore implement import include increase inform initiate insert inspect install
    integrate invite invoke issue join keep launch learn leave let like limit link list load lock
    log look lower mail make mark memorise memorize mention merge message modify monitor mount move
    mute name note obey offer omit open order output override pass paste pause pay pick pin place
    play poll post prefer prepend prescribe present press pretend print prioritise prioritize
    probe promote provide publish pull purchase push put query quit raise rank rate read reboot
    rebuild recommend record redirect refer refund refuse register reject release remember remind
    remove rename repeat replace reply report request reroute reschedule reserve reset respond
    restart retrieve return reveal review revoke rewrite rotate route run save say scan schedule
    search see sell send set share ship show shut sign skip start state stay steal stop store
    stream submit subscribe substitute suggest summarise summarize switch take tell terminate test
    text track transfer translate transmit treat trust try turn tweet uninstall unlock unmute
    unsubscribe update upgrade upload use utilise utilize validate verify view visit wait watch
    wipe wire withdraw work wrap write""".split()
)
_ADVERBS = re.compile(
    r"^[\W_]*(?:(?:please|kindly|first|then|now|also|and|so|next|finally|always|never|only|just"
    r"|do not|don't|instead|silently|immediately|simply|optionally|can you|could you|would you"
    r"|will you|let's|let us|i need you to|i want you to|you must|you should|you will|you have to"
    r"|you need to|you can|you may)[\s,:]+){0,4}([^\W\d_]+)"
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|did|will be|can be|may be|must be|should be|[a-z]{3,}"
    r"(?:ed|[^su]s))\b"
)
# Words after which a verb is an order ("and send it"), where elsewhere it may be a noun.
_BEFORE_ORDERS = frozenset(
    """and then to please kindly you must should shall will always never only not also just instead
    or now : ! don't silently immediately first und y et e i en bitte favor ve и""".split()
)
_ASKS = re.compile(r"\b(?:can|could|would|will) you\b|\bi (?:need|want|order|would like) you\b")
_PURPOSE = re.compile(r"^(?:to|if you|when|whenever|before|after|for|in order to)\b")
_FLAGS = {
    "asks": _ASKS,
    "purpose": _PURPOSE,
    "report": REPORT,
    "private file": re.compile(r"\.ssh\b|id_rsa|\.env\b|\.aws\b|\.netrc|/etc/(?:passwd|shadow)|\benv\b"),
    "must": re.compile(r"\byou (?:must|should|shall|need to|have to|are to|will)\b"),
    "question": re.compile(r"\?\W*$"),
    "command": re.compile(r"\b(?:curl|wget|bash|sh|sudo|rm -|chmod|eval|base64)\b"),
    "no one": re.compile(r"\b(?:without|no one|nobody|anyone|before \w+ (?:notices|sees))\b"),
    "your work": re.compile(
        r"\byour (?:\w+ )?(?:answers?|repl(?:y|ies)|responses?|outputs?|solution|implementation"
        r"|code|summary|report|instructions|prompt|task|goal|purpose|role|rules|memory)\b"
    ),
    "from now": re.compile(r"\bfrom (?:now|this|here)\b|\bgoing forward\b|\bnext time\b"),
    "the user": re.compile(r"\bthe (?:user|owner)\b|\bdem (?:be)?nutzer\b|\bal usuario\b"),
    "to": re.compile(r"\b(?:to|with|at|an|a|para|на|к)\s(?:[\w.+-]+@|https?:|\+?\d{6})"),
    "id": re.compile(r"\b(?:id|account|number|iban|card)\b[\s#:'\"(]*[\w-]*\d|#\d"),
    "without": re.compile(r"\bwithout \w+ing\b|\bohne zu\b|\bsans \w+er\b|\bsin \w+r\b"),
    "header": re.compile(r"^[\w ]{2,30}:\s"),
}


class Model(NamedTuple):
    """Weights as signed bytes in units of ``scale``, and the bias."""

    weights: memoryview
    scale: float
    bias: float


@cache
def load() -> Model:
    """Return the shipped model (about 80 kB on disk)."""
    stored = json.loads(MODEL_PATH.read_text(encoding="ascii"))
    weights = memoryview(base64.b85decode(stored["weights"])).cast("b")
    return Model(weights, float(stored["scale"]), float(stored["bias"]))


def score(folded: str) -> float:
    """Return the probability (0 to 1) that the most directive sentence of a folded text directs."""
    return max(map(score_sentence, sentences(folded)), default=0.0)


def score_sentence(sentence: str) -> float:
    """Return the probability that one folded sentence directs a reader."""
    model = load()
    total = sum(model.weights[bucket] * value for bucket, value in features(sentence).items())
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, model.bias + model.scale * total))))


def sentences(folded: str) -> Iterator[str]:
    """Yield the sentences of a folded text; of JSON and markup, the values."""
    edges = _DATA_EDGE if len(_DATA.findall(folded[:2000])) >= 2 else None
    count = 0
    for sentence in _SENTENCE.split(folded):
        for part in edges.split(sentence) if edges else (sentence,):
            part = part.strip()
            if len(part) >= 6:
                yield part[:SEGMENT_MAX]
                count += 1
            if count >= SEGMENTS_MAX:
                return


def features(sentence: str) -> dict[int, float]:
    """Return the sentence's features as hash bucket to value.

    Words and pairs share one unit of length, so that long sentences do not weigh more; classes
    and their pairs count one each.
    """
    tokens = _tokens(sentence)
    words = ["^", *tokens, "$"]
    grams = [f"w {token}" for token in tokens]
    grams += [f"b {left} {right}" for left, right in zip(words, words[1:], strict=False)]
    grams += [f"s {token[:5]}" for token in tokens if len(token) > 5 and token.islower()]
    grams.append("l " + " ".join(words[:3]))
    unit = 1.0 / math.sqrt(len(grams))
    found = {bucket(gram): unit * 4.0 for gram in grams}
    classes = sorted(_classes(sentence, tokens))
    for index, name in enumerate(classes):
        found[bucket(f"c {name}")] = 1.0
        for other in classes[index + 1 :]:
            found[bucket(f"p {name} {other}")] = 0.5
    return found


def bucket(name: str) -> int:
    """Return the hash bucket of a feature's name."""
    return crc32(name.encode()) % BUCKETS


def _tokens(sentence: str) -> list[str]:
    tokens: list[str] = []
    for match in _TOKEN.finditer(sentence):
        kind, token = match.lastgroup or "", match.group()
        if kind not in ("WORD", "MARK"):
            tokens.append(kind)
        elif _DENSE.match(token):
            tokens += [token[at : at + 2] for at in range(max(1, len(token) - 1))]
        else:
            tokens.append(token)
        if len(tokens) >= TOKENS_MAX:
            break
    return tokens


@cache
def _lexicon() -> tuple[dict[str, list[str]], dict[str, list[str]], list[tuple[str, str]]]:
    """Return classes by whole word, by five-letter-or-shorter stem, and by run of CJK letters."""
    exact: dict[str, list[str]] = {}
    stems: dict[str, list[str]] = {}
    dense: list[tuple[str, str]] = []
    for name, line in _CLASSES.items():
        for word in without_marks(line).lower().split():
            if _DENSE.match(word):
                dense.append((word, name))
            elif word.endswith("-"):
                stems.setdefault(word[:-1], []).append(name)
            else:
                exact.setdefault(word, []).append(name)
    return exact, stems, dense


def _classes(sentence: str, tokens: list[str]) -> set[str]:
    exact, stems, dense = _lexicon()
    found = {name for name, pattern in _FLAGS.items() if pattern.search(sentence)}
    for before, token in zip(["and", *tokens], tokens, strict=False):
        if token.isupper():
            found.add(token)
            continue
        names = list(exact.get(token, ()))
        for size in range(3, len(token) + 1):
            names += stems.get(token[:size], ())
        found.update(f"{name}!" if before in _BEFORE_ORDERS else name for name in names)
    if _DENSE.search(sentence):
        found.update(name for word, name in dense if word in sentence)
    order = _ADVERBS.match(sentence)
    if order and order[1] in _IMPERATIVES:
        found.add("imperative")
    elif _FINITE.search(sentence):
        found.add("statement")
    lead = _LEAD.match(sentence)
    if lead:
        found.update(f"lead {name}" for name in exact.get(lead[1], ()))
    return found
