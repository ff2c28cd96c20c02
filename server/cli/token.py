"""``keepthread token create|list|revoke``: who may use the HTTP server."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping

from keepthread.server.http.tokens import TokenFile, user_database
from keepthread.server.settings import read_settings
from keepthread.stores.launch import command_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the three commands."""
    actions = parser.add_subparsers(required=True, metavar="create|list|revoke")

    def add(name: str, action: Callable[..., int], help: str) -> argparse.ArgumentParser:
        made = actions.add_parser(name, help=help, description=help)
        made.set_defaults(token_action=action)
        made.add_argument("--json", action="store_true", help="one JSON object")
        return made

    made = add("create", _create, "make a token, printed this once; make one for each client")
    made.add_argument("user", help="whose memory it opens: a database file of its own")
    made.add_argument("--label", default="", help="to tell tokens apart, for example the client")
    add("list", _list, "list the tokens; none of them can be shown again")
    gone = add("revoke", _revoke, "end a token at once")
    gone.add_argument("name", metavar="ID|USER", help="a token's id, or a user for all of theirs")


def token(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """``keepthread token``"""
    db = read_settings(environ).db
    action: Callable[[argparse.Namespace, TokenFile, str], int] = options.token_action
    return action(options, TokenFile(db), db)


def _create(options: argparse.Namespace, tokens: TokenFile, db: str) -> int:
    made, secret = tokens.create(options.user, options.label, time.time)
    database = user_database(db, made.user)
    if options.json:
        print(json.dumps({"id": made.id, "user": made.user, "token": secret, "database": database}))
        return 0
    print(secret)
    print(f"token {made.id} of {made.user}, shown this once; database {database}", file=sys.stderr)
    return 0


def _list(options: argparse.Namespace, tokens: TokenFile, db: str) -> int:
    known = [
        {"id": t.id, "user": t.user, "label": t.label, "created": t.created} for t in tokens.all()
    ]
    if options.json:
        print(json.dumps({"tokens": known}, ensure_ascii=False))
        return 0
    for t in known:
        print(f"{t['id']}  {t['user']:<16}  {t['created'][:10]}  {t['label']}")
    if not known:
        print(f"no tokens; make one: {command_line('token', 'create', 'USER')}")
    return 0


def _revoke(options: argparse.Namespace, tokens: TokenFile, db: str) -> int:
    gone = tokens.revoke(options.name)
    if options.json:
        print(json.dumps({"revoked": [t.id for t in gone]}))
    else:
        print("\n".join(f"revoked {t.id} of {t.user}" for t in gone))
    return 0
