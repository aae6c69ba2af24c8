"""Take labels on to other programs: folders by class, and what other tools read.

names.py      names that every file system takes, none of them twice
selecting.py  which rows go, and where their photos or texts are
placing.py    photos copied, linked or moved, never over anything
formats.py    folders, imagefolder, coco, fiftyone, xmp
tasks.py      Label Studio's tasks
parquet.py    Hugging Face data sets as parquet
export.py     all of it: a plan first, then the work
"""
