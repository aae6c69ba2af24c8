"""FIT: one method, one file, each with its objective at the head."""
