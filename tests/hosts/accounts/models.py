"""A host's own user model, with no more than Django asks for: nobody is ever inactive."""

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models


class AccountManager(BaseUserManager["Account"]):
    """Makes them by their name."""

    def create_user(self, username: str, **extra: Any) -> "Account":
        """One without a password."""
        account = self.model(username=username, **extra)
        account.set_unusable_password()
        account.save(using=self._db)
        return account

    def create_superuser(self, username: str, **extra: Any) -> "Account":
        """One who may do everything."""
        return self.create_user(username, is_staff=True, is_superuser=True, **extra)


class Account(AbstractBaseUser, PermissionsMixin):
    """A user without the column `is_active`."""

    username = models.CharField(max_length=60, unique=True)
    is_staff = models.BooleanField(default=False)

    objects = AccountManager()
    USERNAME_FIELD = "username"
    REQUIRED_FIELDS: ClassVar = []
