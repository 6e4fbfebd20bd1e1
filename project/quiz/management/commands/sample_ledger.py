"""`manage.py sample_ledger`: a signed solo ledger to try the tool `replay_solo_ledger` with."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from project.quiz.choices import Difficulty
from project.quiz.ledger import LedgerAnswer, SoloLedger, sign
from project.quiz.rounds import solo_session


class Command(BaseCommand):
    """Prints the ledger of a player who knows every second answer."""

    help = "Print a signed ledger of a solo round."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--difficulty", choices=Difficulty.values, default="easy")
        parser.add_argument("--count", type=int, choices=range(1, 251), default=10, metavar="N")
        parser.add_argument("--seed", type=int, default=0)

    def handle(self, *args: Any, **options: Any) -> None:
        difficulty = Difficulty(options["difficulty"])
        count, seed = options["count"], options["seed"]
        session = solo_session(difficulty, None, count, seed)
        answers = [
            LedgerAnswer(
                choice=question.answer_index if question.number % 2 else None, milliseconds=4_000
            )
            for question in session.questions
        ]
        ledger = SoloLedger(
            player="Swift Otter",
            difficulty=difficulty,
            region=None,
            count=count,
            seed=seed,
            answers=answers,
        )
        self.stdout.write(sign(ledger))
