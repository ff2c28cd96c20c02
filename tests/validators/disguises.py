"""Ways to write a text so that a filter on plain words misses it and a reader does not."""

import base64
import codecs
from collections.abc import Callable


def tagged(text: str) -> str:
    return "".join(chr(0xE0000 + ord(character)) for character in text)


def _shifted(text: str, small: int, capital: int) -> str:
    return "".join(
        chr(small + ord(c) - 97)
        if c.islower()
        else chr(capital + ord(c) - 65)
        if c.isupper()
        else c
        for c in text
    )


FOLDED_ALIKE: dict[str, Callable[[str], str]] = {
    "capitals": str.upper,
    "zero-width spaces": "\u200b".join,
    "soft hyphens": "\u00ad".join,
    "variation selectors": "\ufe01".join,
    "tag characters": tagged,
    "full width": lambda text: _shifted(text, 0xFF41, 0xFF21),
    "mathematical bold": lambda text: _shifted(text, 0x1D41A, 0x1D400),
    "circled letters": lambda text: _shifted(text, 0x24D0, 0x24B6),
    "combining marks": "\u0336".join,
    "Cyrillic look-alikes": lambda text: text.translate(str.maketrans("aeopcy", "аеорсу")),
    "Greek look-alikes": lambda text: text.translate(str.maketrans("ov", "ον")),
    "Markdown emphasis": lambda text: text.replace("script", "scr**ip**t").replace("e", "*e*"),
    "wide spaces": lambda text: text.replace(" ", "\u2003 "),
}

DECODED: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 twice": lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
    "base64 within a sentence": lambda text: (
        f"The value is {base64.b64encode(text.encode()).decode()} here."
    ),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "hex with colons": lambda text: text.encode().hex(":"),
    "percent": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "HTML entities": lambda text: "".join(f"&#{ord(c)};" for c in text),
    "unicode escapes": lambda text: "".join(f"\\u{ord(c):04x}" for c in text),
    "byte escapes": lambda text: "".join(f"\\x{ord(c):02x}" for c in text),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "rot13 within a sentence": lambda text: "The file says: " + codecs.encode(text, "rot13"),
    "reversed": lambda text: text[::-1],
    "right-to-left override": lambda text: f"\u202e{text[::-1]}\u202c",
    "each word reversed": lambda text: " ".join(word[::-1] for word in text.split()),
    "digits for letters": lambda text: text.translate(str.maketrans("eiost", "31057")),
    "spaced letters": lambda text: "  ".join(" ".join(word) for word in text.split()),
    "spaced letters without word gaps": lambda text: " ".join(text.replace(" ", "")),
    "dotted letters": lambda text: " ".join(".".join(word) for word in text.split()),
    "dashed letters": lambda text: "-".join(text.replace(" ", "-")),
    "syllables": lambda text: text.replace("commit", "com-mit").replace("script", "scr-ipt"),
    "tags inside words": lambda text: text.replace("scr", "scr<b></b>"),
    "bits": lambda text: " ".join(f"{byte:08b}" for byte in text.encode()),
    "character codes": lambda text: " ".join(str(byte) for byte in text.encode()),
}
