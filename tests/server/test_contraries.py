"""What its own source says otherwise is refused, through a real client, and its honest twin is stored."""

from pathlib import Path

import pytest

from keepthread.server.cli.main import main

from .world import World

DEPLOY = "Deploys run from the branch release.\nDeploys never run on Tuesday.\n"
HTTP = "timeout: 30\nretries: 4\nproxy:\n"
TEAMS = "The payments team owns billing.\nThe gateway calls the ledger service.\n"
FLAGS = "FEATURE_EXPORT=on\nLOG_LEVEL=warning\n"


@pytest.mark.parametrize(
    ("path", "text", "true", "false"),
    [
        ("deploy.md", DEPLOY, "Deploys run from the branch release", "Deploys run from the branch main"),
        ("deploy.md", DEPLOY, "Deploys never run on Tuesday", "Deploys run on Tuesday"),
        ("http.yml", HTTP, "The timeout is 30", "There is no timeout"),
        ("http.yml", HTTP, "proxy is not set", "retries is not set"),
        ("teams.md", TEAMS, "billing is owned by the payments team", "The search team owns billing"),
        ("teams.md", TEAMS, "The gateway calls the ledger service", "The ledger service calls the gateway"),
        (".flags", FLAGS, "FEATURE_EXPORT is on", "FEATURE_EXPORT is off"),
        (".flags", FLAGS, "The log level is warning", "The log level is debug"),
    ],
)  # fmt: skip
def test_a_claim_that_its_checked_file_contradicts_is_refused(
    tmp_path: Path, path: str, text: str, true: str, false: str
) -> None:
    world = World(tmp_path)
    world.write(path, text)
    with world.connect() as session:
        session.done("capture_file", path=path)
        refused = session.refused(
            "record_fact", "not_in_source", text=false, kind="observation", source=f"file:{path}"
        )
        assert "nearest passage" in refused.text
        assert session.observe(true, f"file:{path}").data["confidence"] == 0.95


def test_of_two_facts_of_one_passage_the_one_that_it_says_stands(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("secrets.md", "Secrets are managed with Vault since May; before that with sops.\n")
    with world.connect() as session:
        session.done("capture_file", path="secrets.md")
        true = session.observe("Secrets are managed with Vault since May", "file:secrets.md")
        session.refused(
            "record_fact",
            "not_in_source",
            text="Secrets are managed with sops since May",
            kind="observation",
            source="file:secrets.md",
        )
        assert "disputed" not in session.window()
        assert true.data["confidence"] == 0.95


@pytest.mark.parametrize(
    ("check", "true", "false"),
    [
        ("path_exists:services/billing.py", "services/billing.py exists", "services/orders.py exists"),
        (
            "file_contains:services/billing.py:PORT is 8080",
            "services/billing.py does not contain `PORT is 8080`",
            "services/billing.py sets PORT to 8080",
        ),
    ],
)  # fmt: skip
def test_what_the_server_checked_is_evidence_and_what_it_looked_for_is_not(
    tmp_path: Path, check: str, true: str, false: str
) -> None:
    world = World(tmp_path)
    world.git()
    world.write("services/billing.py", "PORT = 9000\n")
    with world.connect() as session:
        item = session.done("update_plan_item", title="Move billing", checks=[check]).id
        session.done("update_plan_item", item=item, status="in_progress")
        session.done("update_plan_item", item=item, status="done")
        session.done("hand_off", doing="moved billing", next="docs")
        session.refused(
            "record_fact", "not_in_source", text=false, kind="observation", source="tool:check"
        )
        seen = session.observe(true, "tool:check")
        assert (seen.data["confidence"], seen.data["source"][:11]) == (0.95, "tool:check#")


def test_an_export_imported_again_adds_nothing_and_hides_no_better_evidence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    world.write("http.yml", HTTP)
    world.say("Keep the timeout as it is.")
    world.bash("make test", "12 passed\n")
    with world.connect() as session:
        session.done("capture_file", path="http.yml")
    monkeypatch.chdir(world.tree)
    assert main(["export"], world.environ) == 0
    (tmp_path / "all.jsonl").write_text(capsys.readouterr().out, encoding="utf-8")
    main(["import", str(tmp_path / "all.jsonl")], world.environ)  # 1: the window itself stays behind
    assert "0 entries imported" in (told := capsys.readouterr().out)
    assert "already here: 3" in told
    with world.connect() as session:
        assert session.observe("The timeout is 30", "file:http.yml").data["confidence"] == 0.95


def test_of_equal_contents_the_strongest_evidence_is_cited_unless_the_file_changed_between(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    world.write("http.yml", HTTP)
    with world.connect() as session:
        session.done("capture_file", path="http.yml")
        world.read_file("http.yml", HTTP)
        assert session.observe("The timeout is 30", "file:http.yml").data["confidence"] == 0.95
        world.read_file("http.yml", HTTP.replace("30", "60"))
        session.observe("The timeout is 60", "file:http.yml")
        world.read_file("http.yml", HTTP)
        again = session.observe("The timeout is 30", "file:http.yml")
        assert (again.data["confidence"], again.data["source"][:9]) == (0.8, "tool:Read")
