"""Where a ledger lives on disk: what is refused, and the private folder beside it.

Beside `people.ledger` stands `.hushfold/people.ledger/`, mode 0700: the secrets of unfinished runs, the lock
that orders openings, and the *high-water mark*, the furthest head of the hash chain anybody here has seen. A
ledger that does not contain that head has been rolled back.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Container, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hushfold.errors import ArgumentError, LedgerCorrupt, LedgerUnavailable

MOUNTS = Path("/proc/self/mountinfo")
NETWORK = {
    *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs"),
    *("nfs", "nfs4", "ocfs2", "orangefs", "smb3", "smbfs", "virtiofs"),
    *("fuse.ceph", "fuse.davfs2", "fuse.gcsfuse", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
}
_REMEDY = "Pass the path of a ledger file in a local folder only you can write to"


def checked(path: str | os.PathLike[str]) -> Path:
    """The absolute path of a ledger that may be opened or made there, or `ArgumentError` saying why not.

    Never opens the file: closing it would drop the locks SQLite holds on it elsewhere in this process.
    """
    try:
        folder = Path(path).expanduser().parent.resolve(strict=True)
        place = folder / Path(path).name
        found = place.lstat() if os.path.lexists(place) else None
    except (OSError, ValueError, RuntimeError) as error:
        raise _refused(path, "its folder does not exist or cannot be entered") from error
    if not folder.is_dir() or Path(path).name in ("", "..") or "\0" in Path(path).name:
        raise _refused(path, "it is not a file in a folder")
    if found and stat.S_ISLNK(found.st_mode):
        raise _refused(path, "it is a symbolic link")
    if found and not stat.S_ISREG(found.st_mode):
        raise _refused(path, "it is not a regular file")
    if found and found.st_nlink > 1:
        raise _refused(path, "it has a second name (a hard link), whose write-ahead log would be another one")
    _check_folders(path, folder)
    if (kind := file_system(folder)) in NETWORK:
        raise _refused(path, f"it lies on a network file system ({kind}), where locks cannot be trusted")
    return place


def _check_folders(path: str | os.PathLike[str], folder: Path) -> None:
    """Refuse folders in which anybody could put another file in the ledger's place."""
    for place in (folder, *folder.parents):
        mode = place.stat().st_mode
        if mode & stat.S_IWOTH and (place == folder or not mode & stat.S_ISVTX):
            raise _refused(path, f"everybody may write to the folder {place}")


def _refused(path: str | os.PathLike[str], problem: str) -> ArgumentError:
    return ArgumentError("ledger", f"{os.fspath(path)!r} is refused: {problem}", _REMEDY)


def file_system(folder: Path) -> str:
    """The type of the mount a folder lies on, or "" where the system does not tell."""
    best, kind = "", ""
    with suppress(OSError, ValueError, IndexError):
        for line in MOUNTS.read_text(errors="surrogateescape").splitlines():
            left, right = line.split(" - ", 1)
            point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), left.split()[4])
            if folder.is_relative_to(point) and len(point) >= len(best):
                best, kind = point, right.split()[0]
    return kind


@dataclass(frozen=True, slots=True)
class PrivateFolder:
    """The 0700 folder beside one ledger. Holds no key of any noise and no number of any user."""

    place: Path

    @staticmethod
    def beside(ledger: Path) -> PrivateFolder:
        """The folder of this ledger; not made before something is kept in it."""
        return PrivateFolder(ledger.parent / ".hushfold" / ledger.name)

    def make(self) -> None:
        """Make it, private whatever the umask; a symbolic link on the way is refused."""
        for folder in (self.place.parent, self.place, self.place / "runs"):
            _private(folder)

    @contextmanager
    def opening(self) -> Generator[None]:
        """One process and thread at a time opens or makes the ledger."""
        self.make()
        with _file(self.place / "lock", os.O_RDWR | os.O_CREAT) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def high_water(self) -> tuple[int, str] | None:
        """The furthest head seen here, or None where nothing was ever kept."""
        with suppress(FileNotFoundError), _file(self.place / "head", os.O_RDONLY) as mark:
            fcntl.flock(mark, fcntl.LOCK_SH)
            return _read_mark(mark)
        return None

    def remember(self, seq: int, digest: str) -> None:
        """Move the high-water mark up. It may lag behind by a crash, never run ahead of the ledger."""
        with _file(self.place / "head", os.O_RDWR | os.O_CREAT) as mark:
            fcntl.flock(mark, fcntl.LOCK_EX)
            seen = _read_mark(mark)
            if seen is None or seen[0] < seq:
                os.pwrite(mark, format_head(seq, digest).encode(), 0)

    def secret(self, run: str) -> bytes | None:
        """The secret that keys a run's digests, or None if this run keeps none here."""
        with suppress(FileNotFoundError), _file(self.place / "runs" / run / "secret", os.O_RDONLY) as file:
            return os.read(file, 64)
        return None

    def make_secret(self, run: str) -> bytes:
        """A fresh secret for a new run. Call it inside the transaction that enters the run."""
        folder, secret = self.place / "runs" / run, secrets.token_bytes(32)
        _private(folder)
        with _file(folder / "secret", os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
            os.write(file, secret)
            os.fsync(file)
        return secret

    def forget(self, run: str) -> None:
        """Remove what one run kept here."""
        shutil.rmtree(self.place / "runs" / run, ignore_errors=True)

    def sweep(self, alive: Container[str]) -> None:
        """Remove what runs left that are closed or were killed before they were entered."""
        with suppress(FileNotFoundError):
            for folder in list((self.place / "runs").iterdir()):
                if folder.name not in alive:
                    self.forget(folder.name)


def format_head(seq: int, digest: str) -> str:
    """The head of a chain in one word: how many entries, and the digest of the last."""
    return f"{seq:012d}-{digest}"


def parse_head(word: str) -> tuple[int, str]:
    """The inverse of `format_head`; `LedgerCorrupt` for a word that is no head."""
    if not re.fullmatch(r"\d{12}-[0-9a-f]{64}", word, re.ASCII):
        raise LedgerCorrupt(
            "the head to compare the ledger with is unreadable, so a rollback could not be noticed. "
            "Restore the private folder beside the ledger from the same backup as the ledger"
        )
    return int(word[:12]), word[13:]


def _private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        mode = folder.lstat().st_mode
        if not stat.S_ISDIR(mode):
            raise FileExistsError
        if stat.S_IMODE(mode) != 0o700:
            folder.chmod(0o700)
    except FileExistsError as error:
        raise _refused(folder, "the private folder beside the ledger is a link or a file") from error
    except OSError as error:
        raise unavailable(error) from error


@contextmanager
def _file(path: Path, flags: int) -> Generator[int]:
    """A private file, 0600 whatever the umask, never through a symbolic link."""
    try:
        file = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if flags & os.O_CREAT:
                os.fchmod(file, 0o600)
            yield file
        finally:
            os.close(file)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise unavailable(error) from error


def _read_mark(mark: int) -> tuple[int, str] | None:
    written = os.pread(mark, 200, 0)
    return parse_head(written.decode("ascii", "replace")) if written else None


def unavailable(error: OSError) -> LedgerUnavailable:
    """What an operating system error about the ledger's files means to the caller."""
    return LedgerUnavailable(
        f"the ledger's folder cannot be used ({error.strerror or 'unknown reason'}); nothing was released. "
        "Free some space or make the folder writable, and run the same command again"
    )
