"""Ways to damage a file: blind ones for bytes, knowing ones for text.

Every mutation takes the content and a seeded ``random.Random`` and returns other
content. The same seed gives the same damage.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

Mutation = Callable[[bytes, random.Random], bytes]

ODD_NUMBERS = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000]
ODD_NUMBERS += [0xFFFFFFFF, 0x100000000, 2**63 - 1, 2**63, 2**64 - 1]
ODD_WORDS = [
    "",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "1e999",
    "-1",
    "0",
    "99999999999999999999",
]
ODD_WORDS += ["1" * 5000, "é", "\u2028", "'", '"', "a" * 3000, "../..", "[[[[", "{}"]
ODD_WORDS += ["true", "null", "1_0", "0x10", "$", "%s", "\ufeff", "x\ty", "None"]
SIGNS = [",", ";", "\t", " ", "\n", "\r\n", "=", ":", '"', "."]


def flip_bits(content: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def change_bytes(content: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 3, 20])):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


def cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content))]


def lose_the_start(content: bytes, rng: random.Random) -> bytes:
    return content[rng.randrange(1, min(len(content), 200) + 1) :]


def delete(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content))
    return content[:place] + content[place + rng.choice([1, 2, 4, 8, 100]) :]


def insert(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content) + 1)
    return (
        content[:place] + rng.randbytes(rng.choice([1, 2, 4, 8, 100])) + content[place:]
    )


def splice(content: bytes, rng: random.Random) -> bytes:
    """Copy one piece of the file over another."""
    size = rng.randrange(1, min(len(content), 256) + 1)
    source, target = (rng.randrange(len(content) - size + 1) for _ in range(2))
    piece = content[source : source + size]
    return content[:target] + piece + content[target + size :]


def repeat(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content))
    size = rng.randrange(1, min(len(content) - place, 300) + 1)
    piece = content[place : place + size]
    return content[:place] + piece * rng.choice([2, 3, 50]) + content[place + size :]


def zero(content: bytes, rng: random.Random) -> bytes:
    place, size = rng.randrange(len(content)), rng.choice([1, 4, 16, 512])
    blank = bytes(min(size, len(content) - place))
    return content[:place] + blank + content[place + size :]


def edit_number(content: bytes, rng: random.Random) -> bytes:
    """Put an odd number where a length or a count may stand."""
    form = rng.choice(["<H", "<I", "<Q", ">H", ">I", ">Q"])
    size = struct.calcsize(form)
    value = rng.choice(ODD_NUMBERS) & (2 ** (8 * size) - 1)
    if len(content) < size:
        return content + b"\xff"
    # Lengths stand at the start, at the end, and at even places.
    near = rng.choice([len(content), 128, 1024])
    place = rng.randrange(min(near, len(content) - size + 1))
    if rng.random() < 0.3:
        place = len(content) - size - rng.randrange(min(64, len(content) - size + 1))
    if rng.random() < 0.7:
        place -= place % min(size, 4)
    return content[:place] + struct.pack(form, value) + content[place + size :]


def nudge_number(content: bytes, rng: random.Random) -> bytes:
    """Add to or take from a number of four bytes."""
    if len(content) < 4:
        return content + b"\0"
    place = rng.randrange(0, len(content) - 3)
    value = int.from_bytes(content[place : place + 4], "little")
    value = (value + rng.choice([-1, 1, -8, 8, 256, -256])) % 2**32
    return content[:place] + value.to_bytes(4, "little") + content[place + 4 :]


def empty(_content: bytes, _rng: random.Random) -> bytes:
    return b""


def swap_sign(content: bytes, rng: random.Random) -> bytes:
    old, new = (sign.encode() for sign in rng.sample(SIGNS, 2))
    return content.replace(old, new, rng.choice([1, 3, -1]))


def _lines(content: bytes) -> list[bytes]:
    return content.split(b"\n")


def delete_column(content: bytes, rng: random.Random) -> bytes:
    sign = max([b",", b" ", b"\t", b";"], key=content.count)
    column = rng.randrange(8)
    kept = [
        sign.join(f for i, f in enumerate(line.split(sign)) if i != column)
        for line in _lines(content)
    ]
    return b"\n".join(kept)


def edit_lines(content: bytes, rng: random.Random) -> bytes:
    """Lose, double, swap or empty a line."""
    lines = _lines(content)
    row = rng.randrange(len(lines))
    how = rng.randrange(4)
    if how == 0:
        del lines[row]
    elif how == 1:
        lines.insert(row, lines[row])
    elif how == 2:
        other = rng.randrange(len(lines))
        lines[row], lines[other] = lines[other], lines[row]
    else:
        lines[row] = b""
    return b"\n".join(lines)


def edit_field(content: bytes, rng: random.Random) -> bytes:
    sign = max([b",", b" ", b"\t", b";", b"="], key=content.count)
    lines = _lines(content)
    row = rng.randrange(len(lines))
    fields = lines[row].split(sign)
    fields[rng.randrange(len(fields))] = rng.choice(ODD_WORDS).encode()
    lines[row] = sign.join(fields)
    return b"\n".join(lines)


def byte_order_mark(content: bytes, rng: random.Random) -> bytes:
    mark = rng.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"])
    return mark + content


def nul(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content) + 1)
    return content[:place] + b"\0" * rng.choice([1, 500]) + content[place:]


def other_encoding(content: bytes, rng: random.Random) -> bytes:
    text = content.decode("utf-8", "replace")
    return text.encode(rng.choice(["utf-16", "utf-32", "latin-1"]), "replace")


BYTES: list[Mutation] = [
    flip_bits,
    flip_bits,
    change_bytes,
    cut,
    lose_the_start,
    delete,
    insert,
    splice,
    repeat,
    zero,
    edit_number,
    edit_number,
    nudge_number,
    empty,
]
TEXT: list[Mutation] = [
    swap_sign,
    delete_column,
    edit_lines,
    edit_field,
    edit_field,
    edit_field,
    byte_order_mark,
    nul,
    other_encoding,
]


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Damage content once or a few times; text gets knowing damage as well."""
    is_text = b"\0" not in content
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if not content:
            break
        known = TEXT if is_text and rng.random() < 0.7 else BYTES
        content = rng.choice(known)(content, rng)
    return content
