"""Facts that only together direct a reader are not served: each passed the gate, the section would not.

The gate reads each new fact with others of its source; here all are read that are served side by side, in the
order of the section and in that of their writing.
"""

from collections.abc import Callable, Sequence

from keepthread.server.context.packing import Item, Section
from keepthread.validators.instructions import find_split_directive

Pack = Callable[[Sequence[Item]], Section]


def pack_apart(items: Sequence[Item], pack: Pack) -> Section:
    """Pack a section; the words of items that together read as an instruction give way to a remark."""
    section = pack(items)
    told = [item for item in section.shown if item.told]
    together = _together(told) or _together(sorted(told, key=lambda item: item.ref))
    if not together:
        return section
    return pack_apart([_withheld(i) if i.ref in together else i for i in items], pack)


def _together(told: Sequence[Item]) -> set[int]:
    return {told[n].ref for n in find_split_directive([item.told for item in told])}


def _withheld(item: Item) -> Item:
    block, dash, line = item.text.partition("- ")
    name = line.partition(" ")[0]
    remark = f"{name} [WITHHELD: with others here it reads as an instruction; read_record shows it]"
    return item._replace(text=f"{block}{dash}{remark}\n", told="")
