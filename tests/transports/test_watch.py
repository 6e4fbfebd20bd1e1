"""Streams are ended one by one: what goes wrong with one of them concerns no other."""

import asyncio
from dataclasses import dataclass, field

import pytest

from mcp_app.dispatch.listening import Credential
from mcp_app.transports.about import About, StreamKind
from mcp_app.transports.watch import StreamWatch


@dataclass(eq=False)
class Stream:
    """An open stream, or one whose event loop is over."""

    breaks: bool = False
    ended: bool = False
    credential: Credential = field(default_factory=lambda: Credential(None, None, None))
    about: About = field(default_factory=lambda: About(StreamKind.CALL))

    def end(self) -> None:
        self.ended = True
        if self.breaks:
            raise RuntimeError("Event loop is closed")


def test_a_stream_that_cannot_be_ended_keeps_no_other_one_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watch = StreamWatch()
    streams = [Stream(breaks=True), Stream(), Stream(breaks=True), Stream()]

    async def main() -> None:
        for stream in streams:
            watch.enter(stream)
        watch.end_all()
        for stream in streams:
            watch.leave(stream)

    asyncio.run(main())
    assert all(stream.ended for stream in streams)
    assert caplog.text.count("A stream could not be ended") == 2
