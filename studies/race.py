"""All methods on the class tables at hand, most of them beyond the paper.

    python studies/race.py race inductive transductive cub-ss --data ../shared/data

Methods and settings are those of ``unseen/methods.py``.
"""

PLANS = ("race", "inductive", "transductive", "cub-ss")


if __name__ == "__main__":
    from laboratory import main

    main("race")
