"""Secrets are found and redacted, their look-alikes are left alone, and a clean text is cheap.

No secret is written out here: bodies are drawn from a fixed seed, so that scanners of this
repository find nothing either.
"""

import base64
import json
import pkgutil
import random
import string
import subprocess
import sys
import time

import pytest
from detect_secrets import plugins
from detect_secrets.plugins import (
    artifactory,
    aws,
    azure_storage_key,
    basic_auth,
    cloudant,
    discord,
    github_token,
    gitlab_token,
    ibm_cloud_iam,
    ibm_cos_hmac,
    jwt,
    keyword,
    mailchimp,
    npm,
    openai,
    private_key,
    pypi_token,
    sendgrid,
    slack,
    softlayer,
    square_oauth,
    stripe,
    telegram_token,
    twilio,
)
from detect_secrets.plugins.base import BasePlugin
from hypothesis import given, settings
from hypothesis import strategies as st

from keepthread.validators.secrets import find_secrets, redact

KEY = b"a key of this database"
HEX = "0123456789abcdef"
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "-_"


def made_up(alphabet: str, length: int, seed: int = 1) -> str:
    return "".join(random.Random(f"{alphabet}{length}{seed}").choices(alphabet, k=length))


def base64url(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


PEM_BODY = "\n".join(made_up(ALNUM + "+/", 64, line) for line in range(6))
JWT = ".".join(
    (
        base64url('{"alg":"HS256","typ":"JWT"}'),
        base64url('{"sub":"7","name":"Ada"}'),
        made_up(URLSAFE, 43),
    )
)

# plugin of detect-secrets -> examples of what it is there for
FLOOR: list[tuple[BasePlugin, list[str]]] = [
    (
        artifactory.ArtifactoryDetector(),
        [f"artifactory: AKC{made_up(ALNUM, 40)}", f"X = AP6{made_up(ALNUM, 20)}"],
    ),
    (
        aws.AWSKeyDetector(),
        [
            *(f"id={prefix}{made_up(UPPER, 16)}" for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")),
            f'aws_secret_key = "{made_up(ALNUM + "/+", 40)}"',
            f"AWS_PASS: '{made_up(ALNUM + '/+', 40, 2)}'",
        ],
    ),
    (
        azure_storage_key.AzureStorageKeyDetector(),
        [f"AccountName=a;AccountKey={made_up(ALNUM + '+/', 86)}==;EndpointSuffix=core"],
    ),
    (
        basic_auth.BasicAuthDetector(),
        [
            f"https://ada:{made_up(ALNUM, 12)}@git.acme.io/x",
            "postgres://app:s3cr3tpw@db.acme.io:5432/app",
            "https://username:password@acme.io",
        ],
    ),
    (
        cloudant.CloudantDetector(),
        [
            f"cloudant_password = '{made_up(HEX, 64)}'",
            f"cl_apikey: {made_up(string.ascii_lowercase, 24)}",
            f"https://acct:{made_up(HEX, 64)}@acct.cloudant.com",
            f'"clou-pw" => "{made_up(HEX, 64, 3)}"',
        ],
    ),
    (
        discord.DiscordBotTokenDetector(),
        [f"MTk4{made_up(ALNUM, 20)}.{made_up(URLSAFE, 6)}.{made_up(ALNUM, 27)}"],
    ),
    (
        github_token.GitHubTokenDetector(),
        [f"gh{letter}_{made_up(ALNUM, 36)}" for letter in "pousr"],
    ),
    (
        gitlab_token.GitLabTokenDetector(),
        [
            *(f"{p}-{made_up(ALNUM, 20)}" for p in ("glpat", "gldt", "glft", "glsoat", "glrt")),
            f"GR1348941{made_up(ALNUM, 20)}",
            f"glcbt-4f_{made_up(ALNUM, 20)}",
            f"glimt-{made_up(ALNUM, 25)}",
            f"glptt-{made_up(ALNUM, 40)}",
            f"glagent-{made_up(ALNUM, 50)}",
            f"gloas-{made_up(ALNUM, 64)}",
        ],
    ),
    (
        ibm_cloud_iam.IbmCloudIamDetector(),
        [
            f"ibm_cloud_iam_api_key = {made_up(URLSAFE, 44)}",
            f'"iam-password": "{made_up(URLSAFE, 44, 2)}"',
            f"cloud_iam_key {made_up(URLSAFE, 44, 3)}",
        ],
    ),
    (
        ibm_cos_hmac.IbmCosHmacDetector(),
        [
            f'"cos_hmac_secret_access_key": "{made_up(HEX, 48)}"',
            f"secret-key={made_up(HEX, 48, 2)}",
        ],
    ),
    (jwt.JwtTokenDetector(), [JWT, JWT.rpartition(".")[0], f"cookie: session={JWT}; path=/"]),
    (
        keyword.KeywordDetector(),
        [
            'password = "k7#Tq9vLx2"',
            "db_pass: 'Wq8zRt5Lp1'",
            'if (user.apikey == "9f3kd82ls0ek3jd9") {',
            'const char *passwd = "bLue42Fjord";',
            f"api_key => '{made_up(ALNUM, 24)}'",
            f'"client_secret": "{made_up(URLSAFE, 32)}"',
            f'private_key = "{made_up(ALNUM, 32)}"',
            'contraseña = "vErde77Rio"',
            'if ("tR4nsp0rt99" == my_password) {',
        ],
    ),
    (mailchimp.MailchimpDetector(), [f"{made_up(HEX, 32)}-us12"]),
    (
        npm.NpmDetector(),
        [
            f"//registry.npmjs.org/:_authToken=npm_{made_up(ALNUM, 36)}",
            "//npm.acme.io/:_authToken=8d2f7a31-5c0e-4b96-9e1d-73a4f0c2b85e",
        ],
    ),
    (
        openai.OpenAIDetector(),
        [
            f"sk-{made_up(ALNUM, 20)}T3BlbkFJ{made_up(ALNUM, 20, 2)}",
            f"sk-proj-{made_up(ALNUM, 20)}T3BlbkFJ{made_up(ALNUM, 20, 2)}",
        ],
    ),
    (
        private_key.PrivateKeyDetector(),
        [
            f"-----BEGIN {kind}-----\n{PEM_BODY}\n-----END {kind}-----"
            for kind in (
                "PRIVATE KEY",
                "RSA PRIVATE KEY",
                "DSA PRIVATE KEY",
                "EC PRIVATE KEY",
                "OPENSSH PRIVATE KEY",
                "PGP PRIVATE KEY BLOCK",
            )
        ]
        + [
            f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{PEM_BODY}\n"
            "---- END SSH2 ENCRYPTED PRIVATE KEY ----",
            f"PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nPrivate-Lines: 6\n{PEM_BODY}\n",
        ],
    ),
    (
        pypi_token.PypiTokenDetector(),
        [
            f"pypi-AgEIcHlwaS5vcmc{made_up(URLSAFE, 90)}",
            f"pypi-AgENdGVzdC5weXBpLm9yZw{made_up(URLSAFE, 90)}",
        ],
    ),
    (sendgrid.SendGridDetector(), [f"SG.{made_up(URLSAFE, 22)}.{made_up(URLSAFE, 43)}"]),
    (
        slack.SlackDetector(),
        [
            *(f"xox{x}-274819305562-{made_up(ALNUM, 24)}" for x in "abposr"),
            f"https://hooks.slack.com/services/T{made_up(UPPER, 8)}/B{made_up(UPPER, 8)}/"
            + made_up(ALNUM, 24),
        ],
    ),
    (
        softlayer.SoftlayerDetector(),
        [
            f"softlayer_api_key = {made_up(LOWER, 64)}",
            f"sl_token: {made_up(LOWER, 64, 2)}",
            f"https://api.softlayer.com/soap/v3/{made_up(LOWER, 64)}",
        ],
    ),
    (square_oauth.SquareOAuthDetector(), [f"sq0csp-{made_up(URLSAFE, 43)}"]),
    (
        stripe.StripeDetector(),
        [f"sk_live_{made_up(ALNUM, 24)}", f"rk_live_{made_up(ALNUM, 24)}"],
    ),
    (telegram_token.TelegramBotTokenDetector(), [f"7201938475:AA{made_up(URLSAFE, 33)}"]),
    (twilio.TwilioKeyDetector(), [f"AC{made_up(HEX, 32)}", f"SK{made_up(HEX, 32)}"]),
]


@pytest.mark.parametrize(
    ("plugin", "text"),
    [pytest.param(plugin, text, id=text[:40]) for plugin, texts in FLOOR for text in texts],
)
def test_what_detect_secrets_finds_is_redacted(plugin: BasePlugin, text: str) -> None:
    secrets = set(plugin.analyze_string(text))

    redacted, kinds = redact(text, KEY)

    assert secrets and kinds
    if PEM_BODY in text:  # the plugin names the header line, which stays
        assert PEM_BODY not in redacted
    else:
        assert not set(plugin.analyze_string(redacted)) & secrets


def test_the_floor_has_every_plugin_that_knows_a_kind_of_secret() -> None:
    # The entropy of a string, and an address, are no kinds: they would take ids and hashes.
    modules = {module.name for module in pkgutil.iter_modules(plugins.__path__)}
    judged = {type(plugin).__module__.rpartition(".")[2] for plugin, _ in FLOOR}

    assert modules - judged == {"base", "high_entropy_strings", "ip_public"}


A, B = made_up(ALNUM, 32, 8), made_up(HEX, 40, 9)
FOUND = [  # text, the secret in it, its kind
    (f"export OPENAI_API_KEY=sk-proj-{A}\n", f"sk-proj-{A}", "openai key"),
    (f"ANTHROPIC_API_KEY=sk-ant-api03-{A}", f"sk-ant-api03-{A}", "anthropic key"),
    (f"login with hf_{A}.", f"hf_{A}", "huggingface token"),
    (f"remote: github_pat_{A}{A}", f"github_pat_{A}{A}", "github token"),
    (f"client GOCSPX-{A[:28]}", f"GOCSPX-{A[:28]}", "google oauth secret"),
    (f'{{"auth_token": "{B}"}}', B, "secret"),
    (f'{{\\"client_secret\\": \\"{A}\\"}}', A, "secret"),
    ("DB_HOST=db\\nDB_PASSWORD=hunter2x\\nPORT=1", "hunter2x", "password"),
    ("MYSQL_ROOT_PASSWORD=correcthorse", "correcthorse", "password"),
    ("spring:\n  password: b3rlin!wall\n", "b3rlin!wall", "password"),
    ('password = "Tr0ub4dor&3"', "Tr0ub4dor&3", "password"),
    ("<password>pa55-w0rt</password>", "pa55-w0rt", "password"),
    (f'<add key="ApiKey" value="{A}" />', A, "secret"),
    (f"- name: STRIPE_SECRET\n  value: {A}\n", A, "secret"),
    ("Server=db;Uid=sa;Pwd=Gr8Lakes7;Database=x", "Gr8Lakes7", "password"),
    ("redis://:f00ls-g0ld@cache.acme.io:6379/0", "f00ls-g0ld", "password in url"),
    (f"git clone https://{B}@github.com/acme/x", B, "token in url"),
    (f"GET /v1/items?page=2&api_key={B}&sort=up", B, "secret"),
    (f"curl -H 'Authorization: Bearer {A}' https://x", A, "authorization header"),
    (f'"authorization": "token {B}"', B, "authorization header"),
    ("curl -u ada:l0velace9 https://x", "l0velace9", "password argument"),
    ("mysqldump -u root -pS3same7 shop", "S3same7", "password argument"),
    ("psql --password=op3nsesame", "op3nsesame", "password"),
    (f"deploy --token {A} --force", A, "secret"),
    ("machine h login ada password l0velace9", "l0velace9", "netrc password"),
    (f"The staging token is {B}, rotate it.", B, "secret"),
    (f'"private_key": "-----BEGIN PRIVATE KEY-----\\n{A}{A}\\n-----END PRIVATE KEY-----\\n"',
     A + A, "private key"),
    (f"-----BEGIN EC PRIVATE KEY-----\n{PEM_BODY}\n[output cut]", PEM_BODY, "private key"),
    (f"token: {base64.b64encode(f'password={B}'.encode()).decode()}", B, "secret"),
    ("define('DB_PASSWORD', 's3cr3tpw');", "s3cr3tpw", "password"),
    ("The admin password is Tr0ub4dor&3 for now", "Tr0ub4dor&3", "password"),
    ("requests.get(url, auth=('ada', 'l0velace9'))", "l0velace9", "password argument"),
    (f"Cookie: theme=dark; PHPSESSID={B}", B, "session cookie"),
    (f"API key: {A}", A, "secret"),
    (f"| access token | {A} | 2 |", A, "secret"),
    (f"AKIA{made_up(UPPER, 16)},{made_up(ALNUM + '/+', 40, 6)}", made_up(ALNUM + "/+", 40, 6),
     "aws access key"),
    ("SECRET_KEY = 'django-insecure-7(k#2v^x8!q@z5&m1w'", "django-insecure-7(k#2v^x8!q@z5&m1w",
     "secret"),
    ("The password for staging is Winter2024!", "Winter2024!", "password"),
    ("app:s3cr3tpw@tcp(db:3306)/shop", "s3cr3tpw", "database password"),
    ("jdbc:mysql://db/shop?user=app&password=swordfish", "swordfish", "password"),
    (f"Authorization: Basic {base64.b64encode(b'ada:lovelace').decode()}",
     base64.b64encode(b"ada:lovelace").decode(), "authorization header"),
    ("mnemonic: " + "apple river stone cloud " * 3, "river stone cloud apple", "seed phrase"),
    (f"\x1b[32mghp_{A}abcd\x1b[0m", f"ghp_{A}abcd", "github token"),
]


@pytest.mark.parametrize(("text", "secret", "kind"), FOUND)
def test_a_secret_is_found_in_the_form_it_is_written_in(
    text: str, secret: str, kind: str
) -> None:
    redacted, kinds = redact(text, KEY)

    assert secret not in redacted
    assert kinds[0] == kind


@pytest.mark.parametrize(("text", "secret"), [(text, secret) for text, secret, _ in FOUND])
def test_a_secret_is_found_inside_nested_json_and_base64(text: str, secret: str) -> None:
    once = json.dumps({"command": text})
    twice = json.dumps({"args": once})
    encoded = base64.b64encode(text.encode()).decode()

    assert json.dumps(secret)[1:-1] not in redact(once, KEY)[0]
    assert json.dumps(json.dumps(secret)[1:-1])[1:-1] not in redact(twice, KEY)[0]
    assert encoded not in redact(f"data: {encoded}", KEY)[0]


SHA1, SHA256 = made_up(HEX, 40, 4), made_up(HEX, 64, 5)
UNTOUCHED = [
    f"commit {SHA1}\nMerge: {SHA1[:7]} {SHA256[:7]}",
    f"100644 blob {SHA1}\tkeys/token.py",
    f"{SHA256}  dist/secret-1.0.tar.gz",
    f'"integrity": "sha512-{made_up(ALNUM + "+/", 86)}=="',
    f"    --hash=sha256:{SHA256} \\",
    f'<img src="data:image/png;base64,{made_up(ALNUM + "+/", 300)}">',
    "request_id=6f1c2e0a-9f0b-4b57-8a39-51d7c0e2a944 status=200",
    "key: linux-pip-" + SHA256,
    "API_KEY=<your-key>",
    "api_key: xxxxxxxxxxxxxxxxxxxxxxxx",
    "DB_PASSWORD=changeme",
    "password: ${DB_PASSWORD}",
    "password: {{ vault.password }}",
    "const token = process.env.GITHUB_TOKEN;",
    "token = os.environ['TOKEN2024PRODUCTION']",
    "secret_key: *****************",
    "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
    "token = get_token(user1, 2)",
    "self.api_key = settings.api_key_v2",
    "def login(user: str, password: str, token: Optional[str] = None) -> Token2:",
    "private_key: ed25519.Ed25519PrivateKey",
    "password: required, at least 8 characters",
    'raise ValueError("password: must contain 1 digit")',
    "total_tokens: 128000, max_tokens=4096, token_count: 18273645546",
    "next_page_token: CAUQAA1b2c3d4e5f6g7h8",
    "tests/test_auth.py::test_password_reset[token-2] PASSED",
    "primary_key = Column('id_2f8a9c31b7e4d650')",
    "secret: db-credentials-v2",
    "SECRET_FILE=/run/secrets/db_password_2",
    "A token is a string of 36 characters; the password is never stored.",
    'if "BEGIN RSA PRIVATE KEY" in text: raise SecretFound',
    "postgres://postgres:postgres@localhost:5432/test",
    "http://localhost:8080/@scope/pkg",
    "git@github.com:acme/keys.git",
    "PWD=/home/ada/project2 OLDPWD=/srv/www1",
    f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{made_up(ALNUM, 43)} ada@host",
    f'"session_id": "{"6f1c2e0a-9f0b-4b57-8a39-51d7c0e2a944"}"',
    'FIELDS = ("username", "password", "email2", "sha256", "KRB4LEVEL")',
    "Authorization: required since v2.1, see RFC6750",
    "The password is sha256-hashed, the token is base64-encoded.",
    "kubectl get secret my-secret-7f9c8d -o yaml",
    "if password1 != password2: raise ValueError",
    "PASS: test-key-rotation-v2",
    'labels = {"password": "Contraseña", "password_again": "Confirmar"}',
    "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-AbCdEf",
    "Restored cache key: setup-python-22.04-8f14e45fceea167a5a36dedd4bea2543",
    "ftp://anonymous:anonymous@ftp.acme.org/pub",
    "password: ENC[AES256_GCM,data:p673w8==,iv:YY=,tag:A=]",
    "csrf_token = '8f14e45fceea167a5a36dedd4bea2543'",
    "'Test2::Event::Pass' => '1.302188',",
    "apt\tpasswd\t1:4.13+dfsg1-1+deb12u1",
    "ghp_abcd1234efgh5678ijkl9012mnop3456****",
    "hf_requestedTokenizerConfigurationLoader",
    'data["tokens"] = 1, "token_type": "bearer", "passwordField": "id_pw_confirm2"',
]


GOOGLE_KEY = "AIza" + made_up(ALNUM + "-_", 35)
PUBLISHED_KEY = "AIzaSyDSb51JiIcB6OJpw" + "wMicseKRhhrOq1cS7g"  # in the SDK of Firebase

PUBLIC = [
    f'const app = initializeApp({{\n  apiKey: "{GOOGLE_KEY}",\n  authDomain: "shop.firebaseapp.com",\n}});',
    f'{{"projectId": "shop", "messagingSenderId": "61", "apiKey": "{GOOGLE_KEY}"}}',
    f'"client": [{{"client_info": {{"mobilesdk_app_id": "1:61:android:ab"}}, "oauth_client": [],\n'
    f'  "api_key": [\n    {{ "current_key": "{GOOGLE_KEY}" }}\n  ]}}]',
    f"<dict>\n<key>API_KEY</key>\n<string>{GOOGLE_KEY}</string>\n<key>GOOGLE_APP_ID</key>\n<string>1:61</string>",
    f'<script src="https://maps.googleapis.com/maps/api/js?v=3&amp;key={GOOGLE_KEY}&callback=init"></script>',
    f'<iframe src="https://www.google.com/maps" data-src="https://maps.google.com/maps/embed/v1/place?key={GOOGLE_KEY}">',
    f"NEXT_PUBLIC_FIREBASE_API_KEY={GOOGLE_KEY}",
    f"VITE_GOOGLE_MAPS_API_KEY='{GOOGLE_KEY}'",
    f"GOOGLE_API_KEY={PUBLISHED_KEY}",
    PUBLISHED_KEY,
]

NOT_PUBLIC = [
    GOOGLE_KEY,
    f'apiKey: "{GOOGLE_KEY}"',
    f"GOOGLE_API_KEY={GOOGLE_KEY}",
    f"FIREBASE_AUTH_DOMAIN=shop.firebaseapp.com\nGEMINI_API_KEY={GOOGLE_KEY}",
    f'authDomain: "shop.firebaseapp.com",\ngeminiApiKey: "{GOOGLE_KEY}"',
    f"VITE_GEMINI_API_KEY={GOOGLE_KEY}",
    f"curl 'https://maps.googleapis.com/maps/api/geocode/json?address=Bonn&key={GOOGLE_KEY}'",
    f"https://generativelanguage.googleapis.com/v1beta/models?key={GOOGLE_KEY}",
    f'apiKey: "{GOOGLE_KEY}",{" " * 700}authDomain: "shop.firebaseapp.com"',
]


@pytest.mark.parametrize("text", PUBLIC)
def test_a_key_that_every_visitor_gets_is_no_secret(text: str) -> None:
    assert redact(text, KEY) == (text, ())


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_the_same_key_anywhere_else_is_one(text: str) -> None:
    assert GOOGLE_KEY not in redact(text, KEY)[0]


def test_a_public_configuration_hides_no_other_secret() -> None:
    token = "ghp_" + made_up(ALNUM, 36)
    text = f'apiKey: "{GOOGLE_KEY}", authDomain: "shop.firebaseapp.com", token: "{token}"'

    assert [text[s.start : s.stop] for s in find_secrets(text)] == [token]


@pytest.mark.parametrize("text", UNTOUCHED)
def test_a_look_alike_stays_as_it_is(text: str) -> None:
    assert redact(text, KEY) == (text, ())


def test_a_span_is_the_value_without_its_label() -> None:
    text = f'first ghp_{A}abcd then password="Tr0ub4dor&3" end'

    found = find_secrets(text)

    assert [(s.kind, text[s.start : s.stop]) for s in found] == [
        ("github token", f"ghp_{A}abcd"),
        ("password", "Tr0ub4dor&3"),
    ]


def test_equal_secrets_are_recognisable_only_under_the_same_key() -> None:
    text = f"a_token={B}\nb_token={B}"
    first, second = redact(text, KEY)[0].splitlines()

    assert first.partition("=")[2] == second.partition("=")[2]
    assert redact(text, b"another key")[0] != redact(text, KEY)[0]


def test_offsets_hold_behind_letters_that_grow_in_lower_case() -> None:
    text = f"\u0130stanbul \u0130\u0130 api_token = '{B}' \u0130"

    assert [text[s.start : s.stop] for s in find_secrets(text)] == [B]


FRAGMENTS = [text for text, _, _ in FOUND] + UNTOUCHED + ["password=", "token: ", '"', "\n", " "]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=12), max_size=6))
def test_redacting_twice_changes_nothing_more(parts: list[str]) -> None:
    once, _ = redact("".join(parts), KEY)

    assert redact(once, KEY) == (once, ())


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=12), max_size=6))
def test_redacted_json_is_still_json(parts: list[str]) -> None:
    text = json.dumps({"command": " ".join(parts), "nested": json.dumps(parts)})

    assert json.loads(redact(text, KEY)[0]).keys() == {"command", "nested"}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=12), max_size=6))
