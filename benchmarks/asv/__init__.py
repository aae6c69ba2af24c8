"""The suite of asv: the same costs from commit to commit.

    make asv                                  this checkout, in its own environment
    asv continuous main~10 main               what ten commits changed

``benchmarks/baseline`` holds one run of one machine (``asv run --quick``). It is rough:
the unit is measured anew for every row, and there JEDM's fit came out below its sums.

Ratios are tracked, not seconds: to one product on the same array, in the same process.
"""
