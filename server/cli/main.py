"""The command line. Exit status: 0, 1 for a finding or failure, 2 for wrong usage."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence

import apsw

from keepthread.server.capture import relay
from keepthread.server.capture.clients.adapter import NAMES as HOOKED
from keepthread.server.capture.files import FileRefused
from keepthread.server.capture.imports import ImportFault
from keepthread.server.cli import doctor, init, manage, read, token, transfer, user
from keepthread.server.clients.descriptions import BY_NAME
from keepthread.server.context.assembly import WindowTooSmall
from keepthread.server.settings import SettingsError
from keepthread.stores.database import explain
from keepthread.stores.errors import StoreError
from keepthread.validators.verdict import Refused

Command = Callable[[argparse.Namespace, Mapping[str, str]], int]


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run one command."""
    parser = build_parser()
    if not arguments:
        parser.print_help(sys.stderr)
        return 2
    options = parser.parse_args(arguments)
    if options.workspace:
        folder = os.path.expanduser(options.workspace)
        if os.path.isabs(folder) and "=" not in folder and not os.path.isdir(folder):
            parser.error(f"--workspace: no folder {folder}")
        environ = {**environ, "KEEPTHREAD_WORKSPACE": options.workspace}
    try:
        command: Command = options.command
        return command(options, environ)
    except (
        StoreError,
        SettingsError,
        ImportFault,
        FileRefused,
        Refused,
        WindowTooSmall,
        user.NoAuthority,
    ) as error:
        print(f"keepthread: {error}", file=sys.stderr)
    except apsw.Error as error:
        print(f"keepthread: {explain(error)}", file=sys.stderr)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("keepthread: interrupted; what was committed is kept", file=sys.stderr)
    return 1


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no count, such as 10")
    return int(text)


