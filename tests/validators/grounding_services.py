"""Claims about services, their settings and their users, each with a twin that is refused."""

from keepthread.validators.evidence import Evidence
from tests.validators.grounding_pairs import edited, read, said, shell

SPRING = """spring:
  datasource:
    url: jdbc:postgresql://db:5432/shop
    hikari:
      maximum-pool-size: 15
  jpa:
    open-in-view: false
server:
  port: 8443
  shutdown: graceful
"""
PYCODE = '''class TokenStore:
    """Keeps refresh tokens for thirty days."""

    TTL = timedelta(days=30)

    def issue(self, user_id: int, *, scopes: Sequence[str] = ("read",)) -> str:
        token = secrets.token_urlsafe(32)
        self._redis.setex(f"rt:{token}", self.TTL, user_id)
        return token

    def revoke_all(self, user_id: int) -> int:
        raise NotImplementedError
'''
CURL = """{"status":"degraded","checks":{"db":"ok","queue":"lagging"},"lag_seconds":342,
"version":"4.7.0-rc2"}"""
YARN = """├─ lodash@4.17.21
├─ moment@2.29.4
└─ typescript@5.4.5
Done in 0.84s.
"""
GHRUN = """✓ lint        1m2s
✓ unit        3m47s
X e2e         9m12s
  X Run playwright  exit code 1
"""
PS = """CONTAINER ID   IMAGE              STATUS                   PORTS
3c9a1b7d02ef   acme/web:2.8.1     Up 3 hours (healthy)     0.0.0.0:8080->80/tcp
91fe77ac4410   postgres:15.4      Up 3 hours               5432/tcp
"""
COV = """Name               Stmts   Miss  Cover
src/auth.py          120     18    85%
src/orders.py        240     12    95%
TOTAL                360     30    92%
"""
MIG = """def upgrade():
    op.add_column(
        "users", sa.Column("locale", sa.String(8), nullable=False, server_default="en")
    )
    op.create_index("ix_users_email", "users", ["email"], unique=True)
"""
CS = """public sealed class RetryPolicy
{
    public int MaxAttempts { get; init; } = 6;
    public TimeSpan Delay { get; init; } = TimeSpan.FromMilliseconds(250);
}
"""
RUBY = """class ReportJob < ApplicationJob
  queue_as :low
  retry_on Net::ReadTimeout, attempts: 4, wait: 10.seconds
end
"""
NOTES = """## Decisions
- We moved from REST to gRPC between gateway and billing in January.
- Feature flags are stored in LaunchDarkly.
- Only the SRE group may run `terraform apply`.
"""
BR = """* main
  feature/refunds
  hotfix/tax-rounding
"""
DIFF = """diff --git a/lib/http.ts b/lib/http.ts
--- a/lib/http.ts
+++ b/lib/http.ts
@@ -8,7 +8,7 @@
-const KEEP_ALIVE = false;
+const KEEP_ALIVE = true;
 const MAX_SOCKETS = 50;
-import axios from "axios";
+import { fetch } from "undici";
"""
TSC = """src/cart.ts(14,7): error TS2322: Type 'string' is not assignable to type 'number'.
src/cart.ts(31,3): error TS2554: Expected 2 arguments, but got 1.
Found 2 errors in the same file.
"""
MYPY = """app/models.py:88: error: Incompatible return value (got "None", expected "User")
Found 1 error in 1 file (checked 54 source files)
"""
REDIS = """127.0.0.1:6379> INFO memory
used_memory_human:1.92G
maxmemory_human:2.00G
maxmemory_policy:allkeys-lru
"""

