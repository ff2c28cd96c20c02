"""Starts the server of the Claude Desktop bundle, in the environment that the app's own uv made.

Standard library only, and any Python: whoever starts it another way is told what to do.
"""

import os
import sys


def main():
    """Run ``keepthread serve`` for the chosen folder; return the exit status."""
    folder = os.environ.get("KEEPTHREAD_WORKSPACE", "")
    if not os.path.isdir(folder):
        return fail(f"no folder {folder!r}. Choose one in Settings, Extensions, Keepthread.")
    try:
        from keepthread.server.entry import main as keepthread  # noqa: PLC0415  (may be missing)
    except ModuleNotFoundError as error:
        here = os.path.dirname(os.path.abspath(__file__))
        return fail(
            f"{error}: this Python is not the bundle's own. Update Claude Desktop, which brings "
            f"uv with it, and install the bundle again; by hand: uv run --directory '{here}' launch.py"
        )
    sys.argv[1:] = ["serve"]
    return keepthread()


def fail(why):
    """Say on stderr, which the app keeps in its log, why there is no server; return 1."""
    print(f"keepthread: {why}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
