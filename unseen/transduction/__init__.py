"""ADAPT: what models do with a pile of unlabelled rows."""
