"""An MCP server by its bytes alone: what it says is told by the tool's name. Standard library only."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

LATER: list[dict[str, Any]] = []


def write(content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(1, left) :]


def send(message: Any) -> None:
    write(json.dumps(message, ensure_ascii=False).encode() + b"\n")


def text(message: dict[str, Any], words: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": words}]
    return {"jsonrpc": "2.0", "id": message["id"], "result": {"content": content, **more}}


def answer(message: dict[str, Any]) -> None:
    """Do what the tool's name says."""
    ANSWERS[message["params"]["name"]](message, message["params"].get("arguments", {}))


def echo(message: dict[str, Any], args: dict[str, Any]) -> None:
    send(text(message, args.get("text", "")))


def fail(message: dict[str, Any], args: dict[str, Any]) -> None:
    send(text(message, "no such branch", isError=True))


def refuse(message: dict[str, Any], args: dict[str, Any]) -> None:
    error = {"code": -32602, "message": "unknown tool"}
    send({"jsonrpc": "2.0", "id": message["id"], "error": error})


def structured(message: dict[str, Any], args: dict[str, Any]) -> None:
    result = {"content": [], "structuredContent": {"port": 8443}}
    send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def large(message: dict[str, Any], args: dict[str, Any]) -> None:
    """Put the id last, as some servers do."""
    content = [{"type": "text", "text": "x" * args["size"]}]
    send({"result": {"content": content}, "jsonrpc": "2.0", "id": message["id"]})


def noise(message: dict[str, Any], args: dict[str, Any]) -> None:
    """Say what is no JSON, half a line, the other half, and a line that never ends."""
    said = json.dumps(text(message, "odd")).encode()
    write(b"not JSON\r\n\r\n\xff\xfe{]\n" + said[:20])
    time.sleep(0.05)
    write(said[20:] + b"\r\n" + b"no end")


def later(message: dict[str, Any], args: dict[str, Any]) -> None:
    """Answer several calls at once, the last one first."""
    LATER.append(message)
    if len(LATER) == args["of"]:
        send([text(m, m["params"]["arguments"]["text"]) for m in reversed(LATER)])


def stranger(message: dict[str, Any], args: dict[str, Any]) -> None:
    """Answer what nobody asked, and ask under an id of the client."""
    send({"jsonrpc": "2.0", "id": "nobody asked", "result": {"content": []}})
    send({"jsonrpc": "2.0", "id": message["id"], "method": "sampling/createMessage"})
    send(text(message, "after strangers"))


ANSWERS: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "echo": echo,
    "record_fact": echo,
    "fail": fail,
    "refuse": refuse,
    "structured": structured,
    "large": large,
    "noise": noise,
    "later": later,
    "stranger": stranger,
    "never": lambda message, args: None,
    "crash": lambda message, args: os._exit(7),
    "die": lambda message, args: os.kill(os.getpid(), signal.SIGKILL),
}


def stopped(number: int, frame: object) -> None:
    print("server: told to stop", file=sys.stderr, flush=True)
    os._exit(5)


signal.signal(signal.SIGTERM, stopped)
for line in sys.stdin.buffer:
    print(f"server: read {len(line)} bytes", file=sys.stderr, flush=True)
    try:
        read = json.loads(line)
    except ValueError:
        write(b"cannot read: " + line)
        continue
    for message in read if isinstance(read, list) else [read]:
        if message.get("method") == "tools/call":
            answer(message)
write(b'{"jsonrpc":"2.0","method":"notifications/bye"}')
