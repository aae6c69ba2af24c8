"""Words for messages: values as they are, but never longer than a line."""

import unicodedata
from typing import Any


def printable(text: Any, keep: str = "") -> str:
    r"""Return text that no terminal obeys: signs that cannot be printed as escapes.

    Whatever prints messages, names or paths sends them through here: names in files
    of strangers may hold escape sequences, NUL, or letters that turn the line around.
    Signs of ``keep`` stay, such as line feeds of a longer text.

    >>> print(printable("okapi\x1b[2J\0.jpg"), printable("caf\udce9"), printable("Zoë"))
    okapi\x1b[2J\x00.jpg caf\udce9 Zoë
    """
    return "".join(
        sign
        if sign.isprintable() or sign in keep or unicodedata.category(sign) == "Zs"
        else sign.encode("unicode_escape").decode("ascii")
        for sign in str(text)
    )


def how_many(n: int, one: str, several: str = "") -> str:
    """Return a number and what it counts, in the singular if it is one.

    >>> how_many(1, "row"), how_many(2000, "class", "classes")
    ('1 row', '2,000 classes')
    """
    return f"{n:,} {one if n == 1 else several or one + 's'}"


def shown(value: Any, most: int = 60) -> str:
    """Return how a value is written, cut if it is long.

    >>> shown("okapi"), shown("a" * 100, most=5)
    ("'okapi'", "'aaaa...")
    """
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def short_list(names: Any) -> str:
    """Name a few of many.

    >>> short_list(["a", "b", "c", "d"])
    "'a', 'b', 'c' and 1 more"
    """
    texts = [repr(n.item() if hasattr(n, "item") else n) for n in list(names)]
    more = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
    return ", ".join(texts[:3]) + more


def listed(keys: Any, most: int = 12) -> str:
    """Name a few of many, without quotes.

    >>> listed("abcd", most=2)
    'a, b, ...'
    """
    keys = [printable(" ".join(str(key).split())) for key in keys]
    keys = [key if len(key) <= 60 else f"{key[:60]}..." for key in keys]
    return ", ".join(keys[:most]) + (", ..." if len(keys) > most else "")
