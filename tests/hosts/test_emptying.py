"""The databases of the tests: each test finds them as `migrate` left them."""

from typing import Any

from django.contrib.auth.models import Permission
from django.test import TransactionTestCase

from tests.emptying import empties


def names() -> set[tuple[str, str]]:
    """Each permission."""
    return set(Permission.objects.values_list("content_type__app_label", "codename"))


def test_rows_go_and_permissions_stay(transactional_db: None, django_user_model: Any) -> None:
    empty, before = empties(), list(Permission.objects.values_list("pk", "codename"))
    ana = django_user_model.objects.create_user("ana")
    ana.user_permissions.set(Permission.objects.all())
    empty(TransactionTestCase)
    assert not django_user_model.objects.exists()
    assert list(Permission.objects.values_list("pk", "codename")) == before


def test_permissions_come_back_where_a_test_changed_them(transactional_db: None) -> None:
    empty, before = empties(), names()
    Permission.objects.filter(codename__startswith="view_").delete()
    empty(TransactionTestCase)
    assert names() == before
