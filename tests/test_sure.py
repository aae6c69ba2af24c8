"""The sure line: right as often as promised, by every draw there is and by many."""

from itertools import combinations, product

import numpy as np
import pytest
from checks import close
from scipy import stats

from unseen import draw_check, estimate_accuracy
from unseen.trust.sure import (
    draw_surest,
    drawn_from,
    recalibrated,
    sure_line,
    tail,
)


@pytest.mark.parametrize("wanted", [0.7, 0.8])
def test_no_pile_of_eight_breaks_the_promise_by_all_draws_there_are(
    wanted, monkeypatch
):
    """Every way in which labels can be wrong, every draw of four, then two more."""
    monkeypatch.setattr("unseen.trust.sure.CONFIDENCE", 0.7)
    draws = [list(map(list, combinations(range(8), n))) for n in (4, 6)]
    grown = np.array([[set(few) < set(more) for more in draws[1]] for few in draws[0]])
    found = set()
    for right in map(np.array, product([True, False], repeat=8)):
        broken = []
        for looks, own in enumerate(draws, 1):
            how = {"wanted": wanted, "looks": looks}
            lines = [sure_line(np.arange(8), 8, d, right[d], **how) for d in own]
            tops = [line.rows for line in lines]
            found |= {
                (looks, round(line.confidence, 9)) for line in lines if len(line.rows)
            }
            broken.append(
                [len(t) > 0 and right[t].mean() < wanted - 1e-9 for t in tops]
            )
        assert np.mean(broken[0]) <= 0.3 + 1e-9, right
        assert np.logical_or.outer(*broken)[grown].mean() <= 0.45 + 1e-9, right
    assert found == {(1, 0.7), (2, 0.55)}


def test_the_tail_is_the_hypergeometric_and_nearly_the_binomial_of_large_sets():
    close(tail(200, 11, 38, [0, 1, 5]), stats.hypergeom.cdf([0, 1, 5], 200, 11, 38))
    large = tail(10**6, 50_001, 77, [0, 1, 2])
    assert np.abs(large - stats.binom.cdf([0, 1, 2], 77, 0.05)).max() < 1e-4


PILES = {  # chance that the row at a place from 0 to 1 is wrong: what reliability knows
    "orders well": lambda place: 0.6 * place**3,
    "knows nothing": lambda place: np.full_like(place, 0.06),
    "is wrong at the top": lambda place: 0.12 * (1 - place),
}


@pytest.mark.parametrize("pile", PILES)
@pytest.mark.parametrize("n", [40, 80])
def test_nine_of_ten_lines_keep_their_promise_whatever_reliability_is_worth(pile, n):
    broken, shares, held, random = [], [], [], np.random.default_rng(0)
    stated = np.linspace(1, 0, 400)
    for seed in range(200):
        right = random.random(400) >= PILES[pile](1 - stated)
        labels = np.full(400, "a")
        rows = draw_check(labels, n, reliability=stated, random_state=seed)
        assert len(set(rows)) == n
        answers = {int(row): "a" if right[row] else "b" for row in rows}
        found = estimate_accuracy(labels, answers, drawn=rows, reliability=stated)
        top = found.sure.rows
        broken.append(len(top) > 0 and right[top].mean() < 0.95 - 1e-9)
        shares.append(len(top) / 400)
        held.append(found.low <= right.mean() <= found.high)
    assert 0.84 < np.mean(held)  # of the intervals, too
    assert np.mean(broken) <= 0.13  # two standard errors above the risk
    assert pile != "orders well" or np.mean(shares) > 0.15


def test_a_check_can_grow_and_says_what_more_answers_could_do():
    stated = np.random.default_rng(1).random(1000)
    labels = np.full(1000, "a")
    small, large = (
        draw_check(labels, n, reliability=stated, random_state=3) for n in (40, 80)
    )
    assert len(set(small) & set(large)) >= 20
    surest = np.argsort(-stated)[: drawn_from(40, 1000)]
    assert np.isin(small, surest).sum() == 32

    few = dict.fromkeys(small[:5].tolist(), "a")
    found = estimate_accuracy(labels, few, drawn=small[:5], reliability=stated)
    assert not len(found.sure.rows)
    more = 5 + found.sure.n_more
    rows = draw_surest(stated, more, (), np.random.RandomState(0), looks=2)
    given = dict.fromkeys(rows.tolist(), "a")
    found_more = estimate_accuracy(
        labels, given, drawn=rows, reliability=stated, looks=2
    )
    share = len(found_more.sure.rows) / 1000
    assert share == pytest.approx(found.sure.at_best)
    assert "No labels" in str(found.sure)
    assert "at least 95 % right, with 85 % confidence" in str(found_more.sure)


def test_rows_that_were_chosen_have_no_part_in_the_line():
    labels, stated = np.full(300, "a"), np.linspace(1, 0.5, 300)
    chosen = dict.fromkeys(range(50), "b")  # the surest, all found wrong
    rows = draw_check(labels, 60, reliability=stated, without=chosen)
    assert not set(rows) & set(chosen)
    answers = chosen | dict.fromkeys(rows.tolist(), "a")
    found = estimate_accuracy(labels, answers, drawn=rows, reliability=stated)
    assert len(found.sure.rows)
    assert not set(found.sure.rows) & set(chosen)


def test_reliability_learns_from_checked_labels_and_keeps_its_order():
    random = np.random.default_rng(0)
    stated = random.uniform(0.05, 1 - 1e-9, 2000)
    right = random.random(2000) < 0.5 * stated  # half as right as it says
    rows = random.permutation(2000)
    gaps = [np.abs(stated.mean() - right.mean())]
    for n in (20, 80, 320):
        learned = recalibrated(stated, rows[:n], right[rows[:n]])
        assert (np.diff(learned[np.argsort(stated)]) > 0).all()
        gaps.append(np.abs(learned.mean() - right.mean()))
    assert gaps[3] < 0.05 < gaps[1] < gaps[0]
    assert recalibrated(stated, rows[:19], right[rows[:19]]) is stated
