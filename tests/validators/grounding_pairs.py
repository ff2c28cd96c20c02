"""Claims with the entries they cite, each with a twin that the same entries do not contain."""

import json

from keepthread.validators.evidence import Evidence


def shell(command: str, output: str, entry: str = "call-1", *, failed: bool = False) -> Evidence:
    args = json.dumps({"command": command}, separators=(",", ":"))
    return Evidence(entry, tool="Bash", args=args, output=output, is_error=failed)


def read(path: str, output: str, entry: str = "call-1") -> Evidence:
    args = json.dumps({"file_path": path}, separators=(",", ":"))
    return Evidence(entry, tool="Read", args=args, output=output, path=path)


def edited(path: str, old: str, new: str, output: str) -> Evidence:
    args = json.dumps({"file_path": path, "old_string": old, "new_string": new})
    return Evidence("call-1", tool="Edit", args=args, output=output, path=path)


def said(text: str, entry: str = "msg-1", role: str = "user") -> Evidence:
    return Evidence(entry, kind="message", role=role, output=text)


CI = """name: ci
on: [push, pull_request]
jobs:
  verify:
    runs-on: ubuntu-22.04
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v4
      - name: Build
        run: make build-ci
      - name: Apply database migrations
        run: python manage.py migrate
      - name: Run the tests
        run: pytest -q tests/
"""
RUNS = tuple(
    shell("pytest -q tests/sync/test_resume.py", output, f"call-{n}", failed="failed" in output)
    for n, output in enumerate(
        [
            "1 passed in 0.31s",
            "FAILED tests/sync/test_resume.py::test_resume - TimeoutError\n1 failed in 2.40s",
            "1 passed in 0.30s",
            "1 passed in 0.33s",
            "FAILED tests/sync/test_resume.py::test_resume - TimeoutError\n1 failed in 2.41s",
        ]
    )
)
INVOICE = """class InvoiceService:
    def __init__(self, repository):
        self._repository = repository

    @retry(times=3, wait=0.5)
    def create(self, order):
        return self._repository.add(order)
"""
LOG = """9b1d44e Bump fastapi to 0.111.0
3f2c1ab Revert "Share one connection pool between workers"
77ad0c2 Share one connection pool between workers
"""
PSYCOPG = (
    shell(
        "pytest tests/db -q",
        "E   psycopg.OperationalError: the connection is lost\n1 failed in 3.21s",
        "call-1",
        failed=True,
    ),
    shell("pip show psycopg", "Name: psycopg\nVersion: 3.1.18\nLicense: LGPL\n", "call-2"),
    shell(
        "git diff db.py",
        "-    conn = psycopg.connect(dsn)\n"
        "+    # workaround: no prepared statements behind pgbouncer\n"
        "+    conn = psycopg.connect(dsn, prepare_threshold=None)\n",
        "call-3",
    ),
)
STAGING = (
    read("deploy/staging.env", "HOST=https://staging.acme.example\nREGION=eu-1\n", "call-1"),
    read("services/api/routes.py", 'BASE_PATH = "/api/v2"\napp.mount(BASE_PATH, api)\n', "call-2"),
)
MODULES = "\n".join(f"{name}{n}.py" for name in ("order", "ledger") for n in range(19))

