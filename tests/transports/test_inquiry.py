"""Asking all processes: each is heard once, and only what is asked is answered."""

import logging

import pytest

from mcp_app.transports.bus import LOST, bus
from mcp_app.transports.inquiry import Said, inquire, process_name, respond_to

TOPIC = "tests.inquiry"


def test_a_process_is_heard_once_however_often_it_answers() -> None:
    with respond_to(TOPIC, lambda _: {"n": 1}), respond_to(TOPIC, lambda _: {"n": 1}):
        assert inquire(TOPIC, {}, seconds=0.0) == [{"process": process_name(), "n": 1}]


def test_who_has_nothing_to_say_is_not_heard() -> None:
    with respond_to(TOPIC, lambda _: None):
        assert inquire(TOPIC, {}, seconds=0.0) == []


def test_nobody_answers_the_loss_of_the_bus(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[Said] = []

    def respond(question: Said) -> None:
        asked.append(question)

    with respond_to(TOPIC, respond), caplog.at_level(logging.WARNING):
        bus.publish(LOST, {})
    assert asked == []
    assert caplog.records == []
