"""What changes by itself is told from what stays until somebody changes it."""

import pytest

from keepthread.validators.transience import check_transient, transient_quantity
from keepthread.validators.verdict import Refusal, Write

from .fake_view import FakeView

VOLATILE = [
    "The branch is 3 commits behind main.",
    "The queue has 42 jobs in it.",
    "There are 17 open pull requests right now.",
    "CPU is at 87 %.",
    "The disk is 91 % full.",
    "The migration is at step 4.",
    "12 of 38 modules are ported.",
    "The download is at 35 %.",
    "3 workers are busy.",
    "The build is running.",
    "The cache hit rate is 82 % at the moment.",
    "The current balance is 1,200 EUR.",
    "The import has processed 4,000 of 10,000 rows.",
    "The server has been up for 3 days.",
    "There are 5 unread messages.",
    "The deploy is in progress.",
    "Memory usage is 3.2 GB.",
    "The replica lags by 12 seconds.",
    "The temperature is 21 degrees.",
    "The price of BTC is 60,000.",
    "The process runs with PID 4312.",
    "I am on line 240 of the file.",
    "Half of the tests are converted.",
    "The backlog holds 230 tickets.",
    "The job is 60 % done.",
    "Replication lag is 8 s.",
    "The upload is at 70 %.",
    "There are 9 jobs waiting in the queue.",
    "The GPU is at 64 percent.",
    "7 of 20 files are translated.",
    "The crawler has indexed 300 of 900 pages.",
    "5 containers are running.",
    "The load average is 4.2.",
    "The inbox has 12 messages.",
    "We are at step 3 of 7.",
    "The database replica lags behind by 40 s.",
    "The free disk space is 12 GB.",
    "The wallet balance is 40 USD.",
    "2 users are online.",
    "The queue depth is 900.",
    "The reindexing is at 20 %.",
    "The current branch is feature/2-x.",
    "Disk usage stands at 91 %.",
    "The training is at epoch 14.",
    "The remaining tasks number 8.",
    "The pod has restarted 3 times so far.",
]

LASTING = [
    "The alert fires at 92 % disk usage.",
    "The build command is make build.",
    "The version is 3.2.1.",
    "The port is 8080.",
    "The queue size limit is 500.",
    "The disk quota is 50 GB.",
    "The progress bar uses tqdm.",
    "The default page is 1.",
    "A build takes 4 minutes.",
    "The test suite has 412 tests.",
    "The repo has 38 modules.",
    "The CPU limit of the pod is 500m.",
    "The current version of React is 18.",
    "Memory usage must stay under 512 MB.",
    "The pid file is /run/app.pid.",
    "The status endpoint returns 200.",
    "The import failed at row 4,000.",
    "The cursor is closed after each query.",
    "The exchange rate is read from rates.json.",
    "The timeout is 300 seconds.",
    "The coverage threshold is 80 %.",
    "Session tokens are valid for 30 minutes.",
    "The balance field is a decimal with 2 digits.",
    "The weather service listens on port 9090.",
    "Branch protection needs 2 reviews.",
    "The queue is named jobs_v2.",
    "The backlog column is called todo.",
    "Pending jobs are retried 3 times.",
    "Open connections are capped at 100.",
    "Uptime checks run every 5 minutes.",
    "The memory leak was fixed in 2.4.",
    "The pool has 20 workers.",
    "The image is 120 MB.",
    "The table has 14 columns.",
    "The cluster has 3 nodes.",
    "The upload limit is 10 MB.",
    "The queue has 3 consumers configured.",
    "Step 3 of the pipeline builds the image.",
    "Line 240 of app.py calls main().",
    "The cache holds at most 500 entries.",
    "CI runs 4 jobs in parallel.",
    "The server is a t3.large with 2 vCPUs.",
    "The build uses 4 cores.",
    "Retries wait 2 seconds.",
    "The disk is an SSD.",
    "The import job runs at 3:00.",
    "The batch has 100 rows by default.",
    "The API returns at most 50 items per page.",
    "The process is supervised by systemd.",
    "The backlog is a GitHub project.",
    "38 of 40 tests passed in run 12.",
    "The memory limit is 2 GB.",
    "The scan takes 40 seconds.",
    "The machine has 32 GB of RAM.",
    "The user wants the queue to stay under 100.",
    "The host is db1.internal.",
]


def test_nearly_every_volatile_quantity_is_seen() -> None:
    missed = [text for text in VOLATILE if not transient_quantity(text)]
    assert len(missed) <= 0.1 * len(VOLATILE), missed


@pytest.mark.parametrize("text", LASTING)
def test_what_stays_is_not_taken_for_volatile(text: str) -> None:
    assert transient_quantity(text) == ""


def test_the_refusal_says_what_changes_and_what_to_do() -> None:
    write = Write("record_fact", "observation", text="The queue has 42 jobs in it.")
    refused = check_transient(write, FakeView())

    assert isinstance(refused, Refusal) and refused.code == "transient_state"
    assert "queue has 42" in refused.message() and "expires_when" in refused.message()
    assert check_transient(write._replace(expires_when="task_end"), FakeView()) is None
