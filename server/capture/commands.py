"""What a shell command says about files: which one it reads, which ones it writes, and where it runs.

Only simple commands are understood; anything else names no file, which costs a label, never a
wrong one.
"""

import posixpath
import re

COMMAND_CHARS_MAX = 20_000
"""Beyond this a command is a script, and what it does to files is not looked for."""

_READERS = frozenset(("cat", "head", "tail", "sed", "grep", "rg", "less", "nl", "bat", "wc"))
_COPIERS = frozenset(("cp", "mv", "install"))
_FILES_MAX = 50
_ASSIGN = re.compile(
    r"""(?:^|[;&\n])[ \t]{0,20}(?:export[ ])?(\w{1,60})=['"]?([\w./~-]{1,300})(?=['"\s;&]|$)"""
)
_USED = re.compile(r"\$(?:(\w{1,60})|\{(\w{1,60})\})")
_SCRIPTED = re.compile(
    r"""\bopen\(\s{0,9}\\?['"]([^'"\\\n]{1,300})\\?['"]\s{0,9},\s{0,9}(?:mode=)?\\?['"][wax]"""
    r"""|\bPath\(\s{0,9}\\?['"]([^'"\\\n]{1,300})\\?['"]\s{0,9}\)\.write_"""
    r"""|\b(?:write|append)File(?:Sync)?\(\s{0,9}\\?['"]([^'"\\\n]{1,300})"""
)
_WITH_PATTERN = ("sed", "grep", "rg")
_WORD = re.compile(r"""'([^']*)'|"([^"]*)"|([^\s'"]+)""")
_MOVE = re.compile(r"""\s*cd\s+(?:'([^']+)'|"([^"$`]+)"|([^\s'"$`~;&|()<>*?]+))\s*(?:&&|;)""")
_ANY_MOVE = re.compile(r"\s*(?:cd|pushd)\b")
_QUOTED_WORDS = re.compile(r"""'[^']*'|"[^"$`]*\"""")
_SHELL = re.compile(r"[|;&<>`$(){}\n]")

_PIECE = re.compile(
    r"""(?P<write>(?:(?<![\d&=-])&?>>?|\btee\b(?:\s+-a)?)\s*)"""
    r"""(?:'(?P<single>[^']+)'|"(?P<double>[^"]+)"|(?P<plain>[^\s'"&|;<>()-][^\s'"&|;<>()]*))"""
    r"""|'[^']*'|"[^"]*\""""
)
_TOKEN = re.compile(r"""'([^']*)'|"([^"]*)"|([^\s'";&|()<>]+)|([;&|\n()])""")
_QUOTES = re.compile(r"""['"\\]""")
_HERE = re.compile(r"""<<-?\s*['"]?(\w+)""")


_NAMING = frozenset("cd pushd ls grep rg cat head tail wc mkdir git gh pip pip3".split())
"""Commands to which our name is a folder, a text or a package, and which run nothing by it."""

_STARTS = re.compile(r"[;&|()`{}\n!<>]")
_BETWEEN = re.compile(r"[\s,=\[\]]+")
_ASSIGNED = re.compile(r"\A\s{0,20}(?:env\s+)?(?:\w+=[^\s;&|]*\s+)*")
_OUR_MODULE = re.compile(r"(?:-m|\bimport|\bfrom)\s{0,20}keepthread(?![\w/-])")
_OUR_DATABASE = re.compile(r"\$\{?KEEPTHREAD_DB\b")
_FILED = re.compile(r"\s*(?:cat|tee)\b[^|]*$")


def runs_keepthread(command: str) -> bool:
    """True when a shell command may run our own command line, or shows our database.

    Our name as a word of a command or of a text handed to one counts, however it is reached: an
    ordinary call taken for ours can only not be cited.
    """
    if _OUR_DATABASE.search(command):
        return True
    if "keepthread" not in _QUOTES.sub("", command):
        return False
    command = _QUOTES.sub("", _without_here_documents(command, _FILED))
    if "memory.db" in command or _OUR_MODULE.search(command):
        return True
    return any(_may_run_ours(part) for part in _STARTS.split(command) if "keepthread" in part)


def _may_run_ours(command: str) -> bool:
    words = [w for w in _BETWEEN.split(command) if w]
    first = _BETWEEN.split(_ASSIGNED.sub("", command).strip(), maxsplit=1)[0]
    return first not in _NAMING and any(posixpath.basename(w) == "keepthread" for w in words)


