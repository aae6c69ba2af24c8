"""Take labels on to other programs: folders by class, and what other tools read.

export.py     which rows go, where their photos or texts are; a plan, then the work
formats.py    folders, imagefolder, hf, coco, label-studio, fiftyone, xmp
placing.py    safe names; photos copied or linked, never over anything
"""
