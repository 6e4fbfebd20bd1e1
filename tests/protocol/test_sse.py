"""Server-sent events, read back as WHATWG HTML section 9.2.6 has it."""

from hypothesis import given
from hypothesis import strategies as st

from mcp_app.protocol import messages, sse


def events(stream: bytes) -> list[dict[str, str]]:
    """What a client dispatches: the fields of each event that has data."""
    found = []
    for block in stream.decode().split("\n\n"):
        fields: dict[str, str] = {}
        for line in block.splitlines():
            name, _, value = line.partition(":")
            if name:
                fields[name] = value.removeprefix(" ")
        if "data" in fields:
            found.append(fields)
    return found


def test_an_event_is_one_line_of_data() -> None:
    assert sse.event(b'{"a":1}') == b'event: message\ndata: {"a":1}\n\n'
    assert events(sse.event(b"x", event_id="7")) == [{"id": "7", "event": "message", "data": "x"}]


def test_a_comment_is_no_event() -> None:
    assert events(sse.COMMENT + sse.event(b"x") + sse.COMMENT)[0]["data"] == "x"
    assert len(events(sse.COMMENT * 3)) == 0


@given(st.lists(st.dictionaries(st.text(), st.text(st.characters(codec=None)))))
def test_any_messages_arrive_each_by_itself(values: list[dict[str, str]]) -> None:
    stream = b"".join(sse.event(messages.dumps(value)) for value in values)
    # Only CR and LF end a line of a stream; `splitlines` knows more.
    assert stream.count(b"\n") == 3 * len(values)
    assert b"\r" not in stream
    lines = [line for line in stream.split(b"\n") if line.startswith(b"data: ")]
    assert [messages.loads(line.removeprefix(b"data: ")) for line in lines] == values