def _at_least_one(text: str) -> int:
    if not _count(text):
        raise argparse.ArgumentTypeError("0 would show nothing")
    return int(text)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of every command."""
    parser = argparse.ArgumentParser(
        prog="keepthread",
        description="Memory for long-running agents in which every fact cites its evidence.",
    )
    parser.add_argument(
        "--workspace", default="", metavar="NAME|DIR|NAME=DIR", help="instead of this repository"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Command, help: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help)
        made.set_defaults(command=command)
        return made

    _add_serving(add)
    hook = add("hook", manage.hook, "archive one event of a client's hook from stdin")
    hook.add_argument("client", help=" | ".join(HOOKED))
    guard = add("guard", manage.guard, "refuse a call that would touch the memory behind its back")
    guard.add_argument("client", help="claude-code")
    relay.add_arguments(add("relay", relay.relay, relay.HELP))
    _add_clients(add)
    _add_reading(add)
    _add_managing(add)
    _add_user(add)
    return parser


def _add_serving(add: Callable[[str, Command, str], argparse.ArgumentParser]) -> None:
    serve = add("serve", manage.serve, "run the MCP server over stdio (clients start this), or HTTP")
    serve.add_argument("--http", action="store_true", help="for several clients or users, by token")
    serve.add_argument("--host", default="", help="address to listen on (default 127.0.0.1)")
    serve.add_argument("--port", type=int, help="default 8470; 0 takes any free one")
    serve.add_argument(
        "--name", action="append", default=[], help="a Host that clients use, such as a proxy's"
    )
    serve.add_argument(
        "--folder", action="append", default=[], metavar="USER/NAME=DIR",
        help="where the files of a user's workspace lie; without it no file is looked at",
    )  # fmt: skip
    token.add_arguments(add("token", token.token, "make, list and revoke tokens for serve --http"))


def _add_clients(add: Callable[[str, Command, str], argparse.ArgumentParser]) -> None:
    connect = add("init", init.init, "connect the clients that are there: server and hooks")
    connect.add_argument(
        "--client", action="append", default=[], choices=tuple(BY_NAME), help="only this one"
    )
    connect.add_argument(
        "--workspace", dest="project", default="", metavar="DIR", help="for this project only"
    )
    connect.add_argument("--yes", action="store_true", help="yes to every question (for scripts)")
    connect.add_argument(
        "--wrap", action=argparse.BooleanOptionalAction, help="the relay before the servers it has"
    )
    connect.add_argument(
        "--lines", action=argparse.BooleanOptionalAction, help="three lines for the project's rules"
    )
    connect.add_argument(
        "--sessions", action=argparse.BooleanOptionalAction, help="import past sessions of this project"
    )
    connect.add_argument("--dry-run", action="store_true", help="only say what would change")
    connect.add_argument("--remove", action="store_true", help="undo it")
    check = add("doctor", doctor.doctor, "check everything that capture and serving need")
    check.add_argument("--json", action="store_true", help="one JSON object")


def _add_reading(add: Callable[[str, Command, str], argparse.ArgumentParser]) -> None:
    context = add("context", read.context, "print the window a new agent would get")
    context.add_argument("--stage", choices=("plan", "execute", "review"), default="execute")
    context.add_argument("--max-tokens", type=_count, default=0)
    context.add_argument("--item", default="", help="focus on this plan item")
    context.add_argument("--explain", action="store_true", help="show how each rank came about")
    context.add_argument("--brief", action="store_true", help="the short form that hooks inject")
    search = add("search", read.search, "search the archive")
    search.add_argument("query")
    search.add_argument("--tool", default="")
    search.add_argument("--since", default="")
    search.add_argument("--until", default="")
    search.add_argument("--scope", action="append", default=[])
    search.add_argument("--limit", type=_at_least_one, default=10)
    show = add("show", read.show, "show any record with its evidence")
    show.add_argument("id")
    show.add_argument("--offset", type=_count, default=0)
    why = add("why", read.why, "why a record is believed, and why windows show it or do not")
    why.add_argument("id")
    plan = add("plan", read.listing, "print goal, constraints and the whole plan")
    plan.set_defaults(listing="plan")
    left = add("handoff", read.listing, "print what the last window left: CLAIMED and FOUND")
    left.set_defaults(listing="handoff")
    log = add("log", read.listing, "print the closed windows: when, how they ended, what came of them")
    log.set_defaults(listing="history")
    status = add("status", read.status, "what is stored, where, and whether capture works")
    verify = add("verify", manage.verify, "re-derive every digest and the chain")
    verify.add_argument(
        "--accept", action="store_true", help="accept a restored or moved copy as it is"
    )
    for reading in (context, search, plan, left, log, show, why, status, verify):
        reading.add_argument("--json", action="store_true", help="one JSON object")


def _add_managing(add: Callable[[str, Command, str], argparse.ArgumentParser]) -> None:
    bring = add(
        "import", transfer.bring, "import recorded calls and messages, a client's session, or another memory"
    )
    bring.add_argument(
        "file", nargs="?", default="", help="- for standard input; a folder or file of reference documents"
    )
    bring.add_argument(
        "--sessions", action="store_true", help="the past sessions of this repository on this machine"
    )
    bring.add_argument("--dry-run", action="store_true", help="only count what would be imported")
    bring.add_argument(
        "--json", action="store_true", help="one JSON object with the id of each ref"
    )
    add("export", transfer.export, "write everything of this workspace as JSON Lines")
    reindex = add("reindex", manage.reindex, "make all vectors anew with the configured model")
    reindex.add_argument(
        "--later", action="store_true", help="only drop them; the server makes them anew"
    )
    check = add("reconcile", manage.reconcile, "hold the plan against git, files and the user's commands")
    check.add_argument("--no-commands", action="store_true", help="git and paths only")
    check.add_argument("--json", action="store_true", help="one JSON object")
    add("demo", manage.demo, "run the main job once, offline, in a temporary workspace")


def _add_user(add: Callable[[str, Command, str], argparse.ArgumentParser]) -> None:
    task = add("task", user.task, "begin a task (your authority: needs a terminal)")
    task.add_argument("goal")
    task.add_argument("--constraint", action="append", default=[])
    add("trust", user.trust, "approve the commands in this workspace's keepthread.toml (needs a terminal)")
    remember = add("remember", user.remember, "keep a standing instruction (needs a terminal)")
    remember.add_argument("instruction")
    remember.add_argument("--everywhere", action="store_true", help="in every workspace")
    confirm = add("confirm", user.confirm, "say that a record is right, or wrong (needs a terminal)")
    confirm.add_argument("id", help="fact-3, or a proposed task-1; with --deny also decision-2, plan-4")
    confirm.add_argument(
        "--deny",
        action="store_true",
        help="it is wrong: verify the fact again, drop the decision or plan item",
    )
    confirm.add_argument("--why", default="", metavar="TEXT", help="what is right instead")
