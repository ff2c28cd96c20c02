"""Files of the work tree are read, and no byte of anything else, whatever the path says."""

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from keepthread.server.capture.files import (
    FileRefused,
    file_signature,
    read_file,
    relative_path,
)
from keepthread.server.context.staleness import FileSource, FileWatch
from keepthread.server.memory import Memory
from keepthread.stores.archive import count_entries
from tests.server.capture.hooks import Client, archived

SECRET = "PRIVATE KEY of nobody"
SECONDS_MAX = 0.1


@pytest.fixture
def attacked(work: Path) -> Path:
    """A work tree full of ways out."""
    outside = work.parent / "outside"
    (outside / "deep").mkdir(parents=True)
    for secret in (outside / "secret.txt", outside / "deep" / "secret.txt"):
        secret.write_text(SECRET)
    evil = work.parent / "work-evil"
    evil.mkdir()
    (evil / "secret.txt").write_text(SECRET)
    (work / "sub").mkdir()
    (work / "real.txt").write_text("inside")
    links: dict[str, str | Path] = {
        "link.txt": outside / "secret.txt",
        "linked": outside,
        "sub/relative": "../../outside",
        "chain-1": "chain-2",
        "chain-2": outside / "secret.txt",
        "loop-1": "loop-2",
        "loop-2": "loop-1",
        "dangling": "nowhere",
        "zero": "/dev/zero",
        "environ": "/proc/self/environ",
        "inside-link": "real.txt",
        "root": "/",
    }
    for name, target in links.items():
        (work / name).symlink_to(target)
    os.mkfifo(work / "fifo")
    with open(work / "huge", "wb") as huge:
        huge.truncate(10 << 30)
    return work


ATTACKS = [
    "../outside/secret.txt",
    "sub/../../outside/secret.txt",
    "./.././outside/secret.txt",
    "{outside}/secret.txt",
    "../work-evil/secret.txt",
    "{work}-evil/secret.txt",
    "{work}/../outside/secret.txt",
    "link.txt",
    "linked/secret.txt",
    "linked/deep/secret.txt",
    "linked/../outside/secret.txt",
    "sub/relative/secret.txt",
    "chain-1",
    "loop-1",
    "dangling",
    "inside-link",
    "root/etc/passwd",
    "zero",
    "environ",
    "fifo",
    "socket",
    "huge",
    "sub",
    "",
    ".",
    "..",
    "/",
    "/dev/zero",
    "/dev/stdin",
    "/proc/self/environ",
    "/proc/self/root{outside}/secret.txt",
    "~/.ssh/id_rsa",
    "file:///etc/passwd",
    "real.txt\0",
    "../\0outside",
    "\ud800.txt",
    "x" * 5_000,
    "sub/" * 2_000 + "x",
    "real.txt/x",
]


@pytest.mark.parametrize("path", ATTACKS)
def test_a_path_that_leads_out_or_to_no_file_reads_nothing(
    attacked: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(attacked)  # a socket's path may have 107 characters
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    outside = str(attacked.parent / "outside")
    given = path.replace("{outside}", outside).replace("{work}", str(attacked))
    began = time.thread_time()
    with pytest.raises(FileRefused) as refused:
        read_file(str(attacked), given)
    assert time.thread_time() - began < SECONDS_MAX
    assert SECRET not in str(refused.value)
    relative = relative_path(str(attacked), given) if "\0" not in given else ""
    if relative and path != "huge":
        assert file_signature(str(attacked), relative) == ""


def test_a_path_inside_is_read_in_all_its_spellings(attacked: Path) -> None:
    for path in (
        "real.txt",
        "./real.txt",
        "sub/../real.txt",
        str(attacked / "real.txt"),
        "real.txt/",
    ):
        assert read_file(str(attacked), path).data == b"inside"
        assert read_file(str(attacked), path).path == "real.txt"


def test_a_folder_exchanged_for_a_link_while_it_is_read_leads_nowhere(attacked: Path) -> None:
    inside, aside, link = attacked / "sub", attacked / "aside", attacked / "way-out"
    (inside / "secret.txt").write_text("inside")
    link.symlink_to(attacked.parent / "outside")
    done = threading.Event()

    def exchange() -> None:
        while not done.is_set():
            os.rename(inside, aside)
            os.rename(link, inside)
            os.rename(inside, link)
            os.rename(aside, inside)

    racer = threading.Thread(target=exchange)
    racer.start()
    outcomes = {"read": 0, "refused": 0}
    try:
        for _ in range(3_000):
            try:
                assert read_file(str(attacked), "sub/secret.txt").data == b"inside"
                outcomes["read"] += 1
            except FileRefused:
                outcomes["refused"] += 1
    finally:
        done.set()
        racer.join()
    assert outcomes["read"] and outcomes["refused"], "the race was never run"


def test_capture_file_archives_nothing_from_outside(memory: Memory, attacked: Path) -> None:
    for path in ("../outside/secret.txt", "linked/secret.txt", "fifo", "/proc/self/environ"):
        with pytest.raises(FileRefused):
            memory.capture_file(path)
    assert count_entries(memory.reader, memory.onlooker().author.workspace) == 0
    entry, text = memory.capture_file("real.txt")
    assert (entry.channel, entry.level, entry.output, text) == ("check", 4, "inside", "inside")


@pytest.mark.parametrize(
    "path", ["../outside/secret.txt", "linked/secret.txt", "zero", "fifo", "/etc/passwd"]
)
def test_the_watch_on_files_takes_what_lies_outside_for_gone(attacked: Path, path: str) -> None:
    source = FileSource(path, "0" * 64, "1:1:1")
    began = time.thread_time()
    change = FileWatch(str(attacked)).changed(source)
    assert change is not None and change.now == ""
    assert time.thread_time() - began < SECONDS_MAX


def test_a_hook_hashes_no_file_outside_and_none_through_a_link(db: str, attacked: Path) -> None:
    client = Client(db, attacked)
    for n, path in enumerate(
        ("link.txt", "linked/secret.txt", "../outside/secret.txt", "real.txt")
    ):
        read = {"type": "text", "file": {"content": "whatever"}}
        client.tool("Read", read, f"t{n}", file_path=str(attacked / path))
    assert [bool(e.file_sha256) for e in archived(db)] == [False, False, False, True]
