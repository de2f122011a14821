"""Writing files so that they appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from equipoise.errors import EquipoiseError
from equipoise.staging import staging_folder


def write_text_atomically(path: Path | str, text: str) -> None:
    """Write a text file as UTF-8, line ends as in the text.

    It is written as by :func:`write_bytes_atomically`.
    """
    write_bytes_atomically(path, text.encode("utf-8"))


def write_bytes_atomically(path: Path | str, content: bytes) -> None:
    """Write a file; a reader sees the old content or the new, never a part.

    A symbolic link is followed, and an old file's permissions are kept.

    Args:
        path: The file; its folder must exist. An old file is replaced.
        content: The whole content.

    Raises:
        EquipoiseError: If the folder is missing or cannot be written to.
    """
    write_files_atomically({Path(path): content})


def write_files_atomically(files: Mapping[Path, bytes]) -> None:
    """Write several files; if one cannot be written, all stay as they were.

    All contents, and copies of the files to be replaced, lie on the disk before the
    first file is touched. Each file is replaced whole; between one and the next, a
    reader may see some of them new and the others old.

    Args:
        files: Content by path; the folders must exist. Old files are replaced.

    Raises:
        EquipoiseError: If a folder is missing or cannot be written to.
    """
    targets = {path: _target(path) for path in files}
    if len(set(targets.values())) < len(targets):
        raise EquipoiseError(f"{' and '.join(map(str, files))} are the same file")
    replaced: list[tuple[Path, Path | None]] = []
    with ExitStack() as stack:
        staging: dict[Path, Path] = {}  # by the folder that it lies in
        prepared: list[tuple[Path, Path, Path | None]] = []
        for number, (path, content) in enumerate(files.items()):
            target = targets[path]
            with naming_file(path):
                if target.parent not in staging:
                    staging[target.parent] = stack.enter_context(
                        staging_folder(target.parent, target.name)
                    )
                new = staging[target.parent] / f"{number}-{target.name[:40]}"
                prepared.append((path, new, _prepare(target, content, new, files)))
        try:
            for path, new, old in prepared:
                with naming_file(path):
                    os.replace(new, targets[path])
                replaced.append((targets[path], old))
        except BaseException:
            for target, old in replaced:
                _put_back(target, old)
            raise


def _target(path: Path) -> Path:
    with naming_file(path):
        target = Path(os.path.realpath(path))
        if not target.parent.is_dir():
            raise EquipoiseError(f"{path}: the folder '{target.parent}' does not exist")
        if target.is_dir():
            raise EquipoiseError(f"{path}: is a folder, cannot be written as a file")
        if target.exists() and not target.is_file():
            raise EquipoiseError(f"{path}: is not a regular file")
    return target


def _prepare(
    target: Path, content: bytes, new: Path, files: Collection[Path]
) -> Path | None:
    """Write a file's new content, and a copy of its old if there are more files."""
    mode, old = 0o666 & ~_umask(), None
    if target.exists():
        mode = target.stat().st_mode & 0o7777
        if len(files) > 1:
            old = new.with_name(f"{new.name}.before")
            _write(old, target.read_bytes(), mode)
    _write(new, content, mode)
    return old


def _write(path: Path, content: bytes, mode: int) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def _put_back(target: Path, old: Path | None) -> None:
    with suppress(OSError):
        if old is None:
            target.unlink()
        else:
            os.replace(old, target)


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Turn failures of the operating system into an EquipoiseError that names a file.

    The file, or folder, is one that is being written.
    """
    try:
        yield
    except (OSError, ValueError) as error:  # over-long names, embedded NUL
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise EquipoiseError(f"{path}: cannot be written ({reason})") from error


def _umask() -> int:
    # the process has no other way to ask for it than to set it
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
