"""Claims in the words of an agent at work, each with a twin that is refused."""

from keepthread.validators.evidence import Evidence
from tests.validators.grounding_pairs import edited, read, said, shell

PODS = """NAME                     READY   STATUS             RESTARTS   AGE
mailer-68d7c9f4b-p2xkd   1/1     Running            0          6d
indexer-7c5b9d8f6-zt9wq  0/1     ImagePullBackOff   14         2h
"""
COUNTS = """open|914
closed|20311
stale|66
"""
HELM_HISTORY = """REVISION  UPDATED                   STATUS      CHART      DESCRIPTION
7         Mon Mar  3 09:02:11 2025  superseded  api-0.9.1  Upgrade complete
8         Tue Mar  4 16:44:50 2025  failed      api-0.9.2  Upgrade "api" failed: timed out
"""
VALUES = """ingress:
  enabled: false
metrics:
  enabled: true
  path: /metrics
"""
POLL_TS = """export async function poll(url: string, { tries = 4, pauseMs = 750 }: Opts = {}) {
  const res = await fetch(url);
  if (res.status < 500) return res;
  throw new PollError(url);
}
"""
TABLE = """USER       PID %CPU %MEM COMMAND
build     4410 88.5  6.1 rustc
app       9001  2.0 41.7 java
"""
CRONTAB = """# m h dom mon dow command
45 3 * * * /opt/jobs/compact.sh
"""
PR = """title:\tCap the upload size
state:\tOPEN
Caps uploads at 40 MB. Fixes #61.
"""
DOC = '''def grid(rows, corner=False):
    """Draw a grid.

    corner : bool
        If True, leave the upper half out.
    """
'''
CHOICE = "# ADR 3\n\nUse Kafka instead of NATS. Two outages were due to NATS.\n"
TRACEBACK = "Traceback (most recent call last):\n  File \"repro.py\", line 3\nKeyError: 'b'\n"
REFUSED_EDIT = (
    "ERROR:\nNo replacement was performed, old_str `x` did not appear in /app/lib/queue.py."
)

WORDING: list[tuple[str, str, Evidence]] = [
    (
        "The indexer pod is in ImagePullBackOff",
        "The mailer pod is in ImagePullBackOff",
        shell("kubectl get pods", PODS),
    ),
    ("66 items are stale", "914 items are stale", shell("sqlite3 t.db 'select 1'", COUNTS)),
    ("Helm revision 8 failed", "Helm revision 9 failed", shell("helm history api", HELM_HISTORY)),
    ("Ingress is switched off", "Ingress is enabled", read("values.yaml", VALUES)),
    (
        "poll pauses 750 ms between tries",
        "poll pauses 750 s between tries",
        read("src/poll.ts", POLL_TS),
    ),
    ("5xx responses make poll throw", "4xx responses make poll throw", read("p.ts", POLL_TS)),
    (
        "poll throws a PollError when the server fails",
        "poll throws a TimeoutError when the server fails",
        read("src/poll.ts", POLL_TS),
    ),
    (
        "The java process takes up most memory, 41.7 %",
        "The java process takes up most memory, 14.7 %",
        shell("ps aux --sort=-%mem", TABLE),
    ),
    ("Compaction runs daily at 3:45", "Compaction runs daily at 4:45", read("crontab", CRONTAB)),
    ("PR 77 is open and fixes issue 61", "PR 77 fixes issue 16", shell("gh pr view 77", PR)),
    (
        "corner=True leaves out the upper half",
        "corner=None leaves out the upper half",
        read("grid.py", DOC),
    ),
    ("ADR 3 chose Kafka over NATS", "ADR 3 chose NATS over Kafka", read("adr/3.md", CHOICE)),
    (
        "The user wants pnpm instead of npm",
        "The user wants npm instead of pnpm",
        said("use pnpm not npm here"),
    ),
    (
        "The crash persists after changing load_rows",
        "The script runs through after changing load_rows",
        shell("python repro.py", TRACEBACK, failed=True),
    ),
    (
        "The edit of queue.py did not apply",
        "The change was applied to queue.py",
        edited("/app/lib/queue.py", "x", "y", REFUSED_EDIT),
    ),
    (
        "There are no uncommitted changes",
        "There are uncommitted changes in lib",
        shell("git status", "On branch main\nnothing to commit, working tree clean\n"),
    ),
    ("jq is not installed", "jq is installed", shell("which jq", "jq not found\n", failed=True)),
    (
        "The count is about 3.1 million",
        "The count is about 4.1 million",
        shell("psql -c 'select count(*) from t'", " count\n---------\n 3104882\n"),
    ),
    (
        "TypeScript's strict mode is on",
        "TypeScript's strict mode is off",
        read("tsconfig.json", '{"compilerOptions": {"strict": true, "outDir": "lib"}}\n'),
    ),
    (
        "The old poetry.lock was deleted",
        "The old cache folder was deleted",
        shell("rm poetry.lock", ""),
    ),
]
