"""The quiz's tables, gathered from the modules that define them."""

from project.quiz.models.announcements import Announcement, Notice
from project.quiz.models.diagnostics import DiagnosticsEvent, ForwardingRecord
from project.quiz.models.matches import Match, MatchAnswer, MatchEvent, MatchQuestion
from project.quiz.models.rooms import Player, Room
from project.quiz.models.statistics import CountryStatistic

__all__ = [
    "Announcement",
    "CountryStatistic",
    "DiagnosticsEvent",
    "ForwardingRecord",
    "Match",
    "MatchAnswer",
    "MatchEvent",
    "MatchQuestion",
    "Notice",
    "Player",
    "Room",
]
