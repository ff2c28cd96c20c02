"""Claims about builds, figures and reports, each with a twin that is refused."""

from keepthread.validators.evidence import Evidence
from tests.validators.grounding_pairs import read, said, shell

VITE = """export default defineConfig({
  plugins: [react(), svgr()],
  server: { port: 5174, proxy: { "/api": "http://localhost:8081" } },
  build: { sourcemap: true, target: "es2021" },
});
"""
CELERY = """app = Celery("mailer", broker="amqp://rabbit:5672")
app.conf.task_acks_late = True
app.conf.worker_prefetch_multiplier = 1
app.conf.task_time_limit = 15 * 60

@app.task(bind=True, max_retries=7, default_retry_delay=45)
def send_receipt(self, order_id): ...
"""
HELM = """replicaCount: 3
image:
  repository: registry.acme.example/web
  tag: "2024.11.2"
resources:
  limits: {cpu: 500m, memory: 512Mi}
autoscaling:
  enabled: false
"""
ISSUE = """Title: Export hangs for tenants with more than 10,000 rows
Labels: bug, export
Comment by mara: reproduced on 3.8.1; the cursor is never closed, 
so the pool runs dry after 20 exports.
Comment by joel: workaround: set EXPORT_BATCH=500.
"""
BENCH = """BenchmarkParse-8       41233     28710 ns/op    4096 B/op    12 allocs/op
BenchmarkRender-8       9921    118204 ns/op   65536 B/op   210 allocs/op
PASS
ok  \tgithub.com/acme/tpl\t4.021s
"""
SSH = """Host bastion
    HostName bastion.acme.example
    User ops
    Port 2222
"""
CSV = """region,orders,revenue
north,1204,88120.50
south,987,70211.00
west,1533,102450.75
"""
CRON = """# m h dom mon dow command
30 2 * * * /usr/local/bin/backup.sh
*/15 * * * * /usr/local/bin/sync.sh
"""
PROTO = """service Ledger {
  rpc Post(PostRequest) returns (PostReply);
  rpc Balance(BalanceRequest) returns (stream BalanceReply);
}
"""
PYTB = """Traceback (most recent call last):
  File "/app/main.py", line 19, in <module>
    cfg = load("config/prod.yml")
  File "/app/cfg.py", line 7, in load
    return yaml.safe_load(open(path))
FileNotFoundError: [Errno 2] No such file or directory: 'config/prod.yml'
"""
RSPEC = """Finished in 18.4 seconds (files took 3.1 seconds to load)
212 examples, 2 failures, 5 pending

Failed examples:
rspec ./spec/models/invoice_spec.rb:44 # Invoice rounds to cents
rspec ./spec/models/invoice_spec.rb:71 # Invoice rejects negative totals
"""
GITST = """On branch main
nothing to commit, working tree clean
"""
CLOC = """Language     files     blank   comment      code
Python          64      1210       840     11873
SQL              9        80        12       934
SUM:            73      1290       852     12807
"""
GRADLE = """plugins { id("org.springframework.boot") version "3.2.5" }
java { toolchain { languageVersion = JavaLanguageVersion.of(21) } }
dependencies {
    implementation("org.flywaydb:flyway-core:10.12.0")
    testImplementation("org.testcontainers:postgresql:1.19.7")
}
"""
ESL = """/repo/src/form.tsx
  12:9   error    'user' is assigned a value but never used  @typescript-eslint/no-unused-vars
  40:15  warning  Unexpected any                              @typescript-eslint/no-explicit-any

✖ 2 problems (1 error, 1 warning)
"""

