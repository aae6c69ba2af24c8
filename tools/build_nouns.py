"""Build ``unseen/naming/data/nouns.tsv.gz``: English nouns in ImageNet's tree.

    python tools/build_nouns.py --wordnet DICT --synsets imagenet_synsets.txt

DICT is the folder of WordNet 3.0 with ``data.noun``, ``index.noun``, ``index.adj``,
``noun.exc`` and ``cntlist.rev`` (Debian's package ``wordnet-base`` has it); the synset
list is in the wheel of ``timm``, under ``timm/data/_info``. The file has four parts,
split by empty lines:

    node        wnid, its words, the numbers of its parents, how many synsets are below
                it (or it), and what WordNet says it is    ImageNet's 1,000 first
    noun        its senses, the most frequent first, between bars
    plural      irregular, and its singular
    adjective   those that were met in the texts WordNet counted

Nouns are written in small letters and digits, with spaces for all other signs. A sense
is the numbers of the lowest nodes it is a kind of, with ``=`` before them if it is the
node itself, and ``*`` and a count behind them if the counted texts have it. Then ``~``
and a share in percent follow: how much of what WordNet knows of the sense is said by
nodes, that of all synsets above it being -log(share of synsets below them). Senses that
are one single thing (Paris, Einstein) are left out, but ``@`` stands first if such a
one is the most frequent. Senses that are no physical thing are left out if the noun has
one that is.
"""

import argparse
import gzip
import math
import re
from collections import Counter
from pathlib import Path

PHYSICAL = "n00001930"
OUT = Path(__file__).parents[1] / "unseen" / "naming" / "data" / "nouns.tsv.gz"


def lines_of(path):
    """Return the lines of a file of WordNet without its licence."""
    lines = path.read_text(encoding="latin-1").splitlines()
    return [line for line in lines if not line.startswith(" ")]


def read_synsets(path):
    """Return wnid → (words, what it is a kind of, is it one single thing, gloss)."""
    synsets = {}
    for line in lines_of(path):
        told, gloss = line.split("|", maxsplit=1)
        parts = told.split()
        n_words = int(parts[3], 16)
        words = [word.replace("_", " ") for word in parts[4 : 4 + 2 * n_words : 2]]
        pointers = parts[5 + 2 * n_words :]
        kinds = range(0, len(pointers) - 3, 4)
        up = ["n" + pointers[i + 1] for i in kinds if pointers[i] == "@"]
        single = any(pointers[i] == "@i" for i in kinds)
        gloss = re.sub(r';?\s*".*', "", gloss).strip()  # without examples of its use
        synsets[f"n{parts[0]}"] = words, up, single, gloss
    return synsets


def read_senses(path):
    """Return noun → its wnids, the most frequent sense first."""
    senses = {}
    for line in lines_of(path):
        parts = line.split()
        wnids = parts[-int(parts[2]) :]
        senses[parts[0].replace("_", " ")] = [f"n{wnid}" for wnid in wnids]
    return senses


def read_counts(path):
    """Return (word, part of speech) → how often each sense was met, by its number."""
    counts = {}
    for line in lines_of(path):
        key, number, count = line.split()
        word, code = key.split("%")
        # adjectives are coded 3, or 5 as satellites of others
        entry = counts.setdefault((word.replace("_", " "), code[0]), {})
        entry[int(number)] = int(count)
    return counts


def plain(noun):
    """Return a noun with spaces for hyphens, apostrophes and dots."""
    return " ".join("".join(c if c.isalnum() else " " for c in noun).split())


def lineage(wnid, synsets):
    """Return a synset and all it is a kind of."""
    found, waiting = set(), [wnid]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += synsets[one][1]
    return found


def count_below(synsets):
    """Return how many synsets are below each, or it."""
    return Counter(above for wnid in synsets for above in lineage(wnid, synsets))


def known_share(wnid, synsets, nodes, below):
    """Return which share of what is above a synset the nodes say, in percent."""
    says = {up: -math.log(below[up] / len(synsets)) for up in lineage(wnid, synsets)}
    own = sum(value for up, value in says.items() if up in nodes)
    return round(100 * own / sum(says.values()))


def lowest(wnid, synsets, nodes):
    """Return the nodes met first on every way up from a synset."""
    found, waiting = set(), [wnid]
    while waiting:
        one = waiting.pop()
        if one in nodes:
            found.add(nodes[one])
        else:
            waiting += synsets[one][1]
    return sorted(found)


def sense_texts(wnids, counts, synsets, nodes, below):
    """Return the senses of a noun as they are written; equal places are one sense.

    The most frequent of them says how much is known.
    """
    senses, known = {}, {}
    kept = [(n, w) for n, w in enumerate(wnids, start=1) if not synsets[w][2]]
    physical = [
        (n, w) for n, w in kept if w in nodes or PHYSICAL in lineage(w, synsets)
    ]
    for number, wnid in physical or kept:
        place = ",".join(map(str, lowest(wnid, synsets, nodes)))
        key = f"={place}" if wnid in nodes else place
        senses[key] = senses.get(key, 0) + counts.get(number, 0)
        if wnid not in nodes:
            known.setdefault(key, f"~{known_share(wnid, synsets, nodes, below)}")
    found = [
        f"{key}{f'*{count}' if count else ''}{known.get(key, '')}"
        for key, count in senses.items()
    ]
    return (["@"] if synsets[wnids[0]][2] else []) + found


def main():
    """Read WordNet, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--synsets", type=Path, required=True)
    options = parser.parse_args()
    synsets = read_synsets(options.wordnet / "data.noun")
    senses = read_senses(options.wordnet / "index.noun")
    counts = read_counts(options.wordnet / "cntlist.rev")
    leaves = options.synsets.read_text().split()
    inner = set().union(*(lineage(leaf, synsets) for leaf in leaves)) - set(leaves)
    nodes = {wnid: i for i, wnid in enumerate([*leaves, *sorted(inner)])}
    below = count_below(synsets)
    parts = {"nodes": [], "nouns": [], "plurals": [], "adjectives": []}
    for wnid in nodes:
        words, up, _single, gloss = synsets[wnid]
        above = ",".join(str(nodes[one]) for one in up)
        row = wnid, ", ".join(words), above, str(below[wnid]), gloss
        parts["nodes"].append("\t".join(row))
    found = {}
    for noun, wnids in sorted(senses.items()):
        met = counts.get((noun, "1"), {})
        own = sense_texts(wnids, met, synsets, nodes, below)
        found.setdefault(plain(noun), {}).update(dict.fromkeys(own))
    parts["nouns"] = [f"{noun}\t{'|'.join(own)}" for noun, own in found.items() if own]
    for line in lines_of(options.wordnet / "noun.exc"):
        plural, singular = (word.replace("_", " ") for word in line.split()[:2])
        if plural != singular and singular in senses:
            parts["plurals"].append(f"{plain(plural)}\t{plain(singular)}")
    met = {word for word, code in counts if code in "35" and " " not in word}
    parts["adjectives"] = sorted(word for word in met if word.isalpha())
    text = "\n\n".join("\n".join(lines) for lines in parts.values()) + "\n"
    OUT.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    found = ", ".join(f"{len(lines)} {name}" for name, lines in parts.items())
    print(f"{OUT}: {found}")


if __name__ == "__main__":
    main()
