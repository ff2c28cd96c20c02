"""``keepthread relay --name NAME -- COMMAND…``: between a client and one of its MCP servers.

Bytes pass unchanged in both directions as they come; a copy is read. The result of a tool call
is archived before its last byte is delivered, in either era of the protocol. What the archive
cannot take is delivered all the same and reported as a gap; with KEEPTHREAD_RELAY_STRICT=1 the
client gets an error in its place. Standard library and apsw only.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from keepthread.server.capture.faults import say
from keepthread.server.capture.relay_archive import RelayArchive
from keepthread.server.capture.relayed import (
    LINE_BYTES_MAX,
    Exchange,
    Line,
    LineReader,
    Message,
    Relayed,
    parse,
)

HELP = "stand between a client and one of its MCP servers, and archive each call of a tool"
CHUNK_BYTES = 1 << 16
INTERNAL_ERROR = -32603
_FORWARDED = ("SIGTERM", "SIGINT", "SIGHUP")
_STDIN, _STDOUT = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("--name", required=True, help="what the client calls this server")
    parser.add_argument(
        "--workspace", default=argparse.SUPPRESS, metavar="NAME|DIR|NAME=DIR",
        help="instead of this repository",
    )  # fmt: skip
    parser.add_argument("server", nargs="+", metavar="COMMAND", help="the server, after --")


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run ``keepthread relay`` from its arguments, imports of other commands spared."""
    parser = argparse.ArgumentParser(prog="keepthread relay", description=HELP)
    add_arguments(parser)
    return relay(parser.parse_args(arguments), environ)


def relay(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Start the server and stand between until it ends; return its exit status (128 + signal)."""
    workspace = getattr(options, "workspace", "")
    if workspace:
        environ = {**environ, "KEEPTHREAD_WORKSPACE": workspace}
    try:
        server = subprocess.Popen(
            options.server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
    except OSError as error:
        say(f"keepthread relay: cannot start {options.server[0]}: {error.strerror}")
        return 127 if isinstance(error, FileNotFoundError) else 126
    _forward_signals(server)
    archive = RelayArchive(environ)
    strict = environ.get("KEEPTHREAD_RELAY_STRICT", "") not in ("", "0")
    Relay(server, Exchange(options.name), archive, strict).run()
    archive.close()
    status = server.wait()
    return 128 - status if status < 0 else status


class Relay:
    """Two pumps: client to server in a thread of its own, server to client in this one."""

    def __init__(
        self,
        server: "subprocess.Popen[bytes]",
        exchange: Exchange,
        archive: RelayArchive,
        strict: bool,
    ) -> None:
        assert server.stdin is not None and server.stdout is not None
        self._to_server, self._from_server = server.stdin, server.stdout
        self._exchange, self._archive, self._strict = exchange, archive, strict

    def run(self) -> None:
        """Pass everything on until the server has no more to say."""
        threading.Thread(target=self._up, daemon=True).start()
        why = self._down()
        for left in self._exchange.unanswered(why):
            self._archive.archive(left)
        # The client must see the end now, and the number must not be given to another file.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, _STDOUT)
        os.close(nowhere)

    def _up(self) -> None:
        lines = LineReader()
        try:
            while chunk := os.read(_STDIN, CHUNK_BYTES):
                given_up: list[Relayed] = []
                for _, line in lines.feed(chunk):
                    given_up += self._noted(line) if line is not None else ()
                _write(self._to_server.fileno(), chunk)
                for call in given_up:
                    self._archive.archive(call, wait=False)
            self._noted(lines.rest())
        except OSError:
            pass  # the server reads no more; its own end is noticed by the other pump
        self._to_server.close()

    def _down(self) -> str:
        """Deliver until either end closes; return which one did, in words."""
        lines, held = LineReader(), bytearray()
        source = self._from_server.fileno()
        try:
            while chunk := os.read(source, CHUNK_BYTES):
                for piece, line in lines.feed(chunk):
                    held += piece
                    if line is not None:
                        held = bytearray(self._archived(line) or held)
                    elif self._strict and lines.size <= LINE_BYTES_MAX:
                        continue  # what may have to be replaced must not be on its way
                    _write(_STDOUT, held)
                    held.clear()
            _write(_STDOUT, self._archived(lines.rest()) or held)
        except OSError:
            self._from_server.close()  # so that the server learns it as it would without us
            return "the client went away"
        return "the server ended"

    def _noted(self, line: Line) -> list[Relayed]:
        try:
            return self._exchange.sent(line)
        except Exception as error:  # noqa: BLE001  (outermost: bytes must pass whatever they are)
            self._archive.report(error)
            return []

    def _archived(self, line: Line) -> bytes:
        """Archive the calls that a line answers; return what to deliver in its place, mostly nothing."""
        if not self._exchange.waits:
            return b""
        try:
            return self._answered(line)
        except Exception as error:  # noqa: BLE001  (outermost, as above)
            self._archive.report(error)
            return b""

    def _answered(self, line: Line) -> bytes:
        messages = parse(line)
        if messages is None:
            cut = self._exchange.received_cut(line.text)
            if cut is not None:
                self._archive.archive(cut)
            return b""
        faults: dict[int, str] = {}
        for number, message in enumerate(messages):
            answered = self._exchange.received(message)
            fault = self._archive.archive(answered) if answered is not None else ""
            if fault:
                faults[number] = fault
        if not (faults and self._strict):
            return b""
        told = [_withheld(m, faults[n]) if n in faults else m for n, m in enumerate(messages)]
        return json.dumps(told if line.text.lstrip()[:1] == b"[" else told[0]).encode() + b"\n"


def _withheld(message: Message, fault: str) -> Message:
    text = f"the tool ran, but its result is withheld: it could not be archived ({fault})"
    error: dict[str, Any] = {"code": INTERNAL_ERROR, "message": f"keepthread relay: {text}"}
    return {"jsonrpc": "2.0", "id": message.get("id"), "error": error}


def _write(handle: int, content: bytes | bytearray) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]


def _forward_signals(server: "subprocess.Popen[bytes]") -> None:
    def forward(number: int, frame: FrameType | None) -> None:
        server.send_signal(number)

    for name in _FORWARDED:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), forward)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
