"""The public benchmark archives: where they are, their terms, and whom to cite.

A checksum stands here only if its source is known. Where there is none, the first
download is trusted, its SHA-256 is written down, and later ones must match it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CATALOGUE", "Benchmark"]

UNSTATED = "The source states no licence for these files; ask before you pass them on."
XIAN = (
    "Y. Xian, C. H. Lampert, B. Schiele, Z. Akata: Zero-Shot Learning - A "
    "Comprehensive Evaluation of the Good, the Bad and the Ugly. IEEE TPAMI, 2018."
)


@dataclass(frozen=True)
class Benchmark:
    """A public archive.

    Parameters
    ----------
    title : str
    url : str
    licence : str
        What the source says, in a sentence.
    citation : str
    checksum : str or None
        ``"md5:..."`` or ``"sha256:..."``; None if the source gives none.
    below : str
        Folder inside the archive that ``load_data`` takes.
    note : str
        What else is needed.

    Examples
    --------
    >>> from unseen.loading.catalogue import CATALOGUE
    >>> list(CATALOGUE)
    ['xlsa17', 'awa2-base', 'awa2-features', 'cub', 'sun-attributes']
    >>> CATALOGUE["cub"].checksum
    'md5:97eceeb196236b17998738112f37df78'
    """

    title: str
    url: str
    licence: str
    citation: str
    checksum: str | None = None
    below: str = ""
    note: str = ""


CATALOGUE: dict[str, Benchmark] = {
    "xlsa17": Benchmark(
        title="ResNet-101 features and proposed splits of AwA1, AwA2, CUB, SUN, aPY",
        url="https://datasets.d2.mpi-inf.mpg.de/xian/xlsa17.zip",
        licence=UNSTATED,
        citation=XIAN,
        below="xlsa17/data",
        note="About 0.9 GB. Load a set by its folder, such as xlsa17/data/CUB.",
    ),
    "awa2-base": Benchmark(
        title="Animals with Attributes 2: classes, attributes, split",
        url="https://cvml.ista.ac.at/AwA2/AwA2-base.zip",
        licence=UNSTATED,
        citation=XIAN,
        below="Animals_with_Attributes2",
        note="32 kB, no features: see awa2-features.",
    ),
    "awa2-features": Benchmark(
        title="Animals with Attributes 2: ResNet-101 features",
        url="https://cvml.ista.ac.at/AwA2/AwA2-features.zip",
        licence=UNSTATED,
        citation=XIAN,
        below="Animals_with_Attributes2",
        note="Features as text: put awa2-base beside them and convert the set once.",
    ),
    "cub": Benchmark(
        title="Caltech-UCSD Birds 200-2011: images, labels, attributes",
        url="https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz",
        licence="Images belong to their photographers; read the source's page first.",
        citation=(
            "C. Wah, S. Branson, P. Welinder, P. Perona, S. Belongie: The Caltech-UCSD "
            "Birds-200-2011 Dataset. CNS-TR-2011-001, Caltech, 2011."
        ),
        checksum="md5:97eceeb196236b17998738112f37df78",
        below="CUB_200_2011",
        note="1.1 GB of images, no features: save features.npy among its files.",
    ),
    "sun-attributes": Benchmark(
        title="SUN Attribute database: attributes of 14,340 images",
        url="https://cs.brown.edu/~gmpatter/Attributes/SUNAttributeDB.tar.gz",
        licence=UNSTATED,
        citation=(
            "G. Patterson, C. Xu, H. Su, J. Hays: The SUN Attribute Database. "
            "IJCV 108(1-2), 2014."
        ),
        below="SUNAttributeDB",
        note="0.5 MB, no features: save features.npy among its files.",
    ),
}
