"""
When self-training hurts
========================

Self-training believes its own labels. From a good start it becomes better, from a
start near chance it becomes surely wrong. Twelve choices of three unseen digits
show both.
"""

# %%
# Run every choice
# ----------------
# The ten digits are shuffled and dealt in hands of three, four times over, so that
# each is held out about equally often. Round 0 is JEDM adapted to the images: their
# mean and the lengths of the class scores, but no self-training yet.
import matplotlib.pyplot as plt
import numpy as np

from unseen import JEDM, TSTD, load_data, per_class_accuracy

digits = load_data("digits")
random = np.random.default_rng(0)
decks = [random.permutation(digits.classes).tolist() for _ in range(4)]
splits = [sorted(deck[i : i + 3]) for deck in decks for i in (0, 3, 6)]


def accuracy_by_round(data):
    """Per-class accuracy of JEDM, then after every round of TSTD."""
    seen = data.X_seen, data.y_seen
    table = data.class_embeddings
    jedm = JEDM().fit(*seen, class_embeddings=table).adapt(data.X_unseen)
    tstd = TSTD().fit(*seen, class_embeddings=table).adapt(data.X_unseen)
    answers = [jedm.labels_, *(one.labels for one in tstd.rounds_)]
    return [per_class_accuracy(data.y_unseen, labels) for labels in answers]


curves = np.array([accuracy_by_round(digits.with_unseen(s)) for s in splits])

# %%
# Round by round
# --------------
# Colour says which way a choice went from round 0 to the last round.
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
rounds = ["JEDM", *(f"rate {rate:g}" for rate in TSTD().rates)]
height = -1.0
for i in np.argsort(curves[:, -1]):
    color = "#0072b2" if curves[i, -1] > curves[i, 0] else "#d55e00"
    ax.plot(rounds, curves[i], color=color, lw=1.2)
    height = max(curves[i, -1], height + 0.045)  # names must not overlap
    ax.text(4.08, height, " ".join(splits[i]), color=color, va="center")
ax.plot(rounds, curves.mean(axis=0), color="black", lw=3, label="mean")
ax.axhline(1 / 3, color="gray", ls=":", label="chance")
ax.spines[["top", "right"]].set_visible(False)
ax.set(ylim=(0, 1.1), ylabel="per-class accuracy", xlim=(0, 4.5))
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# Two ways to report it
# ---------------------
# The honest number is that of the last round: nobody with unlabelled rows can know
# which round was best. Picking the best by true labels is an oracle, and flatters.
print(f"JEDM, adapted     {curves[:, 0].mean():.1%}")
print(f"TSTD, last round  {curves[:, -1].mean():.1%}")
print(f"TSTD, oracle      {curves.max(axis=1).mean():.1%}")
print(f"Self-training helped in {(curves[:, -1] > curves[:, 0]).sum()} of 12 choices.")
