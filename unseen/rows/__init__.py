"""Rows: sums over them, where they come from, who holds them, which to trust."""
