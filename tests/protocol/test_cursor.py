"""List cursors: they come back as they went out, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_app.protocol.cursor import BadCursor, make, read

KEY = b"key"


@given(st.text(max_size=200))
def test_a_cursor_leads_back_to_its_item(name: str) -> None:
    assert read(make(name, purpose="tools/list", key=KEY), purpose="tools/list", key=KEY) == name


@given(st.text(max_size=80))
def test_anything_else_is_no_cursor(text: str) -> None:
    with pytest.raises(BadCursor):
        read(text, purpose="tools/list", key=KEY)


def test_a_cursor_holds_for_its_list_and_its_key_alone() -> None:
    cursor = make("echo", purpose="tools/list", key=KEY)
    for purpose, key in (("prompts/list", KEY), ("tools/list", b"other"), ("", KEY)):
        with pytest.raises(BadCursor):
            read(cursor, purpose=purpose, key=key)
    # The name of a list is not glued to that of its item.
    assert make("b", purpose="a", key=KEY) != make("", purpose="ab", key=KEY)


@given(st.data())
def test_no_change_to_a_cursor_goes_unseen(data: st.DataObject) -> None:
    cursor = make("echo", purpose="tools/list", key=KEY)
    place = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.sampled_from("ABYZabyz0189-_+/=. é\n\x00"))
    changed = cursor[:place] + other + cursor[place + 1 :]
    if changed == cursor:
        return
    try:
        assert read(changed, purpose="tools/list", key=KEY) == "echo"
        # Base64 leaves bits of the last digit unused: the same cursor, spelt another way.
        assert place == len(cursor) - 1
    except BadCursor:
        pass


def test_a_cursor_can_stand_in_a_url() -> None:
    cursor = make("日報?&=/+", purpose="tools/list", key=KEY)
    assert cursor.isascii()
    assert not set(cursor) & set("+/=?&% ")
