"""The suite of asv: the same costs from commit to commit.

    make asv                                  this checkout, in its own environment
    asv continuous main~10 main               what ten commits changed

Ratios are tracked, not seconds: to one product on the same array, in the same process.
"""
