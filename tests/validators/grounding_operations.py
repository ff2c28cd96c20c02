"""Claims about configuration, operations and history, each with a twin that is refused."""

from keepthread.validators.evidence import Evidence
from tests.validators.grounding_pairs import read, shell

DOCKER = """FROM python:3.12-slim AS base
ENV PYTHONUNBUFFERED=1 PORT=8000
WORKDIR /srv/app
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
COPY . .
USER app
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=3s CMD curl -f http://localhost:8000/healthz || exit 1
CMD ["gunicorn", "app.wsgi", "--workers", "4", "--bind", "0.0.0.0:8000"]
"""
NGINX = """server {
    listen 443 ssl http2;
    server_name shop.acme.example;
    client_max_body_size 25m;
    location /api/ {
        proxy_pass http://api:9000;
        proxy_read_timeout 120s;
    }
    location /static/ { expires 7d; }
}
"""
KUBE = """NAME                         READY   STATUS             RESTARTS   AGE
api-7d4b9c6f5d-2xk8p         1/1     Running            0          3d4h
api-7d4b9c6f5d-9vtqm         1/1     Running            2          3d4h
worker-5c8f7b9d4-lm2zn       0/1     CrashLoopBackOff   17         62m
"""
GOMOD = """module github.com/acme/ledger

go 1.22

require (
\tgithub.com/jackc/pgx/v5 v5.5.4
\tgithub.com/go-chi/chi/v5 v5.0.12
)
"""
PIP = """Package           Version
----------------- -------
celery            5.3.6
Django            4.2.11
psycopg           3.1.18
redis             5.0.3
"""
STAT = """ app/models.py        | 14 ++++++++------
 app/views.py         |  3 ++-
 tests/test_views.py  | 41 +++++++++++++++++++++++++++++++++++++++++
 3 files changed, 51 insertions(+), 7 deletions(-)
"""
SCHEMA = """                         Table "public.orders"
   Column    |           Type           | Nullable |      Default
-------------+--------------------------+----------+--------------------
 id          | bigint                   | not null | generated always
 customer_id | integer                  | not null |
 total_cents | bigint                   | not null | 0
 created_at  | timestamp with time zone | not null | now()
Indexes:
    "orders_pkey" PRIMARY KEY, btree (id)
    "orders_customer_id_idx" btree (customer_id)
"""
JAVA = """public class RateLimiter {
    private static final int MAX_REQUESTS = 100;
    private final Duration window = Duration.ofMinutes(1);

    public boolean tryAcquire(String key) {
        Bucket bucket = buckets.computeIfAbsent(key, k -> new Bucket(MAX_REQUESTS));
        return bucket.tryConsume(1);
    }
}
"""
RUST = """#[derive(Debug, Clone)]
pub struct Config {
    pub max_connections: u32,
    pub idle_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Config { max_connections: 32, idle_timeout: Duration::from_secs(90) }
    }
}
"""
PR = """title:\tSwitch session storage to Redis
state:\tMERGED
author:\tlena
number:\t482
reviewers:\ttom (Approved)
additions:\t310
deletions:\t127
--
Sessions were lost on every deploy because they lived in process memory.
"""
JEST = """PASS  src/cart/total.test.ts
FAIL  src/cart/discount.test.ts
  ● applies the coupon once

    expect(received).toBe(expected)
    Expected: 90
    Received: 81

Tests:       1 failed, 23 passed, 24 total
Snapshots:   4 passed, 4 total
Time:        3.912 s
"""
TF = """Terraform will perform the following actions:
  # aws_db_instance.main will be updated in-place
      ~ instance_class = "db.t3.medium" -> "db.t3.large"
  # aws_s3_bucket.logs will be destroyed
Plan: 0 to add, 1 to change, 1 to destroy.
"""
LOG = """2026-04-02T09:14:07Z INFO  startup listening on :7070
2026-04-02T09:14:09Z WARN  cache redis://cache:6379 unreachable, falling back to memory
2026-04-02T09:15:41Z ERROR payments timeout after 5000ms calling https://pay.acme.example/v1/charge
"""
README = """# Ledger

## Development

Use `poetry install` to set up, then `poetry run task dev`.
Integration tests need Docker and take roughly 12 minutes.
Generated clients live in `sdk/`; do not edit them by hand, run `make sdk` instead.
Releases are cut every second Tuesday by the platform team.
"""
WC = """   412 src/parser.py
   218 src/lexer.py
    97 src/tokens.py
   727 total
"""
TREE = """migrations
├── 0001_init.sql
├── 0002_orders.sql
├── 0003_refunds.sql
└── 0004_drop_legacy.sql

0 directories, 4 files
"""
BLAME = """5f0c2d9e (Ines Roth 2025-11-03 14:22:10 +0100 41)     if amount <= 0:
5f0c2d9e (Ines Roth 2025-11-03 14:22:10 +0100 42)         raise ValueError("amount must be > 0")
a91b3377 (Karl Beck 2026-01-18 09:05:44 +0100 43)     return round(amount, 2)
"""
OPENAPI = """paths:
  /orders/{id}:
    get:
      summary: Fetch one order
      responses:
        "200": {description: the order}
        "404": {description: unknown order}
    delete:
      summary: Cancel an order
      security: [{adminToken: []}]
"""
ENV = """DATABASE_URL=postgres://app@db:5432/ledger
REDIS_URL=redis://cache:6379/2
SENTRY_ENABLED=false
MAX_UPLOAD_MB=50
FEATURE_NEW_CHECKOUT=on
"""
DU = """1.3G\tnode_modules
212M\tdist
48K\tscripts
"""
GITLOG = """commit 8c1d0fe2b7a94e1d5a3b6c7d8e9f0a1b2c3d4e5f
Author: Lena Fuchs <lena@acme.example>
Date:   Tue Mar 10 11:20:31 2026 +0100

    Drop support for Node 16

commit 41aa9be0c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7
Author: Tom Adler <tom@acme.example>
Date:   Mon Mar 9 16:02:10 2026 +0100

    Cache the exchange rates for an hour
"""
MAKE = """test: lint
\tgo test -race ./...

lint:
\tgolangci-lint run --timeout 3m

sdk:
\t./scripts/gen_sdk.sh
"""
HOOKS = """repos:
  - repo: https://github.com/astral-sh/ruff-pre-commit
    rev: v0.4.4
    hooks: [{id: ruff}, {id: ruff-format}]
  - repo: https://github.com/pre-commit/mirrors-mypy
    rev: v1.10.0
    hooks: [{id: mypy}]
"""

