"""The audit on a scenario of our own: it finds what is stale, and what the window says of it."""

import json
from pathlib import Path

import anyio
import pytest

from evals.__main__ import main
from evals.product import open_product
from evals.suites.audit import SCENARIO, Checked, score_audit

FACTS = {
    "steps": [
        {"write": "a.toml", "text": "port = 8080\nname = 'x1'\n"},
        {"read": "a.toml", "fact": "The port is 8080", "in_the_end": "stale"},
        {"read": "a.toml", "fact": "The name is x1", "in_the_end": "sound"},
        {
            "run": "du -s log",
            "output": "512M\tlog\n",
            "fact": "log takes 512M",
            "in_the_end": "stale",
        },
        {"write": "a.toml", "text": "port = 9090\nname = 'x1'\n"},
        {"run": "du -s log", "output": "700M\tlog\n"},
    ]
}


def checked(verdict: str, flagged: bool) -> Checked:
    return Checked("fact-1", "text", verdict, "", flagged)


def test_rates_count_stale_facts_and_how_many_of_them_are_flagged() -> None:
    found = score_audit(
        [checked("stale", True), checked("stale", False), checked("sound", False)]
        + [checked("sound", True), checked("ungrounded", False)]
    )
    assert found["stale rate"] == 0.4
    assert found["flagged of stale"] == 0.5
    assert found["stale and not flagged"] == 0.2
    assert found["flagged of sound"] == 0.5
    assert found["ungrounded"] == 1
    assert score_audit([])["stale rate"] is None


def test_a_fact_is_held_against_its_file_and_against_a_later_run_of_its_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "moving.json"
    data.write_text(json.dumps(FACTS))
    assert main(["audit", "--data", str(data)]) == 0
    out = capsys.readouterr().out
    assert 'stale, flagged: "The port is 8080" its file changed' in out
    assert 'sound, flagged: "The name is x1"' in out
    assert 'stale, plain: "log takes 512M" the same call showed otherwise later' in out
    assert '"audit wrong": []' in out


def test_the_audit_of_our_scenario_agrees_with_its_truth(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["audit"]) == 0
    out = capsys.readouterr().out
    assert '"audit wrong": []' in out
    assert '"refused": {}' in out
    recorded = sum("fact" in s for s in json.loads(SCENARIO.read_text())["steps"])
    assert f'"recorded": {recorded}' in out


def test_a_database_is_audited_and_one_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = tmp_path / "memory.db"
    command = ["audit", "--db", str(db), "--workspace", f"shop={tmp_path}"]
    assert main(command) == 2
    assert "memory.db" in capsys.readouterr().err

    anyio.run(record_one, tmp_path)
    assert main(["audit", "--db", str(db), "--workspace", f"other={tmp_path}"]) == 2
    assert "no workspace other" in capsys.readouterr().err
    assert main(command) == 0
    assert 'fact-1 stale, flagged: "The port is 8080" its file is gone' in capsys.readouterr().out


async def record_one(folder: Path) -> None:
    (folder / "a.toml").write_text("port = 8080\n")
    async with open_product(folder, "shop") as product:
        await product.call("capture_file", path="a.toml")
        answer = await product.call(
            "record_fact", text="The port is 8080", kind="observation", source="file:a.toml"
        )
        assert not answer.refused
    (folder / "a.toml").unlink()
