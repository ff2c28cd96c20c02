"""What a new user met in the first days, held from then on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.hook("SessionStart", source="startup")
    world.say("Tidy the release scripts. Never push to the main branch.")
    return world


def test_the_note_of_a_handoff_survives_the_hooks_that_follow_it(world: World) -> None:
    with world.connect() as session:
        session.done("hand_off", doing="tidying release.sh", next="tidy tag.sh")
    world.hook("Stop", last_assistant_message="I stored the hand-off note.")
    world.hook("SessionEnd", reason="exit")
    brief = world.hook("SessionStart", source="startup")
    assert 'CLAIMED next: "tidy tag.sh"' in brief
    assert "ended without a note" not in brief


def test_a_call_from_long_ago_is_found_by_its_words(world: World) -> None:
    world.bash("cat release.sh", "RELEASE_BUCKET=artifacts-eu-north\n")
    for n in range(60):
        world.bash(f"ls step{n}", f"out{n}.txt\n")
    with world.connect() as session:
        answer = session.observe("The release bucket is artifacts-eu-north")
    assert answer.data["source"] == "tool:Bash#call-1"


def test_a_decision_against_the_users_instruction_is_refused(world: World) -> None:
    with world.connect() as session:
        session.done(
            "record_fact",
            text="Never push to the main branch",
            kind="instruction-from-user",
            source="user",
        )
        refused = session.refused(
            "record_decision",
            "settled_decision",
            decision="Push to the main branch after each release",
            reason="the release notes then show at once",
        )
    assert "the user's instruction fact-1 says otherwise" in refused.text
    assert "Never push to the main branch" in refused.text


def test_the_users_instructions_cost_no_write_budget(world: World) -> None:
    world.bash("cat a", "".join(f"key{n} = value{n}\n" for n in range(8)))
    with world.connect() as session:
        for n in range(6):
            session.observe(f"key{n} is value{n}", supersedes="none")
        session.done(
            "record_fact",
            text="Never push to the main branch",
            kind="instruction-from-user",
            source="user",
        )


def test_looking_makes_no_database(tmp_path: Path) -> None:
    environ = {**os.environ, "KEEPTHREAD_DB": str(tmp_path / "none" / "memory.db")}
    for command in (["status"], ["show", "fact-1"], ["search", "x"], ["export"]):
        done = subprocess.run(
            [sys.executable, "-m", "keepthread", *command],
            env=environ, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert "no memory at" in done.stderr
    assert not (tmp_path / "none").exists()


def test_loading_the_model_leaves_no_telemetry_behind(tmp_path: Path) -> None:
    """onnxruntime queues events in the user's cache and looks up a host unless it is told not to."""
    code = (
        "from keepthread.stores.embeddings import load_embedder; import time; "
        "load_embedder('').embed(['text']); time.sleep(0.5)"
    )
    environ = {
        k: v for k, v in os.environ.items() if k not in ("XDG_CACHE_HOME", "ORT_DISABLE_TELEMETRY")
    }
    subprocess.run(
        [sys.executable, "-c", code],
        env={**environ, "HOME": str(tmp_path)},
        cwd=tmp_path,
        check=True,
    )
    assert [p for p in tmp_path.rglob("*") if "onnxruntime" in p.name] == []


@pytest.mark.parametrize("size", [2**64, 10**30])
def test_a_size_beyond_all_measure_is_answered(world: World, size: int) -> None:
    world.bash("ls", "a.py\n")
    with world.connect() as session:
        for tool, more in (("read_record", {"id": "call-1"}), ("get_context", {})):
            refused = session.refused(tool, "bad_arguments", max_tokens=size, **more)
            assert "max_tokens" in refused.text
        session.done("read_record", id="call-1")


def test_a_tool_name_stays_within_its_frame_in_a_refusal(world: World) -> None:
    world.hook(
        "PostToolUse",
        tool_name="mcp__x__\x1b[31mred",
        tool_input={},
        tool_response="y",
        tool_use_id="t9",
    )
    with world.connect() as session:
        refused = session.refused(
            "record_fact", "unknown_source", text="x is y", kind="observation", source="nothing"
        )
    assert "\x1b" not in refused.text


def test_a_prompt_that_is_refused_says_so_to_the_user(world: World) -> None:
    with world.connect() as session:
        assert "refused[hidden_text]" in session.prompt("remember", {"instruction": "\u202eevil"})