def test_spans_are_in_order_and_do_not_overlap(parts: list[str]) -> None:
    text = "".join(parts)
    found = find_secrets(text)

    assert all(0 <= s.start < s.stop <= len(text) for s in found)
    assert all(a.stop <= b.start for a, b in zip(found, found[1:], strict=False))


@pytest.mark.parametrize(
    "unit",
    [
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nAAAA",
        "eyJhbGciOiJIUzI1NiJ9.",
        "eyJ",
        "://a:b",
        "https://a:",
        "password=",
        "token ",
        'token="',
        "token : a[",
        "Authorization: Bearer ",
        "curl -u ",
        "mysql -",
        "login a ",
        "AKIA",
        f'apiKey: "{GOOGLE_KEY}" ',
        f"{GOOGLE_KEY}&key=",
        "sk-",
        "xoxb-1234567890-",
        "x" * 97 + "_token",
        "a1B2",
        "[redacted:",
        "\\n",
        '"== token',
    ],
)
def test_time_grows_linearly_with_hostile_text(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        started = time.thread_time()
        find_secrets(text)
        return time.thread_time() - started

    seconds(1_000)
    small = min(seconds(25_000) for _ in range(3))
    large = min(seconds(200_000) for _ in range(3))

    assert large < 0.2 or large < 8 * 2.5 * small


def test_importing_compiles_no_pattern_and_loads_no_hash_library() -> None:
    script = (
        "import sys, keepthread.validators.secrets as s;"
        "print(s.compiled.cache_info().currsize, 'hashlib' in sys.modules);"
        "s.redact('nothing to see', b'k'); print('hashlib' in sys.modules)"
    )
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, '.dev');{script}"]

    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert output.split() == ["0", "False", "False"]
