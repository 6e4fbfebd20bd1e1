"""The sliding window's arithmetic."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_app.rates.window import Rate, admits, wait

RATE = Rate(10, 60.0)


@pytest.mark.parametrize(
    ("current", "previous", "elapsed", "admitted"),
    [
        (9, 0, 0.0, True),
        (10, 0, 59.9, False),
        (0, 10, 0.0, False),
        (0, 10, 0.1, True),
        (5, 10, 30.0, False),
        (4, 10, 30.0, True),
        (5, 10, 30.1, True),
    ],
)
def test_what_is_left_of_the_last_window_counts(
    current: int, previous: int, elapsed: float, admitted: bool
) -> None:
    assert admits(RATE, current, previous, elapsed) is admitted


@given(
    limit=st.integers(1, 1000),
    seconds=st.sampled_from([1.0, 60.0, 3600.0]),
    data=st.data(),
)
def test_after_the_wait_one_more_fits_and_not_long_before(
    limit: int, seconds: float, data: st.DataObject
) -> None:
    rate = Rate(limit, seconds)
    current, previous = (data.draw(st.integers(0, limit)) for _ in range(2))
    elapsed = data.draw(st.floats(0, seconds, exclude_max=True))
    left = wait(rate, current, previous, elapsed)
    assert left <= 2 * seconds
    assert (left == 0) is admits(rate, current, previous, elapsed)

    def fits(at: float) -> bool:
        later = elapsed + at
        if later < seconds:
            return admits(rate, current, previous, later)
        return admits(rate, 0, current, later - seconds)

    if left:
        assert fits(left)
        assert not fits(max(left - 0.002, 0.0)) or math.isclose(left, 0.001, abs_tol=0.001)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("3/min", Rate(3, 60)),
        ("1/s", Rate(1, 1)),
        ("5/hour", Rate(5, 3600)),
        ("9/d", Rate(9, 86400)),
    ],
)
def test_a_rate_reads_as_in_drf(text: str, rate: Rate) -> None:
    assert Rate.parse(text) == rate
