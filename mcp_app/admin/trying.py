"""Try it: a form made from a tool's schema runs the tool as whoever asks, through every gate."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from mcp_app.address import client_address
from mcp_app.admin.entries import Entry, find
from mcp_app.admin.links import call_url
from mcp_app.admin.pages import LIST, Page
from mcp_app.admin.schema_forms import SchemaForm, masked
from mcp_app.admin.subjects import SOURCE
from mcp_app.admin.viewing import ViewAsPage
from mcp_app.catalog.definition import Tool
from mcp_app.conf import settings
from mcp_app.protocol.errors import ParseError
from mcp_app.protocol.messages import loads
from mcp_app.transports.subjects import access_of, caller_of, door_of, request_of
from mcp_app.transports.trying import Tried, call

CLIENT: Final = "Django admin"
SALT: Final = "mcp_app.try"
SHOWN: Final = 200_000
"""Characters of a result that the page shows."""

_META: Final[tuple[str, ...]] = (
    "REMOTE_ADDR",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_HOST",
    "SERVER_NAME",
    "SERVER_PORT",
)
"""What a tool may see of the request: where it came from and where to; no cookie, no session."""


@dataclass(frozen=True, slots=True)
class Question:
    """A form that the tool asks to be filled in."""

    key: str
    message: str
    form: SchemaForm


class TryPage(ViewAsPage):
    """The page, for those who may try tools."""

    def pages(self) -> list[Page]:
        """With that page; the tool's own page leads to it."""
        page = Page(
            slug="try",
            title=_("Try it"),
            about="",
            view=self.try_view,
            permission="try",
            linked=False,
            # The call has transactions of its own, and its event is stored by another connection.
            atomic=False,
        )
        return [*super().pages(), page]

    def has_try_permission(self, request: HttpRequest) -> bool:
        """A permission of its own, beside that to see the catalogue: it runs tools."""
        allowed = request.user.has_perm("mcp_app.try_catalogue")
        return bool(allowed and self.has_view_permission(request))

    @method_decorator(sensitive_post_parameters())
    def try_view(self, request: HttpRequest) -> HttpResponse:
        """The form; once it is sent, whether to go on, what the tool asks, or what it answered."""
        if "of" not in request.GET:
            return HttpResponseRedirect(self.page_url(LIST))
        entry = find(request.GET["of"])
        if entry is None or not isinstance(entry.declared, Tool):
            raise Http404
        tool = entry.declared
        data = (
            request.POST if request.method == "POST" and "arguments" not in request.POST else None
        )
        form = SchemaForm(tool.arguments.schema, data, sensitive=tool.sensitive)
        context: dict[str, Any] = {"entry": entry, "form": form}
        if request.method == "POST":
            context |= self._posted(request, entry, tool, form)
        return self.page_response(
            request,
            "admin/mcp_app/catalogue/try.html",
            gettext("Try %s") % (tool.title or tool.name),
            **context,
        )

    @sensitive_variables()
    def _posted(
        self, request: HttpRequest, entry: Entry, tool: Tool, form: SchemaForm
    ) -> dict[str, Any]:
        try:
            arguments, asked = _arguments(request.POST, form), _asked(request.POST)
        except ParseError as error:
            return {"tried": Tried(error.message)}
        if arguments is None:
            return {}
        again = {"arguments": json.dumps(arguments), "shown": masked(arguments, tool.sensitive)}
        if asks_again(tool) and "sure" not in request.POST:
            return {"again": again}
        params: dict[str, Any] = {"name": tool.name, "arguments": arguments}
        if asked:
            questions = [_question(key, each, request.POST) for key, each in asked.items()]
            accepted = "accept" in request.POST
            if accepted and not all(question.form.is_valid() for question in questions):
                return self._asking(again, questions, request.POST.get("state", ""), asked)
            params["inputResponses"] = {q.key: _answer(q, accepted) for q in questions}
            params["requestState"] = request.POST.get("state", "")
        return self._tried(request, entry, params, again)

    @sensitive_variables()
    def _tried(
        self, request: HttpRequest, entry: Entry, params: dict[str, Any], again: dict[str, Any]
    ) -> dict[str, Any]:
        tried = run(request, entry, params)
        if tried.questions:
            questions = [_question(key, each) for key, each in tried.questions.items()]
            return self._asking(again, questions, tried.state, tried.questions)
        blocks = (tried.result or {}).get("content", ())
        return {
            "tried": tried,
            "texts": [_text(block)[:SHOWN] for block in blocks],
            "structured": (tried.result or {}).get("structuredContent"),
            "is_large": tried.size > SHOWN,
            "call": call_url(request, tried.event),
            "shown": again["shown"],
        }

    def _asking(
        self,
        again: dict[str, Any],
        questions: list[Question],
        state: str,
        asked: Mapping[str, Any],
    ) -> dict[str, Any]:
        kept = {"state": state, "asked": signing.dumps(asked, salt=SALT), **again}
        return {"questions": questions, "again": kept}


