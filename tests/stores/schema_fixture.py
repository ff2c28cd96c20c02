"""Makes the database file of the current schema that later versions must be able to open.

``python -m tests.stores.schema_fixture`` writes tests/fixtures/schemas/N.db.gz. A released
schema's file is never made again; until then, run this after a change of the migration.
"""

import gzip
import tempfile
from pathlib import Path

from keepthread.server.memory import Memory
from keepthread.server.places import Place
from keepthread.server.settings import Settings
from keepthread.stores.migrate import LATEST
from tests.conftest import FakeClock
from tests.sample import fill

SCHEMAS = Path(__file__).parents[1] / "fixtures" / "schemas"


def make(folder: Path) -> bytes:
    """Return the bytes of a closed database with a record of every kind."""
    path = folder / "memory.db"
    memory = Memory(Settings(str(path)), Place("/w", str(folder)), clock=FakeClock())
    fill(memory)
    memory.close()
    return path.read_bytes()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = gzip.compress(make(Path(folder)), 9, mtime=0)
    SCHEMAS.mkdir(parents=True, exist_ok=True)
    (SCHEMAS / f"{LATEST}.db.gz").write_bytes(made)
    print(f"{LATEST}.db.gz: {len(made)} bytes")
