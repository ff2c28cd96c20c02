"""What secrets look like: tables only, no code that reads text.

``SHAPES`` are tokens that give themselves away by a fixed prefix. The word lists say which labels
announce a secret (``db_password``), which only speak about one (``token_count``), and which
values are stand-ins (``changeme``). Prefixes and lengths are the issuers' published formats;
the floor is the rule set of detect-secrets 1.5.0.
"""

from typing import NamedTuple


class Secret(NamedTuple):
    """``text[start:stop]`` is the value itself, not its label; ``kind`` is short, for people."""

    kind: str
    start: int
    stop: int


class Shape(NamedTuple):
    """A token found by prefix: any of ``prefixes`` (space separated), then the regex ``tail``.

    A match must not be preceded or followed by a letter or digit.
    """

    kind: str
    prefixes: str
    tail: str


class Infix(NamedTuple):
    """A secret found by a fixed part inside it or before it.

    ``pattern`` must begin with ``hint``, or at most ``before`` characters ahead of it; its
    group 1, if it has one, is the secret. ``command`` must stand before it.
    """

    kind: str
    hint: str
    before: int
    pattern: str
    command: str = ""


SHAPES = (
    Shape("aws access key", "AKIA ASIA ABIA ACCA A3T", r"[A-Z0-9]{16,17}"),
    Shape("aws bedrock key", "ABSK", r"[A-Za-z0-9+/]{109,269}={0,2}"),
    Shape("aws bedrock key", "bedrock-api-key-", r"YmVkcm9jay5hbWF6b25hd3MuY29t[\w+/=-]*"),
    Shape("github token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\w{36,255}"),
    Shape("github token", "github_pat_", r"\w{36,255}"),
    Shape(
        "gitlab token",
        "glpat- gldt- glft- glsoat- glrt- glrtr- glcbt- glimt- glptt- glagent- gloas- glffct- "
        "glwt- GR1348941",
        r"[\w-]{20,1024}(?:\.[\w-]{2,16}\.[\w-]{5,16})?",
    ),
    Shape("keepthread token", "keepthread_", r"[\w-]{43}"),
    Shape("gitlab session", "_gitlab_session=", r"[0-9a-z]{32}"),
    Shape("slack token", "xoxb- xoxa- xoxp- xoxo- xoxs- xoxr- xoxe- xoxd- xoxc-",
          r"(?:\d{8,14}-)+[\w-]{8,255}"),
    Shape("slack token", "xoxa- xoxr-", r"(?:\d-)?[0-9A-Za-z]{8,48}"),
    Shape("slack token", "xoxe- xoxe.xoxb- xoxe.xoxp-", r"\d-[A-Za-z0-9]{100,255}"),
    Shape("slack token", "xapp-", r"\d-[A-Za-z0-9]+-\d+-[a-z0-9]{20,128}"),
    Shape(
        "slack webhook",
        "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/",
        r"[\w+/]{20,128}",
    ),
    Shape("discord webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
          r"\d{15,21}/[\w-]{40,100}"),
    Shape("discord token", "MT Mj Mz MD NT Nj Nz ND OT OD",
          r"[\w-]{21,26}\.[\w-]{6}\.[\w-]{27,38}"),
    Shape("stripe key", "sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_ rk_prod_",
          r"[A-Za-z0-9]{10,247}"),
    Shape("stripe webhook secret", "whsec_", r"[A-Za-z0-9+/]{24,128}={0,2}"),
    Shape("twilio key", "AC SK", r"(?=[a-f]*\d)[a-f0-9]{32}"),
    Shape("sendgrid key", "SG.", r"[\w-]{20,24}\.[\w-]{39,50}"),
    Shape("sendgrid key", "SG.", r"[\w=.-]{66}"),
    Shape("mailgun key", "key- pubkey-", r"(?=[a-z]*\d)[a-z0-9]{32}"),
    Shape("sendinblue key", "xkeysib- xsmtpsib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    Shape("npm token", "npm_", r"[A-Za-z0-9]{36,64}"),
    Shape("pypi token", "pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw", r"[\w-]{50,1000}"),
    Shape("rubygems token", "rubygems_", r"[a-f0-9]{48}"),
    Shape("clojars token", "CLOJARS_", r"[A-Za-z0-9]{60}"),
    Shape("crates.io token", "cio", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{32}"),
    Shape("docker token", "dckr_pat_ dckr_oat_", r"[\w-]{27,64}"),
    Shape("anthropic key", "sk-ant-", r"[\w-]{20,200}"),
    Shape("openai key", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"[\w-]{20,250}"),
    Shape("api key", "sk-or-v1- sk-lf- pk-lf- sk-kimi-", r"[\w-]{30,100}"),
    Shape("openai key", "sk-", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{32,64}"),
    Shape("huggingface token", "hf_ api_org_", r"[A-Za-z0-9]{30,60}"),
    Shape("groq key", "gsk_", r"[A-Za-z0-9]{40,64}"),
    Shape("xai key", "xai-", r"[A-Za-z0-9]{60,100}"),
    Shape("perplexity key", "pplx-", r"[A-Za-z0-9]{40,64}"),
    Shape("replicate token", "r8_", r"[A-Za-z0-9]{37,42}"),
    Shape("langsmith key", "lsv2_pt_ lsv2_sk_", r"[a-f0-9]{32}_[a-f0-9]{10}"),
    Shape("tavily key", "tvly-", r"[\w-]{24,64}"),
    Shape("voyage or pinecone key", "pcsk_ pa-", r"\w{40,100}"),
    Shape("google api key", "AIza", r"[\w-]{35}"),
    Shape("google oauth token", "ya29.", r"[\w-]{20,2048}"),
    Shape("google oauth refresh token", "1//0", r"[\w-]{40,200}"),
    Shape("google oauth secret", "GOCSPX-", r"[\w-]{20,40}"),
    Shape("facebook token", "EAAM EAAC EAAB EAAG EAAJ",
          r"[A-Za-z0-9]{60,300}(?![\w+/=-])"),
    Shape("square token", "EAAA", r"[\w-]{56,64}"),
    Shape("square token", "sq0atp- sq0csp- sq0idp-", r"[\w\\-]{22,60}"),
    Shape("paypal token", "access_token$production$ access_token$sandbox$",
          r"[0-9a-z]{16}\$[0-9a-f]{32}"),
    Shape("shopify token", "shpat_ shpca_ shppa_ shpss_ shptka_", r"[A-Fa-f0-9]{32}"),
    Shape("artifactory key", "AKC", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{10,100}(?![\w+/=-])"),
    Shape("artifactory token", "cmVmd", r"[A-Za-z0-9]{59}"),
    Shape("artifactory password", "AP",
          r"(?=[A-Z]{0,8}\d)[0-9A-F][A-Za-z0-9]{16,60}(?![\w+/=-])"),
    Shape("atlassian token", "ATATT3 ATCTT3 ATBB", r"[\w=-]{20,250}"),
    Shape("azure devops token", "AZDO", r"[A-Za-z0-9]{50,84}"),
    Shape("databricks token", "dapi", r"[a-f0-9]{32}(?:-\d)?"),
    Shape("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{64}"),
    Shape("doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[\w.-]{40,64}"),
    Shape("dropbox token", "sl.", r"[\w=-]{130,200}"),
    Shape("duffel token", "duffel_test_ duffel_live_", r"[\w=-]{43}"),
    Shape("dynatrace token", "dt0c01. dt0s01. dt0s02.", r"[A-Z0-9]{8,24}\.[A-Za-z0-9]{64}"),
    Shape("easypost key", "EZAK EZTK", r"[A-Za-z0-9]{54}"),
    Shape("flutterwave key", "FLWSECK_TEST- FLWSECK- FLWPUBK_TEST- FLWPUBK-",
          r"[A-Za-z0-9]{12,32}(?:-X)?"),
    Shape("fly.io token", "fo1_", r"[\w-]{43}"),
    Shape("fly.io token", "fm1a_ fm1r_ fm2_", r"[A-Za-z0-9+/]{100,2000}={0,3}"),
    Shape("frame.io token", "fio-u-", r"[\w=-]{64}"),
    Shape("grafana token", "glc_ eyJrIjoi", r"[A-Za-z0-9+/]{32,400}={0,3}"),
    Shape("grafana token", "glsa_", r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    Shape("vault token", "hvs. hvb. hvr.", r"[\w-]{24,300}"),
    Shape("vault token", "s.", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{24}"),
    Shape("heroku key", "HRKU-", r"[\w-]{36,64}"),
    Shape("harness key", "pat. sat.", r"[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    Shape("infracost key", "ico-", r"[A-Za-z0-9]{32}"),
    Shape("intra42 secret", "s-s4t2ud- s-s4t2af-", r"[a-f0-9]{64}"),
    Shape("linear key", "lin_api_ lin_oauth_", r"[A-Za-z0-9]{40,64}"),
    Shape("new relic key", "NRAK- NRJS- NRII- NRAA- NRRA-", r"[\w-]{18,40}"),
    Shape("notion token", "ntn_", r"[A-Za-z0-9]{40,60}"),
    Shape("notion token", "secret_", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{43}"),
    Shape("octopus key", "API-", r"(?=[A-Z]*\d)[A-Z0-9]{25,27}"),
    Shape("1password token", "ops_eyJ", r"[\w+/-]{100,2000}={0,3}"),
    Shape("1password secret key", "A3-",
          r"[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3}"),
    Shape("age key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    Shape("openshift token", "sha256~", r"[\w-]{43}"),
    Shape("plaid token", "access-sandbox- access-development- access-production-",
          r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    Shape("planetscale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w=.-]{32,64}"),
    Shape("posthog key", "phx_ phs_", r"[A-Za-z0-9]{40,60}"),
    Shape("postman key", "PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}"),
    Shape("prefect key", "pnu_ pnb_", r"[A-Za-z0-9]{36}"),
    Shape("pulumi token", "pul-", r"[a-f0-9]{40}"),
    Shape("readme key", "rdme_", r"[a-z0-9]{70}"),
    Shape("scalingo token", "tk-us-", r"[\w-]{48}"),
    Shape("sentry token", "sntrys_ sntryu_", r"[\w+/=-]{40,500}"),
    Shape("settlemint token", "sm_aat_ sm_pat_ sm_sat_", r"[A-Za-z0-9]{16,32}"),
    Shape("shippo token", "shippo_live_ shippo_test_", r"[A-Fa-f0-9]{40}"),
    Shape("sonar token", "squ_ sqp_ sqa_ sqb_", r"[A-Fa-f0-9]{40}"),
    Shape("sourcegraph token", "sgp_", r"(?:[A-Fa-f0-9]{16}_|local_)?[A-Fa-f0-9]{40}"),
    Shape("supabase token", "sbp_ sb_secret_", r"[\w-]{30,64}"),
    Shape("tailscale key", "tskey-", r"[a-z]+-[A-Za-z0-9]{8,30}-[A-Za-z0-9]{16,48}"),
    Shape("typeform token", "tfp_", r"[\w.=-]{40,60}"),
    Shape("ngrok, buildkite or netlify token", "bkua_ nfp_", r"[A-Za-z0-9]{36,60}"),
    Shape("airtable token", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    Shape("alibaba access key", "LTAI", r"[A-Za-z0-9]{16,24}"),
    Shape("tencent key", "AKID", r"[A-Za-z0-9]{32}"),
    Shape("yandex key", "AQVN", r"[\w-]{35,38}"),
    Shape("yandex token", "t1.", r"[\w-]{4,200}={0,2}\.[\w-]{86}={0,2}"),
    Shape("yandex key", "YC", r"(?=[A-Za-z_-]*\d)[\w-]{38}"),
    Shape("clickhouse key", "4b1d", r"[A-Za-z0-9]{38}"),
    Shape("cloudflare ca key", "v1.0-", r"[a-f0-9]{24}-[a-f0-9]{146}"),
    Shape("adobe secret", "p8e-", r"[A-Za-z0-9]{32}"),
    Shape("contentful token", "CFPAT-", r"[\w-]{43}"),
    Shape("figma token", "figd_ figo_", r"[\w-]{40,64}"),
    Shape("mapbox token", "sk.eyJ pk.eyJ", r"[\w-]{20,200}\.[\w-]{20,64}"),
    Shape("defined networking token", "dnkey-", r"[\w=-]{26}-[\w=-]{52}"),
    Shape("authress key", "sc_ ext_ scauth_ authress_",
          r"[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[\w+/=-]{30,120}"),
    Shape("wepay, lob or rapid key", "live_pub_ test_pub_", r"[a-f0-9]{31}"),
    Shape("lob key", "live_ test_", r"[a-f0-9]{35}"),
    Shape("microsoft teams webhook", "webhook.office.com/webhookb2/", r"[\w@/-]{60,255}"),
    Shape("zapier webhook", "hooks.zapier.com/hooks/catch/", r"[\w/]{10,64}"),
    Shape("softlayer key", "api.softlayer.com/soap/v3/ api.softlayer.com/soap/v3.1/",
          r"[A-Za-z0-9]{64}"),
    Shape("telegram token", "api.telegram.org/bot", r"\d{6,12}:[\w-]{30,40}"),
)

# An opening quote, escaped or not; a character of an argument, which ends where JSON's string may.
_QUOTE = r"\\{0,7}['\"]?"
_ARGUMENT = r"[^\s'\"\\]"
_USER_PASSWORD = rf" -(?:u|-user)[ \t=]{{0,2}}{_QUOTE}[^\s:'\"/$]{{1,100}}:([^\s'\"/\\]{{3,200}})"

INFIXES = (
    Infix("telegram token", ":AA", 16, r"(?<![\w:])\d{5,16}:AA[\w-]{32,33}(?![\w-])"),
    Infix("mailchimp key", "-us", 32, r"(?<![\w/-])[0-9a-f]{32}-us\d{1,2}(?!\.?\w)"),
    Infix("azure secret", "Q~", 5, r"(?<![\w.~-])[\w.~]{3}\dQ~[\w.~-]{31,34}(?![\w.~-])"),
    Infix("azure storage key", "+ASt", 77, r"(?<![\w+/])[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{6}=="),
    Infix("terraform token", ".atlasv1.", 14, r"(?<!\w)\w{14}\.atlasv1\.[\w=-]{60,70}(?![\w=-])"),
    Infix("maxmind key", "_mmk", 40, r"(?<!\w)[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?!\w)"),
    Infix("firebase key", ":APA91b", 0, r":(APA91b[\w-]{100,200})"),
    Infix("database password", "@tcp(", 100,
          r"(?<![\w.-])[\w.-]{1,30}:([^\s:@/'\"\\]{3,60})@tcp\("),
    Infix("database password", ":5432:", 0, rf":5432:[^:\s]{{1,60}}:[^:\s]{{1,60}}:({_ARGUMENT}{{3,100}})"),
    Infix("function key", "?code=", 0, r"\?code=([\w%+/=-]{40,120})", ".azurewebsites.net"),
    Infix("netrc password", "login ", 0,
          r"login[ \t]+\S{1,100}\s+password[ \t]+([^\s\"'{\\]{3,200})"),
    Infix("password argument", " -p", 0, rf" -p((?!-){_ARGUMENT}{{4,100}})", "mysql"),
    Infix("password argument", " -p", 0, rf" -p[ \t]*{_QUOTE}({_ARGUMENT}{{3,100}})", "sshpass"),
    Infix("password argument", " -p", 0, rf" -p[ \t]+{_QUOTE}({_ARGUMENT}{{3,100}})", "docker login"),
    Infix("password argument", " -a", 0, rf" -a[ \t]+{_QUOTE}({_ARGUMENT}{{3,100}})", "redis-cli"),
    Infix("password argument", " -u", 0, _USER_PASSWORD, "curl"),
    Infix("password argument", " --user", 0, _USER_PASSWORD, "curl"),
    Infix("password argument", "auth=(", 0,
          rf"auth=\([ \t]*{_QUOTE}[^'\"\n]{{1,100}}['\"],[ \t]*{_QUOTE}({_ARGUMENT}{{4,200}})"),
    Infix("password argument", " pass:", 0, rf" pass:({_ARGUMENT}{{3,100}})", "openssl"),
    *(
        Infix("session cookie", hint, 0, hint + r"[\w.]{0,12}=([\w%.+/=-]{16,500})", "ookie:")
        for hint in ("sess", "SESS")
    ),
    *(
        Infix("password hash", hint, 0, r":\$(\w+\$[^\s:\"\\]{20,200})")
        for hint in (":$6$", ":$5$", ":$1$", ":$y$", ":$apr1$")
    ),
    *(
        Infix("seed phrase", hint, 0, hint + r"\W{1,6}((?:[a-z]{3,8} ){11,23}[a-z]{3,8})")
        for hint in ("mnemonic", "seed phrase", "recovery phrase")
    ),
    Infix("signed url", "X-Amz-Signature=", 0, r"X-Amz-Signature=([0-9a-f]{64})"),
    Infix("signed url", "sig=", 1, r"(?<=[?&;])sig=([A-Za-z0-9%+/=_-]{40,120})"),
    Infix("sidekiq credentials", "CONTRIBSYS__COM", 0,
          r"CONTRIBSYS__COM\W{1,4}([a-f0-9]{8}:[a-f0-9]{8})"),
    *(
        Infix("facebook token", f"{digit}|", 16, r"(?<!\w)\d{13,17}\|[\w-]{27,40}(?![\w-])")
        for digit in "0123456789"
    ),
)

# Parts of identifiers that end in a noun for a secret. A label is looked at only where one of
# these letters occur.
LABEL_STEMS = ("pass", "pw", "secret", "token", "key", "auth", "cred", "contrase", "_pat", "psk")

PASSWORD_ENDINGS = (
    "password", "passwd", "passwort", "passphrase", "passcode", "pwd", "contraseña", "contrasena",
    "storepass", "keypass", "dbpass", "userpass", "sshpass",
)
TOKEN_ENDINGS = ("secret", "token", "credential", "credentials", "creds")
KEY_ENDINGS = (
    "apikey", "authkey", "accesskey", "secretkey", "privatekey", "masterkey", "accountkey",
    "encryptionkey", "signingkey", "servicekey", "sharedkey", "clientkey", "privkey",
)

# x_key is a secret when x is one of these ...
KEY_OWNERS = frozenset(
    "access account admin aes api app application auth bot cipher client consumer crypt database "
    "db decryption deploy encrypt encryption gpg hmac host ingest insert integration jwt license "
    "master pgp priv private pw read recovery root rsa sas secret security server service shared "
    "sign signing ssh sub subscription token unseal user vault webhook write".split()
)
# ... and names a thing looked up when x is one of these. Any other x_key needs a random value.
KEY_NON_OWNERS = frozenset(
    "arrow attr cache child column composite config context dedup deduplication dict entity event "
    "field filter foreign group hash hot i18n id idempotency index join keyboard label lookup map "
    "message metric msg natural object order parent partition primary property pub public query "
    "range record registry routing row s3 schema search sequence setting settings short shortcut "
    "sort state surrogate tag translation unique".split()
)

# Words after the noun that leave it the same secret (TOKEN_PROD, password2) ...
NEUTRAL_SUFFIXES = frozenset(
    "admin b64 backup base64 current default dev env live local main new old override plain "
    "plaintext primary prod production raw root secondary secure staging str string test text "
    "user val value".split()
)
# ... and words after it that make the label speak about a secret (token_count) ...
ABOUT = frozenset(
    "algo algorithm alias at attempts authority bytes cancellation changed chars class col column "
    "continuation cost count created ctrl delim delimiter dir endpoint env error exists exp "
    "expiration expire expired expires expiry field file filename forgot format func generator "
    "hash hashed hasher hashers hint id ids index input is kind label len length level lexer "
    "lifetime limit line link list manager max message method min missing mode model name names "
    "next ns num number only page param params parser path pattern per placeholder policy pos "
    "position prefix present prompt provider ratio ref reference regex required reset resolver "
    "role rule scope separator size source special stop strength suffix sync table template title "
    "total ttl type types uri url usage used validator validators var version view".split()
)
# ... or words before it that make it another kind of token (max_token, csrf_token).
OTHER_TOKENS = frozenset(
    "action authenticity bos cancellation continuation csrf ctrl cursor delim delimiter eos "
    "fencing forgot idempotency input lexer max min next no num pad page parser per placeholder "
    "pub public request resume sep separator special stop sync total unk xsrf".split()
)

# Values that stand for a secret or say that there is none.
PLACEHOLDER_PARTS = (
    "example", "placeholder", "change_me", "changeme", "change-me", "changeit", "your", "insert",
    "replace", "dummy", "fake", "sample", "todo", "fixme", "foobar", "notasecret", "1234-1234",
    "not-a-secret", "not_a_secret", "process.env", "environ", "getenv", "secretsmanager", "xxxx",
    "a-z]", "0-9]", "(?:", "****", "...", "abcdefghij", "lorem", "<", "${", "{{", "{%", "%(", "#{",
    "$(", "put_",
)
PLACEHOLDER_WORDS = frozenset(
    "admin alphanumeric anonymous any basic bearer blank bool boolean bytes char confidential "
    "correct credentials current-password default disabled email empty enabled false field foo "
    "hidden incorrect input invalid key keyring letmein login missing mysecret mytoken name new- "
    "password nil none null number object off optional pass passphrase passwd password plain "
    "postgres private prompt public pwd qwerty random required root secret some-token something "
    "str string test testing text token true undefined unknown unset user username val value "
    "varchar wrong yes".split()
)

# The 170 most frequent pairs of letters in the identifiers of 2,300 Python and JavaScript files:
# 88 % of the pairs in written names, 25 % of those in random letters.
LETTER_PAIRS = frozenset(
    "ab ac ad ag ai al am an ap ar as at au ba be bl bu ca ce ch ck cl co cr ct cu da dd de di ea "
    "ec ed ef eg el em en ep er es et ex fa fe fi fo ge gi ha he hi ho ic id ie if ig il im in io "
    "ip ir is it iv iz ke la ld le lf li ll lo ls lt lu ma me mi mm mo mp na nc nd ne nf ng ni no "
    "ns nt ob oc od ol om on oo op or os ot ou ow pa pe pi pl po pp pr pt pu py qu ra rc re rg ri "
    "rm ro rr rs rt ru ry sa sc se sh si so sp ss st su sy ta tc te th ti to tr ts tt tu ty ue ui "
    "ul um un up ur us ut va ve vi wi xp xt yp ze".split()
)
