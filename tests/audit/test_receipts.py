"""What is given for an event tells once, in any thread, whether its row stands."""

import threading

import pytest

from mcp_app.dispatch.receipts import Receipt


def test_it_is_unknown_until_it_is_settled() -> None:
    receipt = Receipt()
    assert not receipt.done()
    with pytest.raises(TimeoutError):
        receipt.result(0)

    receipt.settle(False)

    assert receipt.done()
    assert receipt.result() is False


def test_another_thread_waits_for_it() -> None:
    receipt = Receipt()
    heard: list[bool] = []
    waiting = threading.Thread(target=lambda: heard.append(receipt.result(10)))
    waiting.start()

    receipt.settle(True)

    waiting.join(10)
    assert heard == [True]


def test_callbacks_come_before_and_after_once_each() -> None:
    receipt = Receipt()
    heard: list[tuple[str, bool]] = []
    receipt.add_done_callback(lambda settled: heard.append(("before", settled.result(0))))

    receipt.settle(True)
    receipt.add_done_callback(lambda settled: heard.append(("after", settled.result(0))))

    assert heard == [("before", True), ("after", True)]


def test_one_that_fails_keeps_nobody_from_hearing(caplog: pytest.LogCaptureFixture) -> None:
    receipt = Receipt()
    heard: list[Receipt] = []

    def fail(_: Receipt) -> None:
        raise RuntimeError("no")

    receipt.add_done_callback(fail)
    receipt.add_done_callback(heard.append)
    receipt.settle(True)
    receipt.add_done_callback(fail)

    assert heard == [receipt]
    assert len(caplog.records) == 2
