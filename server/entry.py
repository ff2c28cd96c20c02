"""The console script. Standard library only: hook, guard and relay are dispatched before any other import."""

import os
import sys


def main() -> int:
    """Run ``keepthread``; return the exit status: 0, 1 for a finding or failure, 2 for wrong usage."""
    if {"-h", "--help"} & set(sys.argv[2:3]):
        pass  # whoever reads it can wait for the whole command line
    elif len(sys.argv) >= 2 and sys.argv[1] == "hook":
        from keepthread.server.capture.hook import main as hook  # noqa: PLC0415  (see above)

        return hook(sys.argv[2] if len(sys.argv) > 2 else "", os.environ)
    elif len(sys.argv) >= 2 and sys.argv[1] == "guard":
        from keepthread.server.capture.guard import main as guard  # noqa: PLC0415

        return guard(os.environ)
    elif len(sys.argv) >= 2 and sys.argv[1] == "relay":
        from keepthread.server.capture.relay import main as relay  # noqa: PLC0415

        return relay(sys.argv[2:], os.environ)
    from keepthread.server.cli.main import main as command_line  # noqa: PLC0415

    return command_line(sys.argv[1:], os.environ)
