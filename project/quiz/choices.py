"""The closed vocabularies of the quiz: what a column or an argument may say."""

from django.db.models import TextChoices


class Difficulty(TextChoices):
    """How far a question goes beyond common knowledge."""

    EASY = "easy", "Easy"
    MEDIUM = "medium", "Medium"
    HARD = "hard", "Hard"


class Region(TextChoices):
    """The part of the world a country lies in."""

    AFRICA = "africa", "Africa"
    ASIA = "asia", "Asia"
    EUROPE = "europe", "Europe"
    NORTH_AMERICA = "north_america", "North America"
    OCEANIA = "oceania", "Oceania"
    SOUTH_AMERICA = "south_america", "South America"


class Population(TextChoices):
    """Bands wide enough that a few years of growth do not make an answer wrong."""

    TINY = "tiny", "Under 1 million"
    SMALL = "small", "1 to 10 million"
    MIDDLE = "middle", "10 to 35 million"
    LARGE = "large", "35 to 90 million"
    HUGE = "huge", "Over 90 million"


class Topic(TextChoices):
    """What a question asks for."""

    CAPITALS = "capitals", "The capital of a country"
    COUNTRIES = "countries", "The country of a capital"
    REGIONS = "regions", "The region of a country"
    POPULATIONS = "populations", "The population of a country"


class GameType(TextChoices):
    """The three ways to play."""

    ROOM = "room", "Match in a room"
    DAILY = "daily", "Daily round"
    SOLO = "solo", "Solo round"


class RoomStatus(TextChoices):
    """Where a room stands; `closed` means that the back office ended it."""

    LOBBY = "lobby", "Lobby"
    PLAYING = "playing", "Playing"
    FINISHED = "finished", "Finished"
    CLOSED = "closed", "Closed"


class MatchStatus(TextChoices):
    """Where a match stands."""

    RUNNING = "running", "Running"
    FINISHED = "finished", "Finished"
    ABORTED = "aborted", "Aborted"


class MatchEventKind(TextChoices):
    """What happened in a match; no kind says whether an answer was right."""

    STARTED = "started", "Started"
    QUESTION_OPENED = "question_opened", "Question opened"
    ANSWER_RECEIVED = "answer_received", "Answer received"
    QUESTION_REVEALED = "question_revealed", "Question revealed"
    PLAYER_DROPPED = "player_dropped", "Player dropped"
    PLAYER_RETURNED = "player_returned", "Player returned"
    FINISHED = "finished", "Finished"
    ABORTED = "aborted", "Aborted"


class Category(TextChoices):
    """The part of the system a diagnostics event comes from."""

    GAME = "game", "Game"
    NETWORK = "network", "Network"
    DATABASE = "database", "Database"
    SECURITY = "security", "Security"
    FORWARDING = "forwarding", "Log forwarding"


class Severity(TextChoices):
    """How bad a diagnostics event is."""

    INFO = "info", "Info"
    WARNING = "warning", "Warning"
    ERROR = "error", "Error"
    CRITICAL = "critical", "Critical"


class Destination(TextChoices):
    """Where log batches are forwarded to."""

    ARCHIVE = "archive", "Archive"
    METRICS = "metrics", "Metrics store"
    SIEM = "siem", "Security monitoring"


class ForwardingState(TextChoices):
    """What became of a forwarded batch."""

    DELIVERED = "delivered", "Delivered"
    RETRYING = "retrying", "Retrying"
    FAILED = "failed", "Failed"
