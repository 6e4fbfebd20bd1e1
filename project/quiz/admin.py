"""The quiz in the Django admin: rooms can be edited, what has happened can only be read."""

from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import Model
from django.http import HttpRequest

from mcp_app.admin import UserCalls
from project.quiz.models import (
    Announcement,
    CountryStatistic,
    DiagnosticsEvent,
    ForwardingRecord,
    Match,
    MatchQuestion,
    Player,
    Room,
)


class ReadOnly:
    """Rows that the game or its servers wrote, and nobody else should."""

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


# Only the stubs know these classes as generic, hence the ignored type arguments.
class PlayerInline(admin.TabularInline):  # type: ignore[type-arg]
    """The players of a room."""

    model = Player
    extra = 0
    fields = ("nickname", "country", "is_host", "joined_at", "left_at")


@admin.register(Room)
class RoomAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rooms with their players."""

    list_display = ("invite_code", "name", "status", "topic", "difficulty", "created_at")
    list_filter = ("status", "topic", "difficulty")
    search_fields = ("invite_code", "name", "players__nickname")
    date_hierarchy = "created_at"
    inlines: ClassVar = [PlayerInline]


class QuestionInline(ReadOnly, admin.TabularInline):  # type: ignore[type-arg]
    """The questions of a match."""

    model = MatchQuestion
    extra = 0
    fields = ("number", "prompt", "opened_at", "closes_at", "revealed_at")


class ReadOnlyAdmin(ReadOnly, admin.ModelAdmin):  # type: ignore[type-arg]
    """A list and pages without forms."""


@admin.register(Match)
class MatchAdmin(ReadOnlyAdmin):
    """Matches with their questions; the timeline is the tool `get_match_timeline`."""

    list_display = ("id", "room", "status", "topic", "difficulty", "winner", "started_at")
    list_filter = ("status", "topic", "difficulty")
    list_select_related = ("room",)
    search_fields = ("id", "room__invite_code", "winner")
    date_hierarchy = "started_at"
    inlines: ClassVar = [QuestionInline]


@admin.register(CountryStatistic)
class CountryStatisticAdmin(ReadOnlyAdmin):
    """Totals by country."""

    list_display = ("country", "game_type", "difficulty", "players", "correct", "points")
    list_filter = ("game_type", "difficulty")
    search_fields = ("country",)
    date_hierarchy = "updated_at"


@admin.register(DiagnosticsEvent)
class DiagnosticsEventAdmin(ReadOnlyAdmin):
    """What the servers reported."""

    list_display = ("at", "severity", "category", "code", "message", "node", "address")
    list_filter = ("severity", "category", "node", "code")
    search_fields = ("code", "message", "address")
    date_hierarchy = "at"


@admin.register(ForwardingRecord)
class ForwardingRecordAdmin(ReadOnlyAdmin):
    """How the servers' logs travelled."""

    list_display = ("at", "destination", "state", "lines", "attempts", "milliseconds", "error")
    list_filter = ("destination", "state")
    date_hierarchy = "at"


@admin.register(Announcement)
class AnnouncementAdmin(ReadOnlyAdmin):
    """What players were told, and how many it reached."""

    list_display = ("created_at", "message", "room", "created_by", "reached")
    list_select_related = ("room", "created_by")
    search_fields = ("message", "room__invite_code")
    date_hierarchy = "created_at"


class CallingUserAdmin(UserCalls, UserAdmin):  # type: ignore[type-arg]
    """Users, each with a link to what was called in their name."""


# Not where other settings have users of their own.
if admin.site.is_registered(User):
    admin.site.unregister(User)
    admin.site.register(User, CallingUserAdmin)