REPORTS: list[tuple[str, str, Evidence]] = [
    (
        "Vite's dev server listens on 5174 and proxies /api to http://localhost:8081",
        "Vite's dev server listens on 5174 and proxies /api to http://localhost:8080",
        read("vite.config.ts", VITE),
    ),
    (
        "Source maps are enabled in the Vite build",
        "Source maps are disabled in the Vite build",
        read("vite.config.ts", VITE),
    ),
    (
        "The Celery broker is RabbitMQ at amqp://rabbit:5672",
        "The Celery broker is RabbitMQ at amqp://rabbit:5673",
        read("mailer.py", CELERY),
    ),
    (
        "send_receipt is retried at most 7 times, 45 seconds apart",
        "send_receipt is retried at most 17 times, 45 seconds apart",
        read("mailer.py", CELERY),
    ),
    (
        "Tasks are acknowledged late (task_acks_late is on)",
        "Tasks are acknowledged early (task_acks_late is off)",
        read("mailer.py", CELERY),
    ),
    (
        "The chart deploys three replicas",
        "The chart deploys five replicas",
        read("values.yaml", HELM),
    ),
    ("The image tag is 2024.11.2", "The image tag is 2024.12.2", read("values.yaml", HELM)),
    ("The memory limit is 512Mi", "The memory limit is 256Mi", read("values.yaml", HELM)),
    (
        "Exports hang for tenants with over 10,000 rows since the cursor is never closed",
        "Exports hang for tenants with over 100,000 rows since the cursor is never closed",
        shell("gh issue view 91 --comments", ISSUE),
    ),
    (
        "Joel's workaround for the export bug is EXPORT_BATCH=500",
        "Joel's workaround for the export bug is EXPORT_BATCH=50",
        shell("gh issue view 91 --comments", ISSUE),
    ),
    (
        "The hang was reproduced on version 3.8.1",
        "The hang was reproduced on version 3.9.1",
        shell("gh issue view 91 --comments", ISSUE),
    ),
    (
        "Parsing takes about 29 µs per operation with 12 allocations",
        "Parsing takes about 29 ms per operation with 12 allocations",
        shell("go test -bench .", BENCH),
    ),
    (
        "BenchmarkRender allocates 65536 bytes per operation",
        "BenchmarkRender allocates 6553 bytes per operation",
        shell("go test -bench .", BENCH),
    ),
    (
        "The bastion is reached as user ops on port 2222",
        "The bastion is reached as user ops on port 22",
        read(".ssh/config", SSH),
    ),
    (
        "The west region has the most orders: 1533",
        "The west region has the most orders: 1353",
        shell("cat sales.csv", CSV),
    ),
    (
        "The south made 70,211 in revenue",
        "The south made 71,211 in revenue",
        shell("cat sales.csv", CSV),
    ),
    ("sync.sh runs every 15 minutes", "sync.sh runs every 50 minutes", shell("crontab -l", CRON)),
    (
        "Balance is a streaming call of the Ledger service",
        "`Refund` is a streaming call of the Ledger service",
        read("ledger.proto", PROTO),
    ),
    (
        "The app crashes at start because config/prod.yml is missing",
        "The app crashes at start because config/staging.yml is missing",
        shell("python main.py", PYTB, failed=True),
    ),
    (
        "cfg.py line 7 opens the config with yaml.safe_load",
        "cfg.py line 9 opens the config with yaml.safe_load",
        shell("python main.py", PYTB, failed=True),
    ),
    (
        "Two of 212 examples fail, both in invoice_spec.rb",
        "Three of 212 examples fail, both in invoice_spec.rb",
        shell("bundle exec rspec", RSPEC, failed=True),
    ),
    (
        "The suite loads in about 3 seconds",
        "The suite loads in about 30 seconds",
        shell("bundle exec rspec", RSPEC, failed=True),
    ),
    (
        "The working tree is clean on main",
        "The working tree is clean on `develop`",
        shell("git status", GITST),
    ),
    (
        "The project has 11,873 lines of Python in 64 files",
        "The project has 11,873 lines of Python in 46 files",
        shell("cloc .", CLOC),
    ),
    (
        "Spring Boot is at 3.2.5 and Java at 21",
        "Spring Boot is at 3.2.5 and Java at 17",
        read("build.gradle.kts", GRADLE),
    ),
    (
        "Flyway 10.12.0 handles the schema",
        "Flyway 10.13.0 handles the schema",
        read("build.gradle.kts", GRADLE),
    ),
    (
        "Tests use Testcontainers 1.19.7 for Postgres",
        "Tests use Testcontainers 1.19.8 for Postgres",
        read("build.gradle.kts", GRADLE),
    ),
    (
        "ESLint finds one error and one warning in form.tsx",
        "ESLint finds four errors and one warning in form.tsx",
        shell("npx eslint .", ESL, failed=True),
    ),
    (
        "The variable user in form.tsx is never used",
        "The variable `account` in form.tsx is never used",
        shell("npx eslint .", ESL, failed=True),
    ),
    (
        "Releases need two approvals",
        "Releases need three approvals",
        said("every release needs two approvals, no exceptions"),
    ),
    (
        "The client is in Lisbon",
        "The client is in Madrid",
        said("the client sits in Lisbon, so mind the time zone"),
    ),
    (
        "The user wants the old endpoint kept until June",
        "The user wants the old endpoint kept until August",
        said("keep the old endpoint alive until june please"),
    ),
]
