"""What a shell command says about files: which one it reads, which ones it writes.

Only simple commands are understood; anything else names no file, which costs a label, never a
wrong one.
"""

import re

_READERS = frozenset(("cat", "head", "tail", "sed", "grep", "rg", "less", "nl", "bat", "wc"))
_WORD = re.compile(r"""'([^']*)'|"([^"]*)"|([^\s'"]+)""")
_WRITES = re.compile(r"""(?:^|[^<>&0-9-])(?:>>?|&>)\s*(?:'([^']+)'|"([^"]+)"|([^\s'"&|;<>()]+))""")
_TEE = re.compile(r"""\btee\s+(?:-a\s+)?(?:'([^']+)'|"([^"]+)"|([^\s'"&|;<>()-][^\s'"&|;<>()]*))""")
_SHELL = re.compile(r"[|;&<>`$(){}\n]")


_OURS = re.compile(
    r"""(?:^|[;&|({`\n])\s{0,20}(?:\w+=\S*\s+){0,5}"""
    r"""(?:env\s+(?:\w+=\S*\s+){0,5})?(?:uvx\s+|python\S*\s+-m\s+)?"""
    r"""(?:[\w./~-]{0,200}/)?keepthread(?=\s|$)"""
)


def runs_keepthread(command: str) -> bool:
    """True when a shell command runs our own command line, however it is reached."""
    return bool(_OURS.search(command))


def file_read_by(command: str) -> str:
    """Return the one file a simple reading command (``cat``, ``sed -n``, ``head``, ``grep`` …) shows."""
    command = re.sub(r"^\s*cd\s+\S+\s*&&\s*", "", command, count=1).strip()
    command = re.sub(r"\s+2>\s*(?:/dev/null|&1)\s*$", "", command)
    words = ["".join(w) for w in _WORD.findall(command)]
    if (
        not words
        or words[0] not in _READERS
        or (_SHELL.search(command) and words[0] not in ("sed", "grep", "rg"))
    ):
        return ""
    if _SHELL.search(re.sub(r"""'[^']*'|"[^"$`]*\"""", "", command)):
        return ""
    plain = [w for w in words[1:] if not w.startswith("-") and not w.isdigit()]
    files = plain[1:] if words[0] in ("sed", "grep", "rg") else plain
    return files[0] if len(files) == 1 and not re.search(r"[*?\[]", files[0]) else ""


def files_written_by(command: str) -> list[str]:
    """Return the files a command writes by redirection or ``tee``; devices left out."""
    found = ["".join(m) for pattern in (_WRITES, _TEE) for m in pattern.findall(command)]
    return list(dict.fromkeys(f for f in found if not f.startswith("/dev/")))
