"""Google API keys that are public by design, and so are no secrets.

A key of Google's (``AIza…``) opens what its owner lets it open, and nothing in it says what. It is
a secret, unless the text shows that it is handed to every visitor anyway, in one of the places that
Google documents for it:

- a client configuration of Firebase ("public by design": firebase.google.com/docs/projects/api-keys),
- the URL of the Maps script or frame, which stands in the page (developers.google.com/maps),
- a variable for Firebase or Maps that a bundler copies into the page by its prefix,
- or it is one of the example keys of Firebase's own SDK, which the rules of gitleaks list.

The same key beside a server's settings, in a web service's URL, or alone, stays a secret.
"""

from keepthread.validators.secret_values import compiled

HINT = "AIza"

_KEY = r"AIza[\w-]{35}"
_URL_MAX = 500
_FRONT_END = "|".join(
    "NEXT_PUBLIC NUXT_PUBLIC PUBLIC VITE REACT_APP VUE_APP EXPO_PUBLIC GATSBY".split()
)
_MAPS_URL = r"//maps\.google(?:apis)?\.com/maps/(?:api/js|embed/v1/\w{1,20})\?(?:[^\s\"'`<>]{0,400}[&;])?key=$"
_BUNDLED = (
    rf"(?<![A-Z0-9_])(?:{_FRONT_END})_(?=[A-Z0-9_]{{0,30}}(?:FIREBASE|MAPS?_))[A-Z0-9_]{{1,60}}"
    r"[\"'`]?[ \t]{0,3}[:=][ \t]{0,3}[\"'`]?$"
)
# The field that holds the key, a field that only such a configuration has, and how far off
# (characters) that may stand: Firebase for the web, for Android, for Apple.
_CONFIGURATIONS = (
    (
        r"\bapiKey\\{0,3}[\"']?[ \t]{0,3}:\s{0,20}\\{0,3}[\"'`]$",
        r"\b(?:authDomain|messagingSenderId)\b",
        600,
    ),
    (r"\"current_key\\{0,3}\"[ \t]{0,3}:\s{0,20}\\{0,3}\"$", r"\bmobilesdk_app_id\b", 3_000),
    (r"<key>API_KEY</key>\s{0,40}<string>$", r"<key>GOOGLE_APP_ID</key>", 3_000),
)
# The first 12 hex digits of the SHA-256 of each.
_PUBLISHED = frozenset(
    "2037abcaffb2 3f370c9dd822 e4a5542bb7fd a19f89ab3555 0b476bdf9acf eb540d2b6ee2 37f8f09bdf12 "
    "8731261cb72d 49f777db995e 27a9a42931df dc0fcf046c61 4c98242dcadc ea9bb1082cf9 3a8b61d0f636 "
    "a6c814bc555a".split()
)


def is_public_key(text: str, start: int, stop: int) -> bool:
    """Whether ``text[start:stop]`` is a key of Google's that ``text`` hands to everybody."""
    if stop - start > 60 or not compiled(_KEY).fullmatch(text, start, stop):
        return False
    before = text[max(0, start - _URL_MAX) : start]
    return (
        compiled(_MAPS_URL).search(before) is not None
        or compiled(_BUNDLED).search(before[-120:]) is not None
        or _is_configured(text, start, before[-80:])
        or _is_published(text[start:stop])
    )


def _is_configured(text: str, start: int, before: str) -> bool:
    """Whether the key fills the field of a client configuration that others of it surround."""
    return any(
        compiled(field).search(before)
        and compiled(other).search(text, max(0, start - far), start + far)
        for field, other, far in _CONFIGURATIONS
    )


def _is_published(key: str) -> bool:
    import hashlib  # noqa: PLC0415  only where such a key occurs

    return hashlib.sha256(key.encode()).hexdigest()[:12] in _PUBLISHED
