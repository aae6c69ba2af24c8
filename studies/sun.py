"""Scenes described by the attributes that the SUN attribute database gives them.

Beside a folder ``photos`` with a set of scenes lie a table of SUN (``class_side.npz``:
how many of those who looked saw each of 102 attributes in a class) and a table of which
of SUN's classes each folder is (``scene15_to_sun.csv``). What ``unseen label`` is given
is the table of attributes of the folders, as a person would write it into a CSV file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from unseen.naming.classes import read_classes

__all__ = ["ATTRIBUTES", "described_by_sun"]

# In the order of the database (Patterson & Hays, CVPR 2012).
ATTRIBUTES = """
    sailing, driving, biking, transporting things or people, sunbathing, touring,
    hiking, climbing, camping, reading, studying, teaching, research, diving,
    swimming, bathing, eating, cleaning, socializing, congregating, queuing,
    competing, sports, exercise, playing, gaming, spectating, farming, constructing,
    shopping, medical activity, working, using tools, digging, conducting business,
    praying, fencing, railing, wire, railroad, trees, grass, vegetation, shrubbery,
    foliage, leaves, flowers, asphalt, pavement, shingles, carpet, brick, tiles,
    concrete, metal, paper, wood, linoleum, plastic, cloth, sand, rock, soil,
    marble, glass, waves, ocean, running water, still water, ice, snow, clouds,
    smoke, fire, natural light, sunny, indoor lighting, aged, glossy, matte,
    sterile, damp, dry, dirty, rusty, warm, cold, natural, man-made, open area,
    semi-enclosed area, enclosed area, far-away horizon, no horizon, rugged scene,
    vertical, horizontal, symmetrical, cluttered space, scary, soothing, stressful
"""


def described_by_sun(folder: Path) -> dict[str, str]:
    """Return what each class of a folder of scenes is described by.

    Parameters
    ----------
    folder : Path
        Of the set; the tables are two folders above it.
    """
    home = folder.resolve().parents[1]
    with np.load(home / "class_side.npz", allow_pickle=False) as file:
        values, known = file["sun_att_raw"], file["sun_class_names"]
    names = " ".join(ATTRIBUTES.split()).split(", ")
    table = pd.DataFrame(values.astype(float), index=known, columns=names)
    same = pd.read_csv(home / f"{folder.name}_to_sun.csv").set_index(folder.name)
    return read_classes(table.loc[same["sun_class"]].set_axis(same.index)).descriptions
