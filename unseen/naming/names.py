"""What is asked of a list of class names before it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["checked_descriptions", "checked_names", "joined"]


def checked_names(names: Sequence[str]) -> list[str]:
    """Return the names as a list, or say what is wrong with them."""
    if isinstance(names, str):
        raise ValueError(f"names is one text, {names!r}. Give a list of class names.")
    names = [str(name) for name in names]
    if not names or not all(name.strip() for name in names):
        raise ValueError(f"There are {len(names)} names, some or all empty. Name each.")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"{sorted(twice)[0]!r} is named twice. Name each class once.")
    return names


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
