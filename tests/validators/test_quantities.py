import pytest

from keepthread.validators.evidence import Evidence
from keepthread.validators.locating import locate
from keepthread.validators.sources import Source
from keepthread.validators.values import parse_claim
from tests.validators.grounding_pairs import read, shell


@pytest.mark.parametrize(
    ("claim", "text", "found"),
    [
        ("5 minutes", "timeout: 300", True),
        ("5 minutes", "retries: 300", False),
        ("5 minutes", "timeout_ms: 300000", True),
        ("5 minutes", "timeout-minutes: 5", True),
        ("about 4 minutes", "real 4m11s", True),
        ("about 4 minutes", "elapsed 0:04:11", True),
        ("about 4 minutes", "real 5m40s", False),
        ("90 seconds", "ttl: 90 * time.Second", True),
        ("90 ms", "ttl: 90 * time.Second", False),
        ("1.2 GB", "1.21GB", True),
        ("25 MB", "client_max_body_size 25m;", True),
        ("50 MB", "MAX_UPLOAD_MB=50", True),
        ("50 MB", "MAX_UPLOADS=50", False),
        ("about 1,200 rows", "1187 rows", True),
        ("about 1,200 rows", "1500 rows", False),
        ("over 80%", "TOTAL 87%", True),
        ("over 90%", "TOTAL 87%", False),
        ("1200 rows", "1,200 rows", True),
        ("3 rows", "three rows", True),
        ("12 s", "took 12.3s", True),
        ("13 s", "took 12.3s", False),
    ],
)
def test_quantities_compare_at_the_precision_of_the_claim(
    claim: str, text: str, found: bool
) -> None:
    (value,) = parse_claim(claim).values
    assert bool(locate(value, [Source(read("a.txt", text + "\n"))])) is found


def test_the_line_numbers_of_a_viewer_are_no_values() -> None:
    view = read("a.py", "     7\timport os\n     8\timport re\n     9\tX = 1\n")
    (count,) = parse_claim("there are 8 retries").values
    assert locate(count, [Source(view)]) == []
    (line,) = parse_claim("re is imported on line 8").values
    assert locate(line, [Source(view)])


@pytest.mark.parametrize(
    ("claim", "entry", "found"),
    [
        ("`make lint`", read("Makefile", "lint:\n\truff check .\n"), True),
        ("`make lint`", read("Makefile", "test: lint\n\tpytest\n"), False),
        ("`npm run dev`", read("package.json", '{"scripts": {"dev": "vite"}}'), True),
        ("`npm run build`", read("package.json", '{"scripts": {"dev": "vite"}}'), False),
        ("src/app/auth.py", shell("cd src/app && ls", "auth.py\ntokens.py\n"), True),
        ("src/app/session.py", shell("cd src/app && ls", "auth.py\ntokens.py\n"), False),
        ("`Store.evict`", read("store.py", "class Store:\n    def evict(self): ...\n"), True),
        ("`Cache.evict`", read("store.py", "class Store:\n    def evict(self): ...\n"), False),
        ("app/jobs.py:34", shell("python x", 'File "/srv/app/jobs.py", line 34, in run'), True),
        ("app/jobs.py:43", shell("python x", 'File "/srv/app/jobs.py", line 34, in run'), False),
    ],
)
def test_commands_paths_and_members_may_be_joined_from_parts(
    claim: str, entry: Evidence, found: bool
) -> None:
    (value,) = parse_claim(claim).values
    assert bool(locate(value, [Source(entry)])) is found
