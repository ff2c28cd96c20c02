"""Questions at a terminal; never one where nobody could answer."""

from typing import NamedTuple


class Asker(NamedTuple):
    """Who answers: ``--yes``, a person at the ``terminal``, or nobody."""

    yes: bool
    terminal: bool

    def agree(
        self, question: str, *, given: bool | None = None, hint: str = "", default: bool = True
    ) -> bool:
        """Return the answer: ``given`` by an option, by --yes or at the terminal; without any of them
        no, after the ``hint`` that says how to have it."""
        if given is not None:
            return given
        if self.yes:
            return True
        if not self.terminal:
            if hint:
                print(hint)
            return False
        try:
            said = input(f"{question} [{'Y/n' if default else 'y/N'}] ").strip().lower()
        except EOFError:
            print()
            return False
        return said in ("y", "yes") if said else default
