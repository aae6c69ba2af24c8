"""Handwritten digits with a hand-written table of attributes: the bundled set.

The images are scikit-learn's ``load_digits``: 1,797 scans of 8 × 8 pixels in 17 grey
levels (UCI Optical Recognition of Handwritten Digits, the test part).
"""

import numpy as np
import pandas as pd

from unseen.data import ZeroShotData, fuse_tables

__all__ = ["load_digits_attributes"]

# Judged by how people usually write the digit, not by a count over these images.
#
# Segments: the bars of a pocket calculator's digit, 1 where ink runs there. Two bars
# are taken from the hand, not the calculator: a written 6 curls in below a bare top,
# so its top bar is half; a written 9 often ends in a straight tail, so its bottom bar
# is half.
SEGMENTS = """
    top  top_left  top_right  middle  bottom_left  bottom_right  bottom
0    1       1         1        0          1            1           1
1    0       0         1        0          0            1           0
2    1       0         1        1          1            0           1
3    1       0         1        1          0            1           1
4    0       1         1        1          0            1           0
5    1       1         0        1          0            1           1
6   0.5      1         0        1          1            1           1
7    1       0         1        0          0            1           0
8    1       1         1        1          1            1           1
9    1       1         1        1          0            1          0.5
"""

# Strokes: what the pen does, each on a scale from 0 to 1.
#   loops       closed loops, in halves: 8 has two (1), 0, 6 and 9 one (0.5); an open 4
#               has none
#   curves      share of the line that bends: 1 all of it, 0 none
#   vertical    an upright straight stroke: the stem of 1, 4 and often 9
#   horizontal  a level straight stroke: the foot of 2, the bar of 4, the roof of 5, 7
#   diagonal    a slanting straight stroke: the neck of 2, the arm of 4, the leg of 7
#   crossing    two strokes cross: the middle of 8, the stem of 4
#   open_left   a bay open to the left: one in 2, 5, 7, 9, two in 3 (1)
STROKES = """
    loops  curves  vertical  horizontal  diagonal  crossing  open_left
0    0.5     1        0          0           0         0         0
1     0      0        1          0           0         0         0
2     0     0.5       0          1           1         0        0.5
3     0      1        0          0           0         0         1
4     0      0        1          1          0.5        1         0
5     0     0.5      0.5         1           0         0        0.5
6    0.5     1        0          0           0         0         0
7     0      0        0          1           1         0        0.5
8     1      1        0          0           0         1         0
9    0.5    0.5       1          0           0         0        0.5
"""


def load_digits_attributes() -> ZeroShotData:
    """Load the bundled digits: scikit-learn's images and attributes of their shapes.

    Returns
    -------
    ZeroShotData
        Pixels from 0 to 1, classes "0" to "9"; 2, 5 and 8 are unseen. Use
        ``with_unseen`` to hold out others. Two class tables are fused: ``segments``
        (seven bars, as on a pocket calculator) and ``strokes`` (loops, curves,
        straight strokes, ...); ``with_tables`` takes one.

    Examples
    --------
    >>> from unseen.loading import load_digits_attributes
    >>> data = load_digits_attributes()
    >>> data.class_embeddings.loc["4", "strokes"].to_dict()
    {'loops': 0.0, 'curves': 0.0, 'vertical': 1.0, 'horizontal': 1.0,
     'diagonal': 0.5, 'crossing': 1.0, 'open_left': 0.0}
    """
    from sklearn.datasets import load_digits

    images = load_digits()
    tables = {"segments": _parse(SEGMENTS), "strokes": _parse(STROKES)}
    return ZeroShotData(
        name="digits",
        X=images.data / 16,
        y=images.target.astype(str),
        class_embeddings=fuse_tables(tables),
        unseen=np.array(["2", "5", "8"]),
    )


def _parse(table: str) -> pd.DataFrame:
    header, *lines = (line.split() for line in table.strip().splitlines())
    names = [name for name, *_ in lines]
    values = np.array([cells for _, *cells in lines], dtype=float)
    return pd.DataFrame(values, index=names, columns=header)
