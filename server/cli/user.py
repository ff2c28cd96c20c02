"""Commands that carry the user's authority: they need a person at a terminal, and no agent about."""

import argparse
import os
import sys
from collections.abc import Mapping

from keepthread.server import users_word
from keepthread.server.cli.common import open_memory
from keepthread.server.handoff.commands import approve

AGENT_MARKERS = (
    "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "AI_AGENT", "CODEX_SANDBOX", "CODEX_THREAD_ID", "GEMINI_CLI",
    "CURSOR_AGENT", "CURSOR_TRACE_ID", "COPILOT_AGENT", "AGENT",
)  # fmt: skip


class NoAuthority(Exception):
    """The command carries the user's authority and nobody shows that a user gave it."""


def check_authority(environ: Mapping[str, str]) -> None:
    """Raise NoAuthority unless a person is at the terminal and no agent's marker is set."""
    marker = next((m for m in AGENT_MARKERS if environ.get(m)), "")
    if marker:
        raise NoAuthority(
            f"this command carries your authority and {marker} says that an agent runs it. "
            "Run it in a terminal of yours."
        )
    if not (os.isatty(sys.stdin.fileno()) and os.isatty(sys.stdout.fileno())):
        raise NoAuthority(
            "this command carries your authority and needs an interactive terminal; an agent's shell has none."
        )


def task(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread task GOAL --constraint …``"""
    check_authority(environ)
    with open_memory(environ) as memory:
        made = users_word.start_task(memory, options.goal, options.constraint, via="terminal")
        print(users_word.done(made))
    return 0


def trust(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread trust``: shows the file, then records its hash; a changed file asks again."""
    check_authority(environ)
    with open_memory(environ) as memory:
        print(approve(memory.settings.trust_file, memory.place.tree), end="")
    print("approved: its commands may run in checks until the file changes")
    return 0


def remember(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread remember INSTRUCTION``"""
    check_authority(environ)
    with open_memory(environ) as memory:
        made = users_word.remember(
            memory, options.instruction, via="terminal", everywhere=options.everywhere
        )
        print(users_word.done(made))
    return 0


def confirm(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread confirm ID [--deny] [--why TEXT]``"""
    check_authority(environ)
    with open_memory(environ, create=False) as memory:
        if options.deny:
            print(users_word.deny(memory, options.id, options.why, via="terminal"))
        else:
            print(users_word.confirm(memory, options.id, via="terminal"))
    return 0
