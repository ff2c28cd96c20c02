"""What a directive to an agent looks like: the patterns, in many languages, as one table.

Patterns run on folded text (lower case, no accents, plain letters; see ``normalize.fold``), so
``olvida`` and ``vergiss`` are enough and every disguise is gone before they are tried. Patterns
are written with accents where the language has them and lose them when compiled.

Two grades. A ``firm`` rule holds in any frame: nobody describes a repository that way. A ``mild``
rule holds unless the sentence reports what a document, a tool or a person says, since "from now
on run X" is a directive and "CONTRIBUTING.md says to run X from now on" is a fact.
"""

import re
from typing import NamedTuple

from keepthread.validators.normalize import without_marks


class Rule(NamedTuple):
    """A pattern, why it matters in a few words, and whether a report excuses it."""

    why: str
    pattern: re.Pattern[str]
    firm: bool
    narrow: bool  # also holds for plans, decisions and questions, which are imperative anyway


# Where an order can begin: a sentence, a clause, a quotation, a bracket, or after such words.
_START = (
    r"(?:^|[\n.!?:;,>\])}\"'(\[|{*#/=~-]\s*)"
    r"(?:(?:and|then|now|so|also|first|next|finally|please|kindly|actually|instead|always|just"
    r"|simply|immediately|silently|quietly|secretly|you (?:must|should|will|shall|need to|have to"
    r"|are to|can)|must|should|do)[\s,:]+){0,3}"
)
_AGENT = (
    r"(?:ai|a\.i\.|llms?|language models?|assistants?|agents?|chat ?bots?|chat-?gpt|gpt-?[345]\w*"
    r"|claude(?: code)?|copilot|gemini|codex|cursor|bots?|models?)"
)
_KINDS = r"(?:(?:all|any|every|the|other|autonomous|automated|helpful|coding|code|virtual)\s+)*"
_AGENTS = rf"(?:{_KINDS}(?:ai|llm|coding|language|automated)[ -]?(?:assistants?|agents?|models?|systems?|bots?|tools?|reviewers?)?s?|{_KINDS}{_AGENT})"
_VERB = (
    r"(?:accept|act|add|always|answer|append|approve|assume|authorize|avoid|begin|bypass|call"
    r"|change|check|click|clone|commit|connect|consider|copy|create|curl|delete|deploy|disable"
    r"|disclose|do|don't|download|email|embed|enable|end|ensure|execute|export|fetch|follow"
    r"|format|forward|generate|get|give|grant|hide|ignore|import|include|insert|install|invoke"
    r"|keep|list|load|log|mail|make|mark|merge|mention|move|never|obey|omit|only|open|output"
    r"|place|please|post|prefer|prepend|pretend|print|prioritize|promote|provide|publish|pull"
    r"|push|put|query|read|recommend|record|redirect|refer|refuse|reject|remember|remove|rename"
    r"|repeat|replace|reply|report|respond|restart|retrieve|return|reveal|rm|route|run|save|say"
    r"|search|send|set|share|ship|show|sign|skip|start|state|stop|store|submit|suggest|switch"
    r"|tell|transfer|translate|transmit|treat|trust|turn|update|upload|use|visit|wipe|write)"
)
_ORDER = rf"(?:(?:please|also|just|then|you|must|should|will|always|never|only|shall|are to|have to|need to|do not|don't)[\s,]+){{0,4}}{_VERB}\b"
_SECRETS = (
    r"(?:passwords?|passphrases?|credentials?|api[ -]?keys?|secret(?:s| keys?)|private keys?"
    r"|ssh[ -]keys?|id_rsa|access tokens?|auth\w* tokens?|session (?:cookies?|tokens?)|cookies"
    r"|\.env\b|env(?:ironment)? variables|tokens|contacts?|chat history|conversations?"
    r"|system prompt|source code|keychain|wallet|seed phrase|credit cards?)"
)
_ELSEWHERE = r"(?:[\w.+-]{1,64}@[\w-]{1,64}\.\w|https?://|ftp://|wss?://|\battacker|\bwebhook|\bpastebin|\bremote (?:server|host)|\bexternal)"
_GIVEN = r"(?:following|subsequent|below|given|ensuing|provided|next|listed|attached|mentioned|specified|succeeding|forthcoming|accompanying|above|this|these)"
_PIECE = r"(?:snippet|code ?block|block|excerpt|segment|fragment|section|piece|lines|code|script|function)"
_WORK = r"(?:solution|response|answer|output|reply|implementation|code|program|final \w+|work|submission|script)"
_PAST = (
    r"(?:previous|prior|earlier|preceding|above|former|foregoing|existing|original|initial|past"
    r"|old|current|system|safety|security|default|developer'?s?|user'?s?)"
)

