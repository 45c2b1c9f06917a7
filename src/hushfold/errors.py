"""Every error a user can meet. A message names the argument and the remedy, and never quotes private data."""

from __future__ import annotations


class HushfoldError(Exception):
    """Root of the tree; `exit_code` is what the command line returns."""

    exit_code = 1


class ArgumentError(HushfoldError, ValueError):
    """An argument is outside what it may be. Raised before anything is spent."""

    exit_code = 2

    def __init__(self, argument: str, problem: str, remedy: str) -> None:
        """`argument` is the name the user typed, `problem` what is wrong with it, `remedy` what to do."""
        super().__init__(f"{argument}: {problem}. {remedy}")
        self.argument, self.problem, self.remedy = argument, problem, remedy


class InputError(HushfoldError, ValueError):
    """A file or table cannot be read as asked. Raised before anything is spent."""

    exit_code = 2


class ResumeError(HushfoldError):
    """An interrupted run was resumed with other data or other settings."""

    exit_code = 3


class LedgerError(HushfoldError):
    """The ledger refuses: nothing was released."""

    exit_code = 4


class BudgetExceeded(LedgerError):
    """The population's budget does not cover the release asked for."""


class LedgerCorrupt(LedgerError):
    """The ledger file is damaged, cut or rolled back."""


class LedgerUnavailable(LedgerError):
    """The ledger cannot be written now (disk full, read-only, busy); nothing was released."""


class AlreadyCommitted(LedgerError):
    """Somebody committed this release first; theirs is the released result, this draw must be forgotten."""


class SealError(HushfoldError, TypeError):
    """Private content was about to leave the private side, or a released value was about to be forged."""


class NoiseError(HushfoldError):
    """The noise asked for cannot be drawn with its stated law; the door stays shut."""
