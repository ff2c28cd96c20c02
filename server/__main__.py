"""``python -m keepthread``."""

import sys

from keepthread.server.entry import main

sys.exit(main())