def asks_again(tool: Tool) -> bool:
    """Whether the page asks once more: for what may destroy, as a client would understand it."""
    return not tool.read_only and tool.destructive is not False


@sensitive_variables()
def run(request: HttpRequest, entry: Entry, params: Mapping[str, Any]) -> Tried:
    """Call a tool as the person who asks, as far as the endpoint would let them in."""
    address = client_address(request) or ""
    caller = caller_of(request.user, source=SOURCE, address=address)
    shut = next((gate for gate in door_of(caller) if gate.passed is False), None)
    if shut is not None:
        return Tried(f"{shut.name}: {shut.why}")
    meta = {name: request.META[name] for name in _META if name in request.META}
    return call(
        params,
        caller,
        access_of(caller, entry.server, meta=meta),
        entry.server,
        client=CLIENT,
        http_request=lambda: request_of(caller, meta),
    )


def _arguments(posted: Any, form: SchemaForm) -> dict[str, Any] | None:
    """Those of the form, or those that were sent before; None where the form has errors.

    Raises:
        ParseError: what was sent before is no object of JSON any more.
    """
    if "arguments" not in posted:
        return form.entered if form.is_valid() else None
    return _object(posted["arguments"])


def _asked(posted: Any) -> dict[str, Any]:
    """The questions that the form was made from; whether they are the tool's, its state says.

    Raises:
        ParseError: they are not as they were sent, or it is too late to answer.
    """
    sealed = posted.get("asked", "")
    try:
        found: dict[str, Any] = signing.loads(sealed, salt=SALT, max_age=settings.INPUT_TIMEOUT)
    except signing.BadSignature:
        if not sealed:
            return {}
        raise ParseError(
            gettext("The questions cannot be answered any more. Begin again.")
        ) from None
    return found


def _object(text: str) -> dict[str, Any]:
    value = loads(text.encode("utf-8", "surrogatepass"))
    if not isinstance(value, dict):
        raise ParseError(gettext("The arguments are no object any more. Begin again."))
    return value


def _question(key: str, asked: Mapping[str, Any], posted: Any = None) -> Question:
    params = asked.get("params", {})
    schema = params.get("requestedSchema", {})
    return Question(
        key, str(params.get("message", "")), SchemaForm(schema, posted, prefix=f"q-{key}")
    )


def _answer(question: Question, accepted: bool) -> dict[str, Any]:
    if not accepted:
        return {"action": "decline"}
    return {"action": "accept", "content": question.form.entered}


def _text(block: Mapping[str, Any]) -> str:
    """A content block, in words where it holds none."""
    if isinstance(block.get("text"), str):
        return str(block["text"])
    kept = {key: value for key, value in block.items() if key not in ("data", "blob")}
    return json.dumps(kept, ensure_ascii=False)