_PATTERNS = {
    "overrides earlier instructions": rf"""
        {_START}(?:ignore|disregard|forget|override|overrule|bypass|discard|neglect|skip|drop|cancel|erase|void|abandon|(?:do not|don't|stop) (?:follow|obey|heed|listen)\w*(?: to)?|pay no attention to)\s(?:\w+\s){{0,4}}?(?:{_PAST}|your|all|any|these|those)\s(?:\w+\s){{0,4}}?(?:instructions?|prompts?|directives?|directions|guidelines|orders|commands?|messages|safeguards|guardrails|programming|training|protocols?|tasks?)\b
        {_START}(?:ignore|disregard|forget|override|bypass|drop|break)\s(?:all |any )?(?:of )?(?:your|(?:previous|prior|earlier) (?:user|system|safety))\s(?:\w+\s){{0,2}}(?:rules|polic(?:y|ies)|constraints|restrictions|limits|context|filters?|role|checks|config\w*)\b
        {_START}(?:ignore|disregard|forget)\s(?:about )?(?:everything|all|anything|what)\b[^.\n]{{0,20}}\b(?:above|before|so far|previously|earlier|told|said|you|else|prior)\b
        \b(?:vergiss|ignorier(?:e|en|t)?|missachte\w*|verwirf)\b[^.\n]{{0,40}}\b(?:anweisung|instruktion|vorgabe|regel|befehl|anordnung)\w*
        \b(?:oublie[rz]?|ignore[rz]?|ne tene?z? pas compte|fais abstraction)\b[^.\n]{{0,40}}\b(?:instruction|consigne|directive|regle|ordre)s?\b
        \b(?:olvid[ae]\w*|ignor[ae]\w*|descart[ae]\w*|no (?:hagas caso|sigas))\b[^.\n]{{0,40}}\b(?:instrucci?on|indicaci?on|ordene?|regla|directi[vz])\w*
        \b(?:esque[cç]\w+|ignor[ae]\w*|desconsider\w+)\b[^.\n]{{0,40}}\b(?:instru[cç](?:ao|oes)|ordens|regras|diretrizes|comandos)\b
        \b(?:dimentica\w*|ignora\w*|trascura\w*)\b[^.\n]{{0,40}}\b(?:istruzion[ei]|regole|ordini|direttive|indicazioni)\b
        \b(?:negeer|vergeet)\b[^.\n]{{0,40}}\b(?:instructies|aanwijzingen|opdrachten|regels)\b
        \b(?:zignoruj|ignoruj|zapomnij)\w*[^.\n]{{0,40}}(?:instrukcj|polece[nń]|wytyczn|zasad)\w*
        \b(?:игнорируй|проигнорируй|забудь|отбрось|не следуй|не выполняй)\w*[^.\n]{{0,40}}(?:инструкц|указани|правил|команд|распоряжени)\w*
        \b(?:ігноруй|забудь|проігноруй)\w*[^.\n]{{0,40}}(?:інструкц|вказівк|правил)\w*
        \b(?:onceki|yukaridaki|tum)\b[^.\n]{{0,30}}(?:talimat|yonerge|komut)\w*[^.\n]{{0,20}}(?:yok say|unut|dikkate alma|gormezden)
        (?:忽略|忽视|无视|無視|忘记|忘記|忘掉|不要理会|不要遵守|别管|抛开)[^。\n]{{0,15}}(?:指令|指示|提示|说明|說明|规则|規則|命令|要求|内容)
        (?:指示|命令|指令|プロンプト|ルール|説明)[^。\n]{{0,8}}(?:無視|忘れ|破棄|従わない)|無視して、|忽略以上|忽略之前
        (?:이전|위의|앞의|기존|모든)[^.\n]{{0,12}}(?:지시|명령|지침|프롬프트)[^.\n]{{0,6}}(?:무시|잊)
        (?:तजाहल|तजाहलु|تجاهل|انس)[^.\n]{{0,30}}(?:تعليمات|اوامر|أوامر|توجيهات|الارشادات)
        (?:पिछल|पहले|सभी)[^।\n]{{0,25}}(?:निर्देश|आदेश)[^।\n]{{0,15}}(?:अनदेख|नज़रअंदाज|भूल|अनदेखा)
        \b(?:abaikan|lupakan)\b[^.\n]{{0,30}}\b(?:instruksi|perintah|petunjuk)\b
        \b(?:ignorera|glöm)\b[^.\n]{{0,30}}\b(?:instruktioner|anvisningar)\w*
        (?:bỏ qua|phớt lờ|quên)[^.\n]{{0,30}}(?:hướng dẫn|chỉ thị|lệnh|chỉ dẫn)""",
    "addresses an assistant": rf"""
        (?:^|[\n\"'(\[<>|*#-]\s*)(?:hey|hi|hello|dear|attention|ok|okay|yo|hola|hallo|bonjour)[,:!]?\s+(?:to\s)?{_AGENTS}\s*[,:!.-]
        (?:^|[\n.!\"'(\[<>|*#/-]\s*)(?:important |urgent |special |critical |secret |private |hidden )*(?:note|notice|message|attention|instructions?|reminder|memo|directive|command|warning|request|todo|task|prompt|information|alert)s?\s+(?:to|for|from)\s+{_AGENTS}\b[^.\n:]{{0,60}}?(?:[:!,]|\s-|\bread|\bprocess|\bpars|\bview|\bplease|\byou)
        (?:^|[\n.!\"'(\[<>|*#/-]\s*)(?:ai|llm|agent|assistant|system|model)\s+(?:agent |system |security |maintenance )?(?:notice|directive|instructions?|command|override|message|alert|task|note|prompt|request)s?\s*[:!]
        (?:^|[\n\"'(\[<>|*#/-]\s*)(?:to\s+)?(?:assistant|ai|a\.i\.|llm|chat-?gpt|claude(?: code)?|copilot|gemini|codex|cursor|ai (?:agent|assistant|model)|coding (?:agent|assistant))s?\s*[,:>\]]+\s*{_ORDER}
        (?:^|[\n\"'(\[<>|*#/-]\s*)(?:system|agents?|bot|developer|human|user|admin|root|tool)\s*[:>\]]+\s*(?:you (?:are|must|will|should|shall)\b|(?:please|now|always|never|ignore|disregard|forget|forward|obey)\b)
        <\|?(?:im_start|system|start_header_id|user|assistant)\|?>\s*(?:system|user|assistant)?\W{{0,4}}(?:\w+\W+){{2}}
        (?:\[inst\]|<<sys>>|\[/?system\]|<system[ _-](?:mode|prompt|message|override|reminder|note|instruction)[^>\n]{{0,40}}>|<(?:admin|god|developer|override)[ _-]?mode>)\s*\S
        (?:^|\n)\W{{0,6}}(?:begin |new |end of |start of )?(?:system|hidden|secret|assistant)[ _-](?:prompt|instructions?|override|directive|message)\b\W{{1,4}}\w
        \b(?:system|developer|god|admin|override|jailbreak|debug|unrestricted|maintenance) mode (?:is )?(?:now )?(?:activated|enabled|engaged|initiated|unlocked)\b[^.\n]{{0,20}}(?:[.!:>]|\byou)
        \byou(?: are|'re) (?:now|no longer) (?:(?:a|an|the|in|acting as|operating|bound|dan|free|under|restricted|required)\b)(?:\s\S+){{0,6}}?\s?(?:assistant|agent|ai|mode|bot|model|persona|dan|hacker|expert|restrictions?|rules|rol[el]|by)\b
        \byour (?:new|real|actual|true|only|next|primary|updated|current|sole|secret) (?:task|goal|role|purpose|instructions?|objective|mission|job|directive|action|system prompt|priority) (?:is|are|will|should|:)
        \b(?:du bist (?:jetzt|nun|ab sofort)|tu es (?:maintenant|desormais)|(?:ahora )?eres (?:ahora )?un|agora (?:voce )?e um|ora sei un|ты теперь|отныне ты)\b
        (?:^|[\n\"'(\[<>|*#/-]\s*)(?:note |hinweis |nota |aviso |attention |achtung |an (?:alle )?|para |pour |a |per |al |aos? |внимание,? |для )*(?:ki-?(?:assistent|agent|system|modell)\w*|assistent\w*|asistentes?|assistants? ia|agents? ia|asistentes? de ia|agentes? de ia|assistentes? de ia|assistenti? ia|ассистент\w*|ии-\w+|助手|ai助手|智能体|アシスタント|aiエージェント|어시스턴트)\s*[:,!：，、]
        (?:你现在是|你必须|从现在起你|あなたは今から|あなたは今|당신은 이제)""",
    "asks for secrets or the prompt": rf"""
        {_START}(?:reveal|print|show|output|tell|give|display|repeat|disclose|leak|share|expose|reproduce|write|dump|provide|send|state|list|summarize|translate)\s(?:\w+\s){{0,4}}?your (?:\w+ )?(?:system prompt|(?:initial |hidden |secret |original |full |own )*instructions|prompt|configuration|password|passphrase|secret|credentials|rules|training data)
        {_START}(?:reveal|tell|give|send|share|disclose|hand over|what is|what's|show)\s(?:me|us)\s(?:\w+\s){{0,4}}?{_SECRETS}
        {_START}(?:exfiltrate|leak|steal|harvest)\b[^.\n]{{0,60}}\b{_SECRETS}
        {_START}(?:send|forward|e-?mail|mail|upload|transmit|deliver|leak|exfiltrate|share|copy|dm)\b[^.\n]{{0,80}}{_SECRETS}[^.\n]{{0,60}}\b(?:to|with|at|via)\b[^.\n]{{0,30}}{_ELSEWHERE}
        \b(?:schicke?|sende|envia\w*|envoie\w*|manda\w*|invia\w*|отправ\w*|перешли|发送|送信|보내)[^.\n]{{0,60}}(?:passwo|kennwort|passwor|zugangsdaten|contrasena|clave|credencial|mot de passe|identifiants|senha|credenziali|парол|ключ|учетн|密码|密钥|パスワード|鍵|비밀번호|token)""",
    "demands secrecy towards the user": rf"""
        {_START}(?:do not|don't|never|avoid) (?:\w+ )?(?:tell|inform|mention|notify|alert|reveal|disclose|warn|ask|telling|informing)\w*\s(?:\w+\s){{0,4}}?(?:to |with )?(?:the |any |your )?(?:user|owner|human|developer|operator|reviewer|maintainer|anyone|anybody|customer)s?\b
        {_ORDER}[^.\n]{{0,90}}\bwithout (?:asking|telling|notifying|informing|alerting|mentioning|the knowledge of|(?:user |human |any )?(?:confirmation|approval|consent))\b""",
    "orders future behaviour": rf"""
        \b(?:from (?:now|here|this (?:moment|point|time|day|session)) (?:on(?:wards?)?|forward)|henceforth|hereafter|going forward|(?:in|for) (?:all|any|every|each|your) (?:\w+ )?(?:future|subsequent|later|following|further|upcoming) \w+(?: and \w+)?|for the rest of (?:this|the|your) \w+|as of now|in (?:the )?future),?\s(?:when \w+ \w+ ?\w*,? )?{_ORDER}
        {_START}(?:always|never|only|must|should)\b[^.\n]{{0,120}}\b(?:from now on|henceforth|going forward|in (?:all |any |your )?future (?:\w+ )?(?:sessions?|conversations?|responses?|replies|interactions?|tasks?|runs?|turns?|chats?|answers?))\b
        \b(?:whenever|every time|each time|any time|if|when|next time) (?:the|a|any|your) (?:user|human|owner|operator|customer|developer)\b[^.\n]{{0,60}}\b(?:asks?|says?|mentions?|wants?|requests?|types?|opens?|starts?|queries|responds?|replies)\b[^.\n]{{0,60}}?,?\s(?:{_ORDER})
        \b(?:ab (?:jetzt|sofort|nun)|von nun an|kunftig|in zukunft)\b,?\s(?:immer|nie|niemals|musst|sollst|bitte|nur|verwende|nutze|fuhre|sende|schicke|antworte|empfiehl|fuge|benutze|ignoriere|starte)
        \b(?:desormais|dorenavant|a partir de maintenant|a l'avenir)\b,?\s(?:tu|vous|il faut|toujours|ne|n'|\w+(?:ez|e|s) )
        \b(?:(?:a partir de|de) ahora(?: en adelante)?|desde ahora|en adelante|en lo sucesivo)\b,?\s(?:siempre|nunca|debes|tienes|usa|utiliza|ejecuta|envia|recomienda|responde|no |haz|incluye|anade|agrega)
        \b(?:a partir de agora|de agora em diante|daqui (?:em|para) (?:diante|frente))\b,?\s(?:sempre|nunca|deve|use|execute|envie|recomende|responda|voce|nao|inclua|adicione)
        \b(?:d'ora in (?:poi|avanti)|da (?:ora|adesso) in poi)\b,?\s(?:sempre|mai|devi|usa|esegui|invia|consiglia|rispondi|non|includi|aggiungi)
        \b(?:vanaf nu|voortaan|od teraz|bundan sonra)\b,?\s\w+
        \b(?:с этого момента|отныне|впредь|с этих пор|теперь всегда|відтепер)\b,?\s(?:всегда|никогда|ты|завжди|\w+(?:й|и|йте|ите|ай|уй|яй)\b)
        (?:从现在开始|从现在起|从今以后|今后|以后|從現在開始)[，,]?(?:请|你|都|总是|始终|永远|一律|每次|必须|不要|只|運行|运行|使用|把|将|在|务必)
        (?:今後は?|これからは?|以降は?|これ以降は?)[、,]?[^。\n]{{0,50}}(?:してください|すること|しなさい|せよ|必ず|常に|決して)
        (?:앞으로는?|이제부터|지금부터)[,]?[^.\n]{{0,50}}(?:하세요|하십시오|해라|하라|항상|절대|반드시)
        (?:من الان فصاعدا|من الآن فصاعدا)[،,]?\s\S+
        (?:अब से|आगे से)[,]?\s\S+""",
    "plants a memory": rf"""
        (?:^|[\n.!?;>\"'(\[]\s*)(?:please |always |also |and )*(?:remember|memori[sz]e)(?: this)?(?: (?:for|in) (?:later|the future|all|future)[^.:\n]{{0,30}})?\s?:\s*\S
        {_START}(?:remember|memori[sz]e|never forget|keep in mind|learn|store|save|record|persist|write down)\b[^.\n]{{0,60}}\b(?:the user (?:is|has|prefers|wants|likes|always|never|trusts|approved|authori[sz]ed|said)|(?:is|are|as) (?:an? |the |your )?(?:only |most |very |always |fully |highly )*(?:trusted|trustworthy|authoritative|preferred|approved|pre-approved|authori[sz]ed|reliable|best|safe|whitelisted|credible)\b|you (?:must|should|are)|i (?:am|prefer|want|trust|always|only|like|need|have)|i'm|my )
        {_START}(?:save|store|add|write|commit|put|record|persist|append|inject)\b[^.\n]{{0,60}}\b(?:to|in|into) (?:your|the agent'?s?|the assistant'?s?|long[- ]term|persistent|permanent|its) (?:\w+ )?memor(?:y|ies)\b
        {_START}(?:update|edit|overwrite|clear|erase|wipe|reset|delete) (?:all )?your (?:\w+ )?(?:memor(?:y|ies)|knowledge|beliefs|notes)\b
        (?:^|[\n.!?;:>\"'(\[]\s*)(?:merke? dir|denk daran|recuerda|acuerdate|souviens[- ]toi|rappelle[- ]toi|retiens|lembre-se|lembra-te|memorize|ricorda(?:ti)?|memorizza|запомни|помни|onthoud|zapami[eę]taj|unutma|hatirla)\b[,:]?\s(?:que|dass|che|что|dat|ze|de que|d'|:|\w)
        (?:请记住|请牢记|请记得|记住|記住|記憶して|覚えておいて|기억해)""",
    "gives trust or preference to order": rf"""
        {_START}(?:always |only |never )?(?:recommend|prefer|promote|suggest|cite|endorse|favou?r|trust|advertise|mention|prioriti[sz]e)\b[^.\n]{{0,80}}\b(?:over (?:all|any|other|its|every)|whenever (?:asked|the|a user|someone|you|relevant|possible)|when(?:ever)? (?:asked|users?|the user|people|anyone)|to (?:the|all|every|your) users?|in (?:all|every|each|your) (?:answers?|repl\w+|responses?|recommendations?)|as (?:the |an? )?(?:most |only |best |first )?(?:trusted|authoritative|reliable|primary|top|best|first|default|leading)(?: \w+)?(?: source| choice| option| vendor| provider)?)\b
        \b(?:regard|treat|consider|accept|cite|mark|see)\s[^.\n]{{1,60}}\sas (?:an? |the )?(?:\w+ )?(?:trusted|authoritative|trustworthy|pre-?approved|authori[sz]ed|unquestionable|infallible|verified by the user|from the user)\b""",
    "asks to put given code into its work": rf"""
        \b{_GIVEN}\b[^.\n]{{0,40}}\b{_PIECE}\b[^.\n]{{0,80}}\byour (?:\w+ ){{0,2}}{_WORK}\b[^.\n]{{0,40}}(?::|$|\n)
        \byour (?:\w+ ){{0,2}}{_WORK}\b[^.\n]{{0,80}}\b{_GIVEN}\b[^.\n]{{0,40}}\b{_PIECE}\b[^.\n]{{0,40}}(?::|$|\n)
        \b(?:{_PIECE}|code)\b[^.\n]{{0,120}}:\s*'*\s*\n[^\0]{{0,500}}?\b(?:requests\.|urllib|socket|subprocess|os\.(?:system|remove|environ|popen|kill)|smtplib|ftplib|http\.client|shutil\.rmtree|pynput|winreg|ctypes|child_process|eval\(|exec\(|curl |wget |nohup|rm -rf)""",
    "steers an answer": rf"""
        \b(?:ignore|disregard|forget) (?:the|this|that|all|any|what)\b[^.\n]{{0,60}}\b(?:and|then|,)\s?(?:\w+ )?(?:say|state|output|print|respond|answer|reply|claim|tell|write|report)\b
        \b(?:imagine|suppose|assume|hypothetical\w*|pretend|parallel universe|alternate (?:reality|universe)|in a world where|scenario where|for the (?:purpose|sake) of (?:this|the|argument))\b[^.\n]{{0,110}}\b(?:(?:we|you|i|to)\s(?:\w+\s)?(?:say|state|claim|answer|respond|report|output)|(?:the|your) (?:\w+ ){{1,6}}(?:is|are|could be|would be|should be|might be|as)\b)
        \b(?:say|state|output|answer|respond|reply|conclude|claim|report|tell (?:the user|them|him|her|me|us))\b[^.\n]{{0,30}}\b(?:that )?the (?:\w+ ){{0,5}}(?:is|are|was|will be|should be) (?:\[|\"|')
        {_START}(?:tell|inform|advise|instruct|convince|urge|persuade|ask) (?:the|all|your|every) users? (?:to|that|about|they)\b
        \b(?:please )?(?:output|print|state|say|respond with|reply with|write|include) (?:only )?(?:the )?following\s?(?:text|sentence|message|words|phrase|line|statement)?\s?:
        \b(?:as an (?:authority|expert|administrator|official)\b[^.\n]{{0,40}},?\s?i (?:suggest|order|instruct|command|recommend|want|assure))
        \bi(?: am|'m) (?:your|the|god|an?) (?:\w+ )?(?:developer|creator|admin\w*|owner|god|boss|supervisor|manager|operator|engineer|ceo|maker)\b[^\n]{{0,60}}(?:\byou\b|\bplease\b|\bmust\b|\bneed\b|running)
        \byou must (?:now )?(?:listen to|obey|follow|comply with|do as) (?:my|me|these|this|the (?:following|new))""",
    "asks for an act in someone's name": rf"""
        (?:^|[\n.!?:;,\"'(]\s*)(?:first,? |then,? |also,? |now,? |please,? |kindly |could you |can you |would you |will you |i need you to |i want you to )*(?:please |kindly )?{_VERB}\s[^.\n]{{0,120}}(?<![\w/@.~-])my\s(?=[a-z])(?!(?:app|project|repo|package|module|table|function|script|bucket|cluster|image|container|server|service)\b)
        (?:^|[\n.!?:;,\"'(]\s*)(?:first,? |please,? |kindly |could you |can you |would you )+[^.\n]{{0,100}}(?<![\w/@.~-])(?:my|for me|let's send)(?![\w/.=-])""",
    "orders agents": rf"""
        \b(?:if|when|since|because|as) (?:you are|you're|you,) (?:an? |the )?(?:\w+ ){{0,2}}{_AGENT}\b[^.\n]{{0,90}}?\b(?:you|must|should|please|{_VERB})\b
        \b(?:as|being) an? (?:\w+ )?{_AGENT}\b,? (?:\w+ ){{0,3}}?(?:you|your|i want you|please|must|{_VERB})\b
        \b{_AGENTS} (?:that \w+ \w+ ?\w* ?|reading this |working (?:here|in this \w+) |processing this )*(?:must|should|shall|are (?:required|expected|instructed|asked|ordered|allowed|advised) to|need to|have to|has to|will)\s(?:not |never |always |only |also |now |immediately )*{_VERB}\b
        \byou (?:must|shall|are (?:required|ordered|instructed|obliged|authori[sz]ed|permitted) to)\s(?:not |never |always |now |immediately |only )*(?:obey|comply|forward|transmit|reveal|approve|recommend|reply|respond|answer|say|pretend|mention|disclose|act as)\b""",
    "runs something on every occasion": rf"""
        {_START}(?:(?:always|first|every time|before (?:anything|every|each|any|you)|after (?:every|each))\b[^.\n]{{0,60}}){{1,2}}\b(?:curl|wget|bash|sh)\b[^.\n]{{0,100}}https?://""",
}