# (claim, twin, entries that the claim cites, entries that the twin cites)
_SAME: tuple[Evidence, ...] = ()
_FIFTEEN: list[tuple[str, str, tuple[Evidence, ...], tuple[Evidence, ...]]] = [
    (
        "The build is `make build-ci`",
        "The build is `make build`",
        (read(".github/workflows/ci.yml", CI),),
        _SAME,
    ),
    (
        "The project needs Python >= 3.11",
        "The project needs Python >= 3.12",
        (read("pyproject.toml", '[project]\nname = "billing"\nrequires-python = ">=3.11"\n'),),
        _SAME,
    ),
    (
        "src/billing has 38 modules",
        "src/billing has 37 modules",
        (shell("ls src/billing", MODULES),),
        _SAME,
    ),
    ("test_resume is flaky: 2 of 5 runs failed", "3 of 5 runs failed", RUNS, _SAME),
    (
        "The time limit is five minutes",
        "The time limit is six minutes",
        (read("worker.yaml", "queue: invoices\nretries: 2\ntimeout: 300\n"),),
        _SAME,
    ),
    (
        "No module imports flask",
        "No module imports flask",
        (shell("grep -rn 'import flask' src/", ""),),
        (shell("grep -rn 'import flask' src/", "src/legacy/web.py:3:import flask\n"),),
    ),
    (
        "A build takes about 4 minutes",
        "A build takes about 6 minutes",
        (shell("time make build", "linking\nreal\t4m11s\nuser\t9m2s\nsys\t0m40s\n"),),
        _SAME,
    ),
    (
        "Migrations run before the tests",
        "The tests run before the migrations",
        (read(".github/workflows/ci.yml", CI),),
        _SAME,
    ),
    (
        "CONTRIBUTING asks never to format gen/",
        "CONTRIBUTING asks never to format src/",
        (
            read(
                "CONTRIBUTING.md",
                "# Contributing\n\nNever run the formatter on `gen/`: it is generated.\n",
            ),
        ),
        _SAME,
    ),
    (
        "psycopg 3.1.18 loses the connection; the workaround is prepare_threshold=None",
        "psycopg 3.1.18 loses the connection; the workaround is prepare_threshold=5",
        PSYCOPG,
        _SAME,
    ),
    (
        "The staging URL is https://staging.acme.example/api/v2",
        "The staging URL is https://staging.acme.example/api/v3",
        STAGING,
        _SAME,
    ),
    (
        "`InvoiceService.create` retries 3 times",
        "`OrderService.create` retries 3 times",
        (read("services/invoice.py", INVOICE),),
        _SAME,
    ),
    (
        "The platform team owns billing",
        "The search team owns billing",
        (said("fyi, the platform team owns billing, so ask them before touching it"),),
        _SAME,
    ),
    (
        "The user prefers small commits",
        "The user prefers large commits",
        (said("keep commits tiny"),),
        _SAME,
    ),
    (
        "Commit 3f2c1ab reverted the connection pool",
        "Commit 9b1d44e reverted the connection pool",
        (shell("git log --oneline -3", LOG),),
        _SAME,
    ),
]
FIFTEEN = [(claim, twin, own, other or own) for claim, twin, own, other in _FIFTEEN]

PYTEST = """============================= test session starts ==============================
collected 48 items

tests/test_api.py ..............................F.                        [ 66%]
tests/test_jobs.py ...............s                                      [100%]

=================================== FAILURES ===================================
E       AssertionError: assert 503 == 200
tests/test_api.py:212: AssertionError
=========================== short test summary info ============================
FAILED tests/test_api.py::test_refund_twice - AssertionError: assert 503 == 200
================== 1 failed, 46 passed, 1 skipped in 12.34s ====================
"""
CARGO = """   Compiling ledger v0.4.2 (/repo)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 8.71s
     Running unittests src/lib.rs
running 17 tests
test parse::empty ... ok
test parse::nested ... ok
test result: ok. 17 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out
"""
NPM = """added 214 packages, and audited 215 packages in 9s

31 packages are looking for funding
  run `npm fund` for details

3 vulnerabilities (1 moderate, 2 high)
"""
DIFF = """diff --git a/app/settings.py b/app/settings.py
index 4b825dc..9c1fe33 100644
--- a/app/settings.py
+++ b/app/settings.py
@@ -12,7 +12,7 @@ class Settings:
-    page_size: int = 50
+    page_size: int = 100
     cache_ttl: int = 900
"""
STATUS = """On branch feature/refunds
Your branch is ahead of 'origin/feature/refunds' by 2 commits.

Changes not staged for commit:
\tmodified:   app/refunds.py
\tmodified:   tests/test_refunds.py

Untracked files:
\tnotes.txt
"""
GREP = """src/http/client.ts:41:  const retries = opts.retries ?? 4;
src/http/client.ts:88:    await backoff(attempt);
src/http/server.ts:19:  server.headersTimeout = 65_000;
"""
COMPOSE = """services:
  db:
    image: postgres:15.4
    ports: ["5433:5432"]
  web:
    image: acme/web:2.8.1
    environment:
      LOG_LEVEL: debug
      FEATURE_EXPORT: "false"
    depends_on: [db]
"""
TRACE = """Traceback (most recent call last):
  File "/srv/app/worker.py", line 87, in run
    job.execute()
  File "/srv/app/jobs/export.py", line 34, in execute
    rows = self.cursor.fetchmany(size=self.batch)
psycopg2.errors.UndefinedColumn: column "paid_at" does not exist
"""
HTTP = """HTTP/1.1 429 Too Many Requests
content-type: application/json
retry-after: 30

{"error":"rate_limited","limit":120,"window":"1m"}
"""
PSQL = """ status  | count
---------+-------
 open    |   412
 settled | 18077
 void    |     9
(3 rows)
"""
GO = """package cache

// Store keeps entries for at most ttl.
type Store struct {
\tttl      time.Duration
\tcapacity int
}

func NewStore(capacity int) *Store {
\treturn &Store{ttl: 90 * time.Second, capacity: capacity}
}
"""
TS = """export interface PagerOptions { pageSize?: number; cursor?: string }

export async function* paginate(url: string, { pageSize = 25 }: PagerOptions = {}) {
  let cursor: string | undefined;
  do {
    const page = await getJson(url, { cursor, limit: pageSize });
    yield* page.items;
    cursor = page.next;
  } while (cursor);
}
"""
TOML = """[tool.ruff]
line-length = 96
target-version = "py312"

[tool.ruff.lint]
select = ["E", "F", "I"]

[tool.mypy]
strict = true
warn_unreachable = false
"""
PACKAGE = """{
  "name": "portal",
  "version": "5.2.0",
  "engines": {"node": ">=20.9"},
  "scripts": {"dev": "vite --port 4173", "lint": "eslint . --max-warnings 0"},
  "dependencies": {"react": "^18.3.1", "zod": "3.23.8"}
}
"""
LISTING = """total 36
drwxr-xr-x 2 dev dev  4096 May  2 10:11 .
drwxr-xr-x 9 dev dev  4096 May  2 10:09 ..
-rw-r--r-- 1 dev dev  1287 May  2 10:11 auth.py
-rw-r--r-- 1 dev dev 20480 May  2 10:11 fixtures.db
-rw-r--r-- 1 dev dev   913 May  2 10:11 pages.py
-rw-r--r-- 1 dev dev  4410 May  2 10:11 tokens.py
"""

