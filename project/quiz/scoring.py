"""What an answer is worth."""

from project.quiz.choices import Difficulty

TIME_LIMIT_MS = 20_000
FASTEST_MS = 150

_WEIGHT = {Difficulty.EASY: 1, Difficulty.MEDIUM: 2, Difficulty.HARD: 3}


def points(difficulty: Difficulty, *, correct: bool, milliseconds: int) -> int:
    """Return 100 to 200 points for a correct answer, more for a fast one, times the difficulty."""
    if not correct:
        return 0
    speed = 100 * max(0, TIME_LIMIT_MS - milliseconds) // TIME_LIMIT_MS
    return _WEIGHT[difficulty] * (100 + speed)
