"""``python -m benchmarks [NAME]``: print a table; ``--out FILE`` keeps the figures as JSON Lines."""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import hook, memory, reading, scale, startup, write
from benchmarks.measure import Figure, table, write_lines

QUICK = ("startup", "hook", "write", "reading", "memory")


def main() -> int:
    """Run the benchmarks asked for; the quick ones without a name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *QUICK, "scale"], metavar="NAME")
    parser.add_argument("--rounds", type=int, default=0, help="0: enough for a steady median")
    parser.add_argument("--facts", type=int, default=1_000)
    parser.add_argument("--entries", type=int, default=1_000)
    parser.add_argument("--folder", type=Path, help="of `scale`: filled once, then kept")
    parser.add_argument("--out", type=Path, help="append the figures to this JSON Lines file")
    options = parser.parse_args()
    if "scale" in options.names and options.folder is None:
        parser.error("scale needs --folder")
    runs: dict[str, Callable[[], Iterator[Figure]]] = {
        "startup": lambda: startup.run(options.rounds or 15),
        "hook": lambda: hook.run(options.rounds or 31),
        "write": lambda: write.run(options.rounds or 200),
        "reading": lambda: reading.run(options.rounds or 31, options.facts, options.entries),
        "memory": lambda: memory.run(),
        "scale": lambda: scale.run(
            options.rounds or 31, options.folder, options.facts, options.entries
        ),
    }
    found: list[Figure] = []
    for name in options.names or QUICK:
        for figure in runs[name]():
            found.append(figure)
            print(f"{figure.name}: done", file=sys.stderr, flush=True)
    print(table(found), end="")
    if options.out:
        write_lines(found, options.out)
    return 0


sys.exit(main())
