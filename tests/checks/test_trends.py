"""An order of classes: trends along it are found where they were planted, and not elsewhere."""

import datetime

import numpy as np
import pytest

from check_pilots import alarm, drifting, findings
from headcount import DataError, Pilot, load
from headcount.support.words import percent


def test_classes_that_get_harder_are_found():
    values, labels, order = drifting(noise=2.5, seed=1)
    message = alarm(values, labels, order)
    right = values.argmax(axis=1) == labels
    early, late = right[labels < 30].mean(), right[labels >= 30].mean()
    assert (
        f"they get harder ({percent(float(early))} right in its first half, {percent(float(late))} in its"
        in message
    )
    assert "easier" in alarm(values, labels, -order)


def test_classes_that_win_more_often_are_found():
    values, labels, order = drifting(lead=6.0, seed=1)
    beaten = values > values[np.arange(len(labels)), labels][:, None]
    rate = beaten.sum(axis=0) / (len(labels) - 4)
    message = alarm(values, labels, order)
    assert "they beat others more often " in message
    assert (
        f"({percent(float(rate[:30].mean()))} of the probes of others in its first half, "
        in message
    )
    assert f"{percent(float(rate[30:].mean()))} in its last" in message
    assert "they beat others less often" in alarm(values, labels, -order)


def test_ranks_decide_so_that_one_odd_class_cannot_raise_the_alarm():
    labels = np.repeat(np.arange(60), 4)
    losses = np.random.default_rng(0).integers(0, 3, 240)
    losses[-4:] = 299
    pilot = Pilot.from_losses(losses, 300, labels=labels, order=np.arange(60))
    assert "HC020" not in findings(pilot)


def test_counts_alone_show_who_is_hard():
    labels = np.repeat(np.arange(60), 4)
    losses = np.random.default_rng(0).binomial(6, 0.6 * labels / 60)
    assert (
        "they get harder"
        in findings(Pilot.from_losses(losses, 300, labels=labels, order=range(60)))["HC020"]
    )


def test_an_order_that_says_nothing_passes():
    values, labels, order = drifting(noise=2.5, lead=6.0)
    assert alarm(values, labels, None) is None
    assert alarm(values, labels, np.zeros(60)) is None
    assert alarm(np.eye(60)[labels], labels, order) is None  # all right: nothing differs
    few = labels < 9
    assert alarm(values[few][:, :9], labels[few], order[:9]) is None


def test_half_of_the_classes_at_one_place_are_an_order_too():
    values, labels, order = drifting(noise=4.0, seed=1)
    assert "harder" in alarm(values, labels, order >= 25)


# -- how an order is given -------------------------------------------------------------------------


SCORES, LABELS = np.eye(3) + 0.1 * np.arange(9).reshape(3, 3), [0, 1, 2]
DAYS = [datetime.date(2024, 5, day) for day in (3, 1, 2)]


@pytest.mark.parametrize(
    "order, ranks",
    [
        ([3, 1, 2], [3, 1, 2]),
        ({0: 3.5, 1: -1, 2: 0}, [3, 1, 2]),
        (DAYS, [3, 1, 2]),
        (np.array(DAYS, dtype="datetime64[D]"), [3, 1, 2]),
        ([2, 1, 2], [2, 1, 2]),
    ],
)
def test_numbers_and_dates_are_an_order(order, ranks):
    pilot = Pilot.from_scores(SCORES, LABELS, order=order)
    assert np.unique(pilot.order, return_inverse=True)[1].tolist() == [r - 1 for r in ranks]
    assert pilot.subset([0, 1]).order.tolist() == pilot.order[:2].tolist()
    assert pilot.keep_probes([0]).order.tolist() == pilot.order.tolist()
    assert not pilot.order.flags.writeable


@pytest.mark.parametrize(
    "order, message",
    [
        (["a", "b", "c"], "order must be numbers or dates"),
        ([1, None, 2], "order must be numbers or dates"),
        ([1, 2], "order"),
        ([1, 2, np.nan], "1 of 3 rows is no numbers"),
        ([[1, 2, 3]], "plain list"),
        ({0: 1, 1: 2}, "1 of 3 rows has no place in the order"),
        ([*DAYS[:2], None], "1 of 3 rows is no dates"),
    ],
)
def test_what_is_no_order_is_refused(order, message):
    with pytest.raises(DataError, match=message):
        Pilot.from_scores(SCORES, LABELS, order=order)


def test_files_may_hold_groups_and_an_order(npz):
    held = {"groups": np.array(["x", "y", "x"]), "order": np.array([2.0, 1.0, 3.0])}
    counts = {"losses": [0, 1, 0], "n_classes": 5, "labels": LABELS}
    vectors_ = {"probes": SCORES, "probe_labels": LABELS, "gallery": SCORES}
    for members in ({"scores": SCORES, "labels": LABELS}, counts, vectors_):
        pilot = load(npz(**members, **held))
        assert pilot.order.tolist() == [2, 1, 3]
        assert pilot.groups.tolist() == ["x", "y", "x"]
