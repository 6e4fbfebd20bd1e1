"""What can be wrong with a declaration: one table of ids. A system check turns them into errors."""

from dataclasses import dataclass
from enum import StrEnum


class Problem(StrEnum):
    """The checks' ids, without the `mcp_app.` in front."""

    NAME = "E050"
    DUPLICATE = "E051"
    DESCRIPTION = "E052"
    SIGNATURE = "E053"
    ANNOTATION = "E054"
    CONTEXT = "E055"
    RETURN_ANNOTATION = "E056"
    PERMISSIONS_EMPTY = "E057"
    PERMISSIONS = "E058"
    THROTTLES = "E059"
    HINTS = "E060"
    SCOPES = "E061"
    SENSITIVE = "E062"
    TIMEOUT = "E063"
    MIRRORED = "E064"
    ICONS = "E065"
    META = "E066"
    KEYWORD = "E067"
    OTHER = "E068"
    CAPABILITIES = "E069"
    ATOMIC = "E070"
    URI = "E071"
    VARIABLES = "E072"
    COMPLETERS = "E073"
    CACHING = "E074"
    ANNOTATIONS = "E075"
    CONTENTS = "E076"
    AUDIT = "E077"
    CONFIRM = "E078"
    INPUT = "E079"
    VIEWSET = "E080"
    MODEL = "E081"


@dataclass(frozen=True, slots=True)
class RegistrationProblem:
    """One reason why a declaration was left out of its server."""

    id: str
    message: str
    hint: str
    tool: str
    """The name of the declaration, or its URI."""
    module: str


class Refused(Exception):
    """A declaration that breaks a rule, on its way to the server's list of problems."""

    def __init__(self, problem: Problem, message: str, hint: str) -> None:
        self.problem, self.message, self.hint = problem, message, hint
        super().__init__(f"{message} {hint}")
