"""ADAPT: what models learn from unlabelled rows."""