OPERATIONS: list[tuple[str, str, Evidence]] = [
    (
        "The image is based on python:3.12-slim",
        "The image is based on python:3.11-slim",
        read("Dockerfile", DOCKER),
    ),
    (
        "Gunicorn runs with four workers on port 8000",
        "Gunicorn runs with eight workers on port 8000",
        read("Dockerfile", DOCKER),
    ),
    (
        "The health check runs every 30 seconds with a timeout of 3 seconds",
        "The health check runs every 30 seconds with a timeout of 13 seconds",
        read("Dockerfile", DOCKER),
    ),
    (
        "nginx accepts uploads up to 25 MB (client_max_body_size)",
        "nginx accepts uploads up to 250 MB (client_max_body_size)",
        read("nginx.conf", NGINX),
    ),
    (
        "Requests under /api/ are proxied to http://api:9000",
        "Requests under /api/ are proxied to http://api:9001",
        read("nginx.conf", NGINX),
    ),
    (
        "The proxy read timeout is two minutes",
        "The proxy read timeout is three minutes",
        read("nginx.conf", NGINX),
    ),
    (
        "Static files expire after 7 days",
        "Static files expire after 17 days",
        read("nginx.conf", NGINX),
    ),
    (
        "The worker pod is in CrashLoopBackOff with 17 restarts",
        "The worker pod is in CrashLoopBackOff with 7 restarts",
        shell("kubectl get pods", KUBE),
    ),
    ("Two api pods are running", "Five api pods are running", shell("kubectl get pods", KUBE)),
    ("pgx is used in version 5.5.4", "pgx is used in version 5.5.5", read("go.mod", GOMOD)),
    ("The module needs Go 1.22", "The module needs Go 1.21", read("go.mod", GOMOD)),
    ("Django 4.2.11 is installed", "Django 4.1.11 is installed", shell("pip list", PIP)),
    ("Celery is at 5.3", "Celery is at 5.4", shell("pip list", PIP)),
    (
        "The change touches three files with 51 insertions and 7 deletions",
        "The change touches three files with 51 insertions and 17 deletions",
        shell("git diff --stat", STAT),
    ),
    (
        "tests/test_views.py got 41 new lines",
        "tests/test_models.py got 41 new lines",
        shell("git diff --stat", STAT),
    ),
    (
        "orders.total_cents is a bigint that defaults to 0",
        "orders.total_euros is a bigint that defaults to 0",
        shell("psql -c '\\d orders'", SCHEMA),
    ),
    (
        "There is an index on customer_id of the orders table",
        "There is an index on `order_date` of the orders table",
        shell("psql -c '\\d orders'", SCHEMA),
    ),
    ("created_at may not be null", "created_at may be null", shell("psql -c '\\d orders'", SCHEMA)),
    (
        "RateLimiter allows 100 requests a minute",
        "RateLimiter allows 10 requests a minute",
        read("RateLimiter.java", JAVA),
    ),
    (
        "The rate limiter's window is one minute",
        "The rate limiter's window is ten minutes",
        read("RateLimiter.java", JAVA),
    ),
    (
        "Config::default sets max_connections to 32",
        "Config::default sets max_connections to 64",
        read("config.rs", RUST),
    ),
    (
        "Idle connections time out after 90 seconds by default",
        "Idle connections time out after 90 minutes by default",
        read("config.rs", RUST),
    ),
    (
        "PR 482 moved the sessions to Redis and was merged",
        "PR 482 moved the sessions to Redis and was closed with 11 comments",
        shell("gh pr view 482", PR),
    ),
    (
        "Sessions used to be lost on every deploy because they were kept in process memory",
        "Sessions used to be lost on every login because they were kept in `localStorage`",
        shell("gh pr view 482", PR),
    ),
    (
        "The discount test fails: 81 instead of 90",
        "The discount test fails: 18 instead of 90",
        shell("npx jest", JEST, failed=True),
    ),
    ("23 of 24 tests pass", "24 of 24 tests pass", shell("npx jest", JEST, failed=True)),
    (
        "src/cart/total.test.ts passes",
        "src/cart/discount.test.ts passes",
        shell("npx jest", JEST, failed=True),
    ),
    (
        "The plan would destroy the S3 bucket for logs",
        "The plan would destroy 3 S3 buckets",
        shell("terraform plan", TF),
    ),
    (
        "The database instance changes from db.t3.medium to db.t3.large",
        "The database instance changes from db.t3.medium to db.t3.xlarge",
        shell("terraform plan", TF),
    ),
    (
        "The plan adds nothing, changes 1 and destroys 1",
        "The plan adds nothing, changes 2 and destroys 1",
        shell("terraform plan", TF),
    ),
    (
        "The service listens on port 7070",
        "The service listens on port 7071",
        shell("tail app.log", LOG),
    ),
    (
        "When Redis is unreachable the cache falls back to memory",
        "When Redis is unreachable the cache falls back to `sqlite`",
        shell("tail app.log", LOG),
    ),
    (
        "The payment call timed out after 5 seconds",
        "The payment call timed out after 15 seconds",
        shell("tail app.log", LOG),
    ),
    (
        "Integration tests take about 12 minutes and need Docker",
        "Integration tests take about 20 minutes and need Docker",
        read("README.md", README),
    ),
    (
        "sdk/ is generated and must not be edited by hand",
        "docs/ is generated and must not be edited by hand",
        read("README.md", README),
    ),
    (
        "The platform team cuts a release every second Tuesday",
        "The platform team cuts a release every second Thursday",
        read("README.md", README),
    ),
    (
        "`poetry run task dev` starts the development setup",
        "`poetry run task serve` starts the development setup",
        read("README.md", README),
    ),
    ("parser.py has 412 lines", "parser.py has 421 lines", shell("wc -l src/*.py", WC)),
    (
        "The three files have 727 lines in total",
        "The three files have 772 lines in total",
        shell("wc -l src/*.py", WC),
    ),
    ("There are four migrations", "There are seven migrations", shell("tree migrations", TREE)),
    (
        "The last migration drops legacy data (0004_drop_legacy.sql)",
        "The last migration drops legacy data (0005_drop_legacy.sql)",
        shell("tree migrations", TREE),
    ),
    (
        "Ines Roth added the check that the amount must be > 0",
        "Karl Schmidt added 3 checks that the amount must be positive",
        shell("git blame -L41,43 money.py", BLAME),
    ),
    (
        "Line 43 was written by Karl Beck in a91b3377",
        "Line 43 was written by Karl Beck in b91b3377",
        shell("git blame -L41,43 money.py", BLAME),
    ),
    (
        "DELETE /orders/{id} needs the adminToken",
        "DELETE /orders/{id} needs the `userToken`",
        read("openapi.yaml", OPENAPI),
    ),
    (
        "GET /orders/{id} answers 404 for an unknown order",
        "GET /orders/{id} answers 410 for an unknown order",
        read("openapi.yaml", OPENAPI),
    ),
    ("Uploads are limited to 50 MB", "Uploads are limited to 500 MB", read(".env", ENV)),
    ("Sentry is disabled", "Sentry is enabled", read(".env", ENV)),
    (
        "The new checkout feature is switched on",
        "The new checkout feature is switched off",
        read(".env", ENV),
    ),
    (
        "The app uses Redis database 2 on host cache",
        "The app uses Redis database 3 on host cache",
        read(".env", ENV),
    ),
    (
        "Postgres listens on 5432 on the host db",
        "Postgres listens on 5433 on the host db",
        read(".env", ENV),
    ),
    ("node_modules takes 1.3 GB", "node_modules takes 13 GB", shell("du -sh *", DU)),
    ("dist is about 200 MB", "dist is about 300 MB", shell("du -sh *", DU)),
    (
        "Support for Node 16 was dropped in 8c1d0fe",
        "Support for Node 16 was dropped in 41aa9be",
        shell("git log -2", GITLOG),
    ),
    (
        "Tom Adler made the exchange rates cached for an hour",
        "Lena Fuchs and Bob made the exchange rates cached for 3 hours",
        shell("git log -2", GITLOG),
    ),
    (
        "make test runs the linter first and then `go test -race ./...`",
        "make test runs the linter first and then `go test -cover ./...`",
        read("Makefile", MAKE),
    ),
    (
        "golangci-lint has a timeout of 3 minutes",
        "golangci-lint has a timeout of 5 minutes",
        read("Makefile", MAKE),
    ),
    (
        "pre-commit runs ruff v0.4.4 and mypy v1.10.0",
        "pre-commit runs ruff v0.4.4 and mypy v1.11.0",
        read(".pre-commit-config.yaml", HOOKS),
    ),
]
