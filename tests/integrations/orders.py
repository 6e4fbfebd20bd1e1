"""Serializers of a shop with every kind of field, and ways to call a tool without an endpoint."""

import datetime as dt
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.core.validators import RegexValidator
from django.test import RequestFactory
from rest_framework import serializers
from rest_framework.request import Request

from mcp_app import MCPServer
from mcp_app.catalog.definition import Tool
from mcp_app.catalog.foreign import CONTEXT


class Line(serializers.Serializer[Any]):
    """One line of an order."""

    sku = serializers.CharField(max_length=12, validators=[RegexValidator(r"^[A-Z]{2}-[0-9]+\Z")])
    quantity = serializers.IntegerField(min_value=1, max_value=99)
    total = serializers.DecimalField(max_digits=8, decimal_places=2, read_only=True)


class Order(serializers.Serializer[Any]):
    """An order with everything that a field may be."""

    number = serializers.UUIDField(read_only=True)
    reference = serializers.UUIDField()
    customer = serializers.CharField(source="buyer.name", min_length=3, max_length=40)
    note = serializers.CharField(allow_blank=True, required=False)
    nickname = serializers.CharField(allow_null=True, required=False)
    code = serializers.SlugField(required=False)
    pin = serializers.CharField(write_only=True, required=False, style={"input_type": "password"})
    token = serializers.CharField(write_only=True, required=False, default="made up")
    price = serializers.DecimalField(
        max_digits=6, decimal_places=2, min_value=Decimal(0), help_text="In euros"
    )
    share = serializers.DecimalField(max_digits=3, decimal_places=3, required=False)
    weight = serializers.FloatField(min_value=0, required=False, allow_null=True)
    gift = serializers.BooleanField(default=False)
    status = serializers.ChoiceField(choices=[("open", "Open"), ("paid", "Paid")], default="open")
    stars = serializers.ChoiceField(choices=[1, 2, 3], required=False, allow_null=True)
    tags = serializers.MultipleChoiceField(choices=["new", "hot"], allow_empty=False)
    extra = serializers.JSONField(required=False)
    anything = serializers.JSONField(required=False, allow_null=True)
    sizes = serializers.ListField(
        child=serializers.IntegerField(min_value=0), max_length=3, required=False
    )
    counts = serializers.DictField(child=serializers.IntegerField(), required=False)
    due = serializers.DateField(required=False)
    placed = serializers.DateTimeField(required=False)
    opens = serializers.TimeField(required=False, default=dt.time(9, 30))
    lines = Line(many=True, allow_empty=False)
    billing = Line(required=False, allow_null=True)
    owner = serializers.HiddenField(default=serializers.CurrentUserDefault())


class Membership(serializers.Serializer[Any]):
    """What refers to rows."""

    user = serializers.PrimaryKeyRelatedField(queryset=get_user_model().objects.all())
    groups = serializers.PrimaryKeyRelatedField(queryset=Group.objects.all(), many=True)
    right = serializers.SlugRelatedField(
        slug_field="codename", queryset=Permission.objects.all(), required=False, allow_null=True
    )


ORDER: dict[str, Any] = {
    "reference": "6a3dd8e0-3c1f-4f9e-9d55-3a63e6f8a6b1",
    "customer": "Ada",
    "price": "9.90",
    "tags": ["new"],
    "lines": [{"sku": "AB-1", "quantity": 2}],
}
"""The least that makes an order."""


def tool_of(function: Any = None, **options: Any) -> Tool:
    """The tool that a function and its keywords make."""
    server = MCPServer("of one test")
    server.tool(**{"description": "A tool of one test."} | options)(function)
    assert not server.problems, server.problems
    (tool,) = server.tools.values()
    return tool


def problem_of(function: Any, **options: Any) -> str:
    """Why a declaration is refused."""
    server = MCPServer("of one test")
    server.tool(**{"description": "A tool of one test."} | options)(function)
    (problem,) = server.problems
    assert not server.tools
    return f"{problem.id} {problem.message} {problem.hint}"


def call(tool: Tool, arguments: dict[str, Any], user: Any = None, **options: Any) -> Any:
    """What a call's arguments come to; raises as the call does."""
    request = Request(RequestFactory().post("/mcp"))
    request.user = user
    bound = tool.arguments.bind(arguments, **{"lenient": False} | options)
    return tool.function(**bound, **{CONTEXT: SimpleNamespace(request=request, user=user)})
