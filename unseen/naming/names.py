"""What is asked of a list of class names before it is used, and how one is said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "broken_name",
    "checked_descriptions",
    "checked_names",
    "joined",
    "spoken",
    "twice",
]

# cardLost -> card Lost, HTTPError -> HTTP Error
HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def checked_names(names: Sequence[str]) -> list[str]:
    """Return the names as a list, or say what is wrong with them."""
    if isinstance(names, str):
        raise ValueError(f"names is one text, {names!r}. Give a list of class names.")
    names = [str(name) for name in names]
    if not names or not all(name.strip() for name in names):
        raise ValueError(f"There are {len(names)} names, some or all empty. Name each.")
    if (again := twice(names)) is not None:
        raise ValueError(f"{again!r} is named twice. Name each class once.")
    if (broken := broken_name(names)) is not None:
        raise ValueError(f"{broken!r} runs over several lines. Give names of one line.")
    return names


def twice(names: Iterable[str]) -> str | None:
    """Return the first name that was there before, None if there is none.

    Examples
    --------
    >>> from unseen.naming.names import twice
    >>> twice(["cat", "dog", "cat"])
    'cat'
    """
    known: set[str] = set()
    for name in names:
        if name in known:
            return name
        known.add(name)
    return None


def broken_name(names: Iterable[str]) -> str | None:
    r"""Return the first name that runs over several lines, None if there is none.

    Examples
    --------
    >>> from unseen.naming.names import broken_name
    >>> broken_name(["cat", "sea\nlion"])
    'sea\nlion'
    """
    return next((name for name in names if len(name.splitlines()) > 1), None)


def checked_descriptions(
    descriptions: Mapping | None, names: list[str]
) -> dict[str, str]:
    """Return the descriptions; all must be of a class that is named."""
    texts = {str(name): str(text) for name, text in (descriptions or {}).items()}
    strange = sorted(set(texts) - set(names))
    if strange:
        raise ValueError(f"{strange[0]!r} is described, but no class has that name.")
    return texts


def joined(name: str, descriptions: Mapping[str, str]) -> str:
    """Return a name and its description, as one text."""
    return f"{name}, {descriptions[name]}" if descriptions.get(name) else name


def spoken(name: str) -> str:
    """Return a name as one would say it: words apart, however they were joined.

    Examples
    --------
    >>> from unseen.naming.names import spoken
    >>> spoken("card_payment-fee"), spoken("cardLost"), spoken("HTTPError")
    ('card payment fee', 'card Lost', 'HTTP Error')
    """
    parts = re.sub(r"[_/|.]+|(?<=\w)-(?=\w)", " ", HUMPS.sub(" ", name))
    return " ".join(parts.split()) or name