def expand(command: str) -> str:
    """Replace the variables that a command sets itself to a plain word, and the folder it runs in."""
    command = command[:COMMAND_CHARS_MAX]
    known = {"PWD": ".", "HOME": "~"} | dict(_ASSIGN.findall(command))
    return _USED.sub(lambda m: known.get(m[1] or m[2], m[0]), command)


def files_shown_by(command: str) -> list[str]:
    """Return every file that a reading command shows, alone or among others: what may be in the output."""
    command = _HERE.sub("", _without_here_documents(command[:COMMAND_CHARS_MAX]))
    readers = [words for words in _simple_commands(command) if words[0] in _READERS]
    words = [w for reader in readers for w in _plain_words(reader)]
    return list(dict.fromkeys(words))[:_FILES_MAX]


def file_read_by(command: str) -> str:
    """Return the one file a simple reading command (``cat``, ``sed -n``, ``head``, ``grep`` …) shows."""
    command = command[:COMMAND_CHARS_MAX]
    moved = _MOVE.match(command)
    command = command[moved.end() if moved else 0 :].strip()
    command = re.sub(r"(?<!\s)\s+2>\s*(?:/dev/null|&1)$", "", command)
    words = ["".join(w) for w in _WORD.findall(command)]
    if not words or words[0] not in _READERS or _SHELL.search(_QUOTED_WORDS.sub("", command)):
        return ""
    name = words[0]
    if _edits_in_place(words):
        return ""
    plain = _plain_words(words)
    files = plain[1:] if name in _WITH_PATTERN else plain
    return files[0] if len(files) == 1 and not re.search(r"[*?\[]", files[0]) else ""


def files_written_by(command: str) -> list[str]:
    """Return the files a command writes: by redirection, ``tee``, ``sed -i``, a copy, a short script.

    Devices are left out.
    """
    scripted = ["".join(names) for names in _SCRIPTED.findall(command[:COMMAND_CHARS_MAX])]
    command = _without_here_documents(command[:COMMAND_CHARS_MAX])
    found = [
        m["single"] or m["double"] or m["plain"] for m in _PIECE.finditer(command) if m["write"]
    ]
    for words in _simple_commands(command):
        if _edits_in_place(words):
            found.append(words[-1])
        elif words[0] in _COPIERS:
            found += _copies(words)
        elif words[0] == "dd":
            found += [w[3:] for w in words if w.startswith("of=")]
    found += scripted
    return list(dict.fromkeys(f for f in found if f and not f.startswith("/dev/")))


def working_folder(command: str, cwd: str) -> str | None:
    """Return the folder a command works in; None when its ``cd`` leads where nobody can tell.

    ``cwd`` is the client's folder, told before or after the ``cd``.
    """
    moved = _MOVE.match(command)
    if moved is None:
        return None if _ANY_MOVE.match(command) else cwd
    to = posixpath.normpath("".join(filter(None, moved.groups())))
    if to.startswith("-"):
        return None
    return cwd if f"{cwd}/".endswith(f"/{to}/") else posixpath.normpath(posixpath.join(cwd, to))


def _plain_words(words: list[str]) -> list[str]:
    """Return the words of a command that are neither its name, nor options, nor their numbers."""
    return [w for w in words[1:] if not re.match(r"-|\+?\d+$", w)]


def _edits_in_place(words: list[str]) -> bool:
    return words[0] == "sed" and any(re.match(r"-\w*i|--in-place", w) for w in words[1:-1])


def _copies(words: list[str]) -> list[str]:
    """Return what a copy makes: its last word, and each file in it where that may be a folder."""
    plain = _plain_words(words)
    if len(plain) < 2:
        return []
    to = plain[-1]
    inside = [posixpath.join(to, posixpath.basename(w)) for w in plain[:-1]][:_FILES_MAX]
    if to.endswith("/") or to in (".", "..") or len(plain) > 2:
        return inside
    return [to] if "." in posixpath.basename(to) else [to, *inside]


def _simple_commands(command: str) -> list[list[str]]:
    """Return the words of each command between ``;``, ``&&``, ``|`` and line ends."""
    commands: list[list[str]] = [[]]
    for single, double, plain, end in _TOKEN.findall(command):
        if end:
            commands.append([])
        else:
            commands[-1].append(single or double or plain)
    return [words for words in commands if words]


def _without_here_documents(command: str, fed_to: re.Pattern[str] | None = None) -> str:
    """Leave out here documents: all, or those of commands that match ``fed_to``."""
    lines: list[str] = []
    until = ""
    for line in command.split("\n"):
        if until:
            until = "" if line.strip() == until else until
            continue
        lines.append(line)
        here = _HERE.search(line)
        until = here[1] if here and (fed_to is None or fed_to.match(line)) else ""
    return "\n".join(lines)
