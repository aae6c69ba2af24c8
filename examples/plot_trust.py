"""
Can the reliability be trusted?
===============================

Photos are sorted by the reliability of their label. Left: in each group of similar
reliability, how many labels are right. Right: how many are right if only the surest
share is kept.
"""

import matplotlib.pyplot as plt

from unseen import expected_calibration_error, reliability_curve, risk_coverage
from unseen.experiments import run_demo

result = run_demo()
model, truth = result.model, result.items.truth
right = model.labels_ == truth
trust = model.reliability_
print(f"labels right {right.mean():.3f}, reliability on average {trust.mean():.3f}")
print(f"expected calibration error {expected_calibration_error(right, trust):.3f}")

# %%
curve = reliability_curve(right, trust)
figure, (left, other) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
left.plot([0, 1], [0, 1], ":", color="grey")
left.plot(curve["stated"], curve["right"], "o-")
left.set(xlabel="reliability", ylabel="share of right labels", title="as promised?")
kept = risk_coverage(right, trust)
other.plot(kept["coverage"], kept["right"])
other.set(xlabel="share of photos kept", ylabel="share of right labels", ylim=(0, 1))
other.set_title("keep only the surest")
plt.show()

# %%
# Nobody knows this curve of their own labels. A check of forty answers draws a line
# above which labels are right: :doc:`the guide </guide/sure>`.