# A report of a document, a tool or a person excuses these (see the module's docstring).
_MILD = {
    "orders agents",
    "orders future behaviour",
    "gives trust or preference to order",
    "asks for an act in someone's name",
    "runs something on every occasion",
}
# Plans and decisions may set lasting behaviour and put code somewhere; that is their nature.
_NARROW = {
    "overrides earlier instructions",
    "addresses an assistant",
    "asks for secrets or the prompt",
    "demands secrecy towards the user",
    "plants a memory",
}


def _compiled(why: str, lines: str) -> list[Rule]:
    patterns = filter(None, map(str.strip, without_marks(lines).split("\n")))
    return [Rule(why, re.compile(each), why not in _MILD, why in _NARROW) for each in patterns]


RULES = [rule for why, lines in _PATTERNS.items() for rule in _compiled(why, lines)]

# Who may be quoted, and by which words, in a sentence that reports.
_SOURCE = (
    r"(?:[\w./-]{1,60}\.(?:md|mdx|rst|txt|adoc|toml|ya?ml|py|cfg|ini|json|jsonl|js|ts|go|rs|sh|html"
    r"|lock)\b|readme|contributing|changelog|docs?|documentation|guide(?:lines?)?|manual|handbook"
    r"|wiki|runbook|comments?|docstring|issue|pr|ticket|commit|maintainers?|authors?|reviewers?"
    r"|team|template|policy|page|site|article|post|errors?|warning|messages?|output|hint|notice"
    r"|pip|npm|yarn|pnpm|git|cargo|uv|poetry|ruff|mypy|eslint|pytest|docker|kubectl|terraform"
    r"|make(?:file)?|ci|workflow|job|hook|linter|compiler|tests?|script|tool|help|usage|config"
    r"|section|step|header|log|release notes|instructions|agents|claude|spec|rfc|users?|he|she"
    r"|they|it|server|cli|api|prompt|banner|codeowners|schema|parser|function)"
)
_REPORTS = (
    r"(?:says?|said|saying|asks?|asked|tells?|told|requires?|required|recommends?|recommended"
    r"|suggests?|suggested|states?|stated|notes?|noted|advises?|instructs?|instructed|wants?"
    r"|expects?|warns?|reads?|mentions?|documents?|documented|lists?|describes?|explains?|prints?"
    r"|shows?|reports?|contains?|forbids?|demands?|insists?|announces?|proposes?|directs?|has)"
)
_FRAMES = [
    rf"\b{_SOURCE}\b['\")\]]*(?:\s[^\s.!?]+){{0,6}}?\s(?:{_REPORTS})\b",
    rf"\b(?:according to|as per|per|as stated in|quot\w+ (?:from )?|in|from) (?:the |our |their |its )?"
    rf"(?:\S+ ){{0,3}}?{_SOURCE}\b",
    rf"\b{_REPORTS} (?:the |our |their |its )?(?:\S+ ){{0,3}}?{_SOURCE}\b",
    r"\b(?:laut|gemass|steht in|selon|d'apres|segun|dice el|conforme o|de acordo com o|secondo"
    r"|согласно|в файле)\b|によると|には.{0,80}と(?:ある|書)|根据|按照|에 따르면",
]
REPORT = re.compile("|".join(_FRAMES))

# Words of people who talk about attacks rather than make them.
ABOUT_ATTACKS = re.compile(
    r"\b(?:injections?|jailbreak\w*|attacks?|attackers?|payloads?|malicious|phishing|exploits?"
    r"|poison\w*|adversarial|tests?|test_\w+|fixtures?|corpus|regex|patterns?|filters?|detect\w*"
    r"|block(?:s|ed)|reject(?:s|ed)|refus\w+|flag(?:s|ged)|catch(?:es)|caught|sanitiz\w+|strips"
    r"|strings?|phrases?|literal|keywords?|samples?|scanner|rule)\b"
)
