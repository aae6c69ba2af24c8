"""Build ``unseen/naming/data/nouns.tsv.gz``: English nouns in ImageNet's tree.

    python tools/build_nouns.py --wordnet DICT --synsets imagenet_synsets.txt

DICT is the folder of WordNet 3.0 with ``data.noun`` and ``index.noun`` (Debian's
package ``wordnet-base`` has it); the synset list is in the wheel of ``timm``, under
``timm/data/_info``. The file has two parts, split by an empty line:

    node    wnid, its words, the numbers of its parents     ImageNet's 1,000 first
    noun    the numbers of the lowest nodes that its first physical sense is a kind of
"""

import argparse
import gzip
from pathlib import Path

PHYSICAL = "n00001930"
OUT = Path(__file__).parents[1] / "unseen" / "naming" / "data" / "nouns.tsv.gz"


def read_synsets(path):
    """Return wnid → (words, wnids of what it is a kind of)."""
    synsets = {}
    for line in path.read_text(encoding="latin-1").splitlines():
        if line.startswith(" "):
            continue  # the licence
        parts = line.split("|")[0].split()
        n_words = int(parts[3], 16)
        words = [word.replace("_", " ") for word in parts[4 : 4 + 2 * n_words : 2]]
        pointers = parts[5 + 2 * n_words :]
        up = [
            "n" + pointers[i + 1]
            for i in range(0, len(pointers) - 3, 4)
            if pointers[i] in ("@", "@i")
        ]
        synsets[f"n{parts[0]}"] = words, up
    return synsets


def read_senses(path):
    """Return noun → its wnids, the most frequent sense first."""
    senses = {}
    for line in path.read_text(encoding="latin-1").splitlines():
        if not line.startswith(" "):
            parts = line.split()
            wnids = parts[-int(parts[2]) :]
            senses[parts[0].replace("_", " ")] = [f"n{wnid}" for wnid in wnids]
    return senses


def lineage(wnid, synsets):
    """Return a synset and all it is a kind of."""
    found, waiting = set(), [wnid]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += synsets[one][1]
    return found


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


def main():
    """Read WordNet, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--synsets", type=Path, required=True)
    options = parser.parse_args()
    synsets = read_synsets(options.wordnet / "data.noun")
    senses = read_senses(options.wordnet / "index.noun")
    leaves = options.synsets.read_text().split()
    inner = set().union(*(lineage(leaf, synsets) for leaf in leaves)) - set(leaves)
    nodes = {wnid: i for i, wnid in enumerate([*leaves, *sorted(inner)])}
    lines = [
        f"{wnid}\t{', '.join(synsets[wnid][0])}\t"
        + ",".join(str(nodes[up]) for up in synsets[wnid][1])
        for wnid in nodes
    ]
    lines.append("")
    for noun, wnids in sorted(senses.items()):
        physical = (w for w in wnids if PHYSICAL in lineage(w, synsets))
        first = next(physical, None)
        if first is not None:
            lines.append(f"{noun}\t{','.join(map(str, lowest(first, synsets, nodes)))}")
    text = "\n".join(lines) + "\n"
    OUT.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{OUT}: {len(nodes)} nodes, {len(lines) - len(nodes) - 1} nouns")


if __name__ == "__main__":
    main()
