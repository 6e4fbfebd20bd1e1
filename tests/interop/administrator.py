"""What an administrator does in a browser, over HTTP: log in, issue a token, read the call log."""

import html
import re
from types import TracebackType
from typing import Any, Self

import httpx2

_HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')
_SECRET = re.compile(r"mcp_[0-9A-Za-z]{12}_[0-9A-Za-z]{39}")
_SNIPPET = re.compile(r'<pre id="mcp-snippet-\d+"[^>]* aria-label="([^"]+)">(.*?)</pre>', re.DOTALL)


class Administrator:
    """A logged-in administrator of one running example."""

    def __init__(self, origin: str, password: str) -> None:
        self._http = httpx2.Client(base_url=origin, timeout=30, follow_redirects=True)
        page = self._submit("/admin/login/?next=/admin/", username="admin", password=password)
        assert "Log out" in page, page

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()

    def issue_token(self, username: str, name: str, *scopes: str) -> str:
        """Fill in the form that adds a token, and copy the secret from the page that answers."""
        (secret,) = set(_SECRET.findall(self._issued(username, name, *scopes)))
        return secret

    def issue_snippets(self, username: str, name: str) -> dict[str, str]:
        """Fill in the form that adds a token, and copy what the answer has for each client."""
        return dict(_SNIPPET.findall(self._issued(username, name)))

    def _issued(self, username: str, name: str, *scopes: str) -> str:
        found = re.search(r"/admin/auth/user/(\d+)/change/", self.read(f"auth/user/?q={username}"))
        assert found, f"there is no user {username}"
        limits = {"scopes": list(scopes), "tools_limit": "any", "expiry": "7"}
        return self._submit("/admin/mcp_app/token/add/", user=found[1], name=name, **limits)

    def read(self, path: str) -> str:
        """The text of one page of the admin."""
        response = self._http.get(f"/admin/{path}").raise_for_status()
        return html.unescape(response.text)

    def _submit(self, path: str, **fields: Any) -> str:
        """Answer the form of a page with what it hides and what a person fills in."""
        form = self._http.get(path).raise_for_status()
        hidden = {name: html.unescape(value) for name, value in _HIDDEN.findall(form.text)}
        answer = self._http.post(
            path, data=hidden | fields, headers={"Referer": str(form.url)}
        ).raise_for_status()
        return html.unescape(answer.text)
