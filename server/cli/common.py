"""What the commands share: opening the memory of this folder."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from keepthread.server.memory import Client, Memory
from keepthread.server.places import find_place
from keepthread.server.settings import read_settings


@contextmanager
def open_memory(environ: Mapping[str, str], *, model: bool = False) -> Iterator[Memory]:
    """Open the memory of the working directory's workspace; with ``model`` wait for the embedder.

    The command line is one client with one window a workspace.
    """
    settings = read_settings(environ)
    place = find_place(os.getcwd(), settings.workspace)
    memory = Memory(settings, place, client=Client("terminal", f"terminal:{place.workspace}"))
    if model:
        memory.embedder.start()
        memory.embedder.wait(10.0)
    try:
        yield memory
    finally:
        memory.close()