PAIRS: list[tuple[str, str, Evidence]] = [
    ("46 tests passed", "47 tests passed", shell("pytest", PYTEST)),
    ("One test failed and 46 passed", "All tests pass", shell("pytest", PYTEST)),
    (
        "test_refund_twice fails with assert 503 == 200",
        "test_refund_twice fails with assert 500 == 200",
        shell("pytest", PYTEST),
    ),
    ("The suite takes about 12 seconds", "The suite takes about 20 s", shell("pytest", PYTEST)),
    ("pytest collected 48 items", "pytest collected 84 items", shell("pytest", PYTEST)),
    (
        "The failing assertion is at tests/test_api.py:212",
        "The failing assertion is at tests/test_jobs.py:212",
        shell("pytest", PYTEST),
    ),
    ("All 17 tests of ledger pass", "All 18 tests of ledger pass", shell("cargo test", CARGO)),
    ("ledger is at version 0.4.2", "ledger is at version 0.4.3", shell("cargo test", CARGO)),
    ("2 tests are ignored", "5 tests are ignored", shell("cargo test", CARGO)),
    (
        "npm reports 3 vulnerabilities, two of them high",
        "npm reports no vulnerabilities",
        shell("npm install", NPM),
    ),
    ("npm install added 214 packages", "npm install added 21 packages", shell("npm install", NPM)),
    (
        "page_size was raised from 50 to 100",
        "page_size was raised from 50 to 200",
        shell("git diff", DIFF),
    ),
    ("cache_ttl is 900", "cache_ttl is 90", shell("git diff", DIFF)),
    (
        "The cache lives for 15 minutes",
        "The cache lives for 25 minutes",
        shell("git diff", DIFF),
    ),
    (
        "The branch feature/refunds is 2 commits ahead of origin",
        "The branch feature/refunds is 2 commits behind origin",
        shell("git status", STATUS),
    ),
    (
        "app/refunds.py has uncommitted changes (modified)",
        "app/orders.py has uncommitted changes (modified)",
        shell("git status", STATUS),
    ),
    ("notes.txt is untracked", "todo.txt is untracked", shell("git status", STATUS)),
    (
        "client.ts retries 4 times by default",
        "client.ts retries 14 times by default",
        shell("grep -rn retries src/http", GREP),
    ),
    (
        "headersTimeout of the server is 65,000 ms",
        "headersTimeout of the server is 65,000 s and 3 minutes",
        shell("grep -rn Timeout src/http", GREP),
    ),
    (
        "The search found three lines in two files",
        "The search found seven lines in two files",
        shell("grep -rnE 'retries|backoff|Timeout' src/http", GREP),
    ),
    (
        "auth.py is 1287 bytes",
        "auth.py is 1278 bytes",
        shell("ls -la app/security", LISTING),
    ),
    (
        "app/security holds three Python modules",
        "app/security holds five Python modules",
        shell("ls -la app/security", LISTING),
    ),
    (
        "app/security/tokens.py exists",
        "app/security/sessions.py exists",
        shell("ls -la app/security", LISTING),
    ),
    (
        "Postgres runs at version 15.4",
        "Postgres runs at version 15.5",
        read("compose.yml", COMPOSE),
    ),
    (
        "Postgres 15 is published on port 5433",
        "Postgres 15 is published on port 543",
        read("compose.yml", COMPOSE),
    ),
    (
        "FEATURE_EXPORT is false for web",
        "FEATURE_EXPORT is true for web",
        read("compose.yml", COMPOSE),
    ),
    ("LOG_LEVEL is debug", "LOG_LEVEL is `warning`", read("compose.yml", COMPOSE)),
    (
        'The export job fails because column "paid_at" does not exist',
        'The export job fails because column "settled_at" does not exist',
        shell("python worker.py", TRACE, failed=True),
    ),
    (
        "The error comes from line 34 of jobs/export.py",
        "The error comes from line 43 of jobs/export.py",
        shell("python worker.py", TRACE, failed=True),
    ),
    (
        "The worker raises UndefinedColumn",
        "The worker raises `UndefinedTable`",
        shell("python worker.py", TRACE, failed=True),
    ),
    (
        "The API answers 429 with retry-after 30",
        "The API answers 503 with retry-after 30",
        shell("curl -i https://api.acme.example/v1/items", HTTP),
    ),
    (
        "The rate limit is 120 requests a minute",
        "The rate limit is 12 requests a minute",
        shell("curl -i https://api.acme.example/v1/items", HTTP),
    ),
    (
        "18,077 invoices are settled",
        "18,770 invoices are settled",
        shell("psql -c 'select status, count(*) from invoices group by 1'", PSQL),
    ),
    (
        "About 18,000 invoices are settled",
        "About 28,000 invoices are settled",
        shell("psql -c 'select status, count(*) from invoices group by 1'", PSQL),
    ),
    ("NewStore sets a ttl of 90 seconds", "NewStore sets a ttl of 90 ms", read("cache.go", GO)),
    (
        "NewStore takes the capacity as its parameter",
        "NewQueue takes the capacity as its parameter",
        read("cache.go", GO),
    ),
    (
        "paginate asks for 25 items a page by default (pageSize)",
        "paginate asks for 50 items a page by default (pageSize)",
        read("src/pager.ts", TS),
    ),
    ("ruff's line length is 96", "ruff's line length is 88", read("pyproject.toml", TOML)),
    ("mypy runs in strict mode", "mypy does not run in strict mode", read("pyproject.toml", TOML)),
    (
        "warn_unreachable is disabled",
        "warn_unreachable is enabled",
        read("pyproject.toml", TOML),
    ),
    ("ruff targets py312", "ruff targets py311", read("pyproject.toml", TOML)),
    ("portal is at 5.2.0", "portal is at 5.3.0", read("package.json", PACKAGE)),
    ("zod is pinned to 3.23.8", "zod is pinned to 3.23.9", read("package.json", PACKAGE)),
    (
        "The dev server is `vite --port 4173`",
        "The dev server is `vite --host 4173`",
        read("package.json", PACKAGE),
    ),
    (
        "Linting allows no warnings: `eslint . --max-warnings 0`",
        "Linting allows ten warnings: `eslint . --max-warnings 10`",
        read("package.json", PACKAGE),
    ),
    (
        "The portal needs Node 20.9 or newer",
        "The portal needs Node 18 or newer",
        read("package.json", PACKAGE),
    ),
]
