"""What the commands share: opening the memory of this folder."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from keepthread.server.memory import Client, Memory
from keepthread.server.places import find_place
from keepthread.server.settings import Settings, read_settings
from keepthread.stores.errors import StoreError
from keepthread.stores.launch import command_line
from keepthread.stores.records import TERMINAL
from keepthread.stores.windows import sessions_window


class NoDatabase(StoreError):
    """There is nothing to look at yet."""

    code = "no_database"


def require_database(settings: Settings) -> None:
    """Raise NoDatabase where there is none."""
    if not os.path.exists(settings.db):
        raise NoDatabase(
            f"no memory at {settings.db} yet: the first session of a client with hooks makes it. Connect your "
            f"clients with: {command_line('init')}"
        )


@contextmanager
def open_memory(
    environ: Mapping[str, str], *, model: bool = False, create: bool = True
) -> Iterator[Memory]:
    """Open the memory of the working directory's workspace; with ``model`` wait for the embedder.

    A command that writes does so in a window of its own, closed with it. Without ``create`` looking makes no
    database: NoDatabase says where there would be one.
    """
    settings = read_settings(environ)
    if not create:
        require_database(settings)
    place = find_place(os.getcwd(), settings.workspace)
    memory = Memory(settings, place, client=Client(TERMINAL, f"{TERMINAL}:{place.workspace}"))
    if model:
        memory.embedder.start()
        while memory.vectors.refresh(memory.reader):
            pass
        memory.embedder.wait(10.0)
    try:
        yield memory
    finally:
        try:
            if sessions_window(memory.reader, memory.client.session) is not None:
                memory.end_window(memory.client.session, "the command is over")
        finally:
            memory.close()