SERVICES: list[tuple[str, str, Evidence]] = [
    (
        "The service runs on port 8443 and shuts down gracefully",
        "The service runs on port 8080 and shuts down gracefully",
        read("application.yml", SPRING),
    ),
    (
        "Hikari's pool holds at most 15 connections",
        "Hikari's pool holds at most 50 connections",
        read("application.yml", SPRING),
    ),
    ("open-in-view is turned off", "open-in-view is turned on", read("application.yml", SPRING)),
    (
        "The shop database is Postgres on host db",
        "The shop database is MySQL on host db",
        read("application.yml", SPRING),
    ),
    (
        "Refresh tokens live for 30 days",
        "Refresh tokens live for 3 days",
        read("auth/store.py", PYCODE),
    ),
    (
        "TokenStore.issue gives the scope read by default",
        "TokenStore.issue gives the scope `admin` by default",
        read("auth/store.py", PYCODE),
    ),
    (
        "revoke_all is not implemented yet",
        "`rotate_all` is not implemented yet",
        read("auth/store.py", PYCODE),
    ),
    (
        "Tokens are stored in Redis under the prefix rt:",
        "Tokens are stored in Memcached under the prefix rt:",
        read("auth/store.py", PYCODE),
    ),
    (
        "The health endpoint says degraded because the queue is lagging by 342 seconds",
        "The health endpoint says degraded because the queue is lagging by 34 seconds",
        shell("curl -s localhost/health", CURL),
    ),
    (
        "Version 4.7.0-rc2 is deployed",
        "Version 4.7.0-rc3 is deployed",
        shell("curl -s localhost/health", CURL),
    ),
    ("lodash is locked to 4.17.21", "lodash is locked to 4.17.20", shell("yarn list", YARN)),
    ("TypeScript 5.4 is used", "TypeScript 5.5 is used", shell("yarn list", YARN)),
    (
        "The unit job takes nearly four minutes",
        "The unit job takes nearly seven minutes",
        shell("gh run view", GHRUN, failed=True),
    ),
    (
        "The web container is healthy and published on port 8080",
        "The web container is healthy and published on port 8088",
        shell("docker ps", PS),
    ),
    ("Two containers are running", "Six containers are running", shell("docker ps", PS)),
    ("Overall coverage is 92%", "Overall coverage is 82%", shell("coverage report", COV)),
    (
        "src/auth.py has the lowest coverage, 85%",
        "src/auth.py has the lowest coverage, 58%",
        shell("coverage report", COV),
    ),
    (
        "The migration adds a non-null locale column with default en",
        "The migration adds a non-null locale column with default `de`",
        read("migrations/0007.py", MIG),
    ),
    (
        "users.email gets a unique index",
        "users.phone gets a unique index `ix_users_phone`",
        read("migrations/0007.py", MIG),
    ),
    (
        "RetryPolicy makes up to 6 attempts with a delay of 250 ms",
        "RetryPolicy makes up to 6 attempts with a delay of 250 s",
        read("RetryPolicy.cs", CS),
    ),
    (
        "ReportJob is retried 4 times on Net::ReadTimeout",
        "ReportJob is retried 4 times on `Net::OpenTimeout`",
        read("report_job.rb", RUBY),
    ),
    (
        "ReportJob waits ten seconds between attempts",
        "ReportJob waits twelve seconds between attempts",
        read("report_job.rb", RUBY),
    ),
    (
        "Gateway and billing talk gRPC since January",
        "Gateway and billing talk gRPC since March",
        read("docs/decisions.md", NOTES),
    ),
    (
        "Feature flags live in LaunchDarkly",
        "Feature flags live in Unleash",
        read("docs/decisions.md", NOTES),
    ),
    (
        "Only SRE may run `terraform apply`",
        "Only SRE may run `terraform destroy`",
        read("docs/decisions.md", NOTES),
    ),
    ("There are three local branches", "There are five local branches", shell("git branch", BR)),
    (
        "hotfix/tax-rounding exists as a branch",
        "hotfix/vat-rounding exists as a branch",
        shell("git branch", BR),
    ),
    (
        "Keep-alive was switched on in lib/http.ts",
        "Keep-alive was switched on in lib/ws.ts",
        shell("git diff", DIFF),
    ),
    ("axios was replaced by undici", "axios was replaced by `got`", shell("git diff", DIFF)),
    (
        "tsc reports two errors in src/cart.ts",
        "tsc reports no errors in src/cart.ts",
        shell("npx tsc --noEmit", TSC, failed=True),
    ),
    (
        "The call on line 31 of cart.ts misses an argument",
        "The call on line 41 of cart.ts misses an argument",
        shell("npx tsc --noEmit", TSC, failed=True),
    ),
    (
        "mypy complains about app/models.py:88",
        "mypy complains about app/models.py:89",
        shell("mypy .", MYPY, failed=True),
    ),
    ("mypy checked 54 files", "mypy checked 45 files", shell("mypy .", MYPY, failed=True)),
    (
        "Redis evicts with allkeys-lru",
        "Redis evicts with volatile-ttl",
        shell("redis-cli info memory", REDIS),
    ),
    (
        "Redis uses 1.92 GB of 2 GB",
        "Redis uses 1.29 GB of 2 GB",
        shell("redis-cli info memory", REDIS),
    ),
    (
        "MAX_RETRIES was raised to 8 in worker.py",
        "MAX_RETRIES was raised to 9 in worker.py",
        edited(
            "worker.py",
            "MAX_RETRIES = 3",
            "MAX_RETRIES = 8",
            "The file worker.py has been updated.",
        ),
    ),
    (
        "The customer wants invoices in PDF by Friday",
        "The customer wants invoices in `XML` by Friday",
        said("customer needs the invoices as PDF, by friday please"),
    ),
    (
        "Dark mode is out of scope",
        "Light mode is out of scope",
        said("dark mode is out of scope for now"),
    ),
    (
        "Jonas reviews all database changes",
        "Miriam reviews all database changes",
        said("Jonas has to review every database change"),
    ),
]
