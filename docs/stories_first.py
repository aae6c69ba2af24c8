"""The order of the gallery: the four stories, then what the methods do."""

STORIES = ("photos_by_names", "texts_by_topics", "attributes", "own_encoder")
METHODS = ("first_fit", "anchored", "when_it_hurts", "two_readings")
METHODS += ("methods_by_names", "none_of_these", "trust")


class StoriesFirst:
    """A key by which sphinx-gallery sorts the files of a folder."""

    def __init__(self, folder: str):
        self.order = [f"plot_{name}.py" for name in STORIES + METHODS]

    def __call__(self, file: str) -> int:
        """Return the place of a file; one that is not listed stops the build."""
        return self.order.index(file)

    def __repr__(self) -> str:
        return "StoriesFirst"
