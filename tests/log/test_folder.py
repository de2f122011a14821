from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from runs import swaying

from equipoise.errors import EquipoiseError
from equipoise.log import folder as folder_module
from equipoise.log.folder import (
    check_folder,
    read_summary,
    write_folder,
    write_run,
)
from equipoise.log.mcap_format.mcap_reader import read_run
from equipoise.log.run import Run

FILES = ["report.html", "run.mcap", "summary.json"]


@pytest.fixture(scope="module")
def run() -> Run:
    """A short run."""
    return swaying(seconds=0.05)


def test_folder_holds_three_files(run, tmp_path):
    """Summary, log and report; the summary is the run's, keys sorted."""
    assert write_run(run, tmp_path / "out", report="<p>") == tmp_path / "out"
    assert sorted(os.listdir(tmp_path / "out")) == FILES
    assert os.listdir(tmp_path) == ["out"]
    text = (tmp_path / "out" / "summary.json").read_text()
    keys = list(json.loads(text))
    assert keys == sorted(keys)
    assert read_summary(tmp_path / "out") == run.summary
    assert (tmp_path / "out" / "report.html").read_text() == "<p>"
    assert read_run(tmp_path / "out").summary == run.summary
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o777 & ~umask


def test_save_without_a_report(run, tmp_path):
    """From Python, a run saves itself; the report is made elsewhere."""
    assert run.save(str(tmp_path / "out")) == tmp_path / "out"
    assert sorted(os.listdir(tmp_path / "out")) == FILES[1:]


def test_existing_run_is_replaced_only_on_demand(run, tmp_path):
    """A run that is there stays as it is, unless replacing is asked for."""
    write_run(run, tmp_path / "out", report="old")
    with pytest.raises(EquipoiseError, match="exists already"):
        write_run(run, tmp_path / "out", report="new")
    assert (tmp_path / "out" / "report.html").read_text() == "old"
    write_run(run, tmp_path / "out", report="new", replace=True)
    assert (tmp_path / "out" / "report.html").read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


def test_what_is_not_a_run_is_never_replaced(run, tmp_path):
    """Folders with other files, and files, are safe even with replacing."""
    (tmp_path / "out").mkdir()
    write_run(run, tmp_path / "out", report=None)  # was empty
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    with pytest.raises(EquipoiseError, match=r"holds 'thesis\.tex', which is not part"):
        write_run(run, tmp_path / "out", report=None, replace=True)
    with pytest.raises(EquipoiseError, match="is a file, not a folder"):
        check_folder(tmp_path / "out" / "thesis.tex", replace=True)
    with pytest.raises(EquipoiseError, match=r"the folder '.*nowhere' does not exist"):
        check_folder(tmp_path / "nowhere" / "out")
    with pytest.raises(EquipoiseError, match="cannot be written"):
        check_folder(tmp_path / ("x" * 300))
    assert sorted(os.listdir(tmp_path)) == ["out"]


USERS_OWN = {
    "report.html/notes.txt": (r"holds 'report\.html', which is not a plain file"),
    "summary.json/notes.txt": (r"holds 'summary\.json', which is not a plain file"),
    "summary.json": r"holds 'summary\.json', which Equipoise did not write",
    "run.mcap": r"holds 'run\.mcap', which Equipoise did not write",
}


@pytest.mark.parametrize("name", USERS_OWN)
@pytest.mark.parametrize("alone", [False, True])
def test_what_a_user_put_in_a_run_is_never_replaced(run, tmp_path, name, alone):
    """A folder or a file of the user's own under a name of ours stays as it is."""
    out = tmp_path / "out"
    out.mkdir()
    if not alone:
        write_run(run, out, report="old")
        (out / name.split("/")[0]).unlink()
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).write_text('{"mine": 1}')
    before = _contents(tmp_path)
    said = "holds no summary.json" if alone and name == "run.mcap" else USERS_OWN[name]
    with pytest.raises(EquipoiseError, match=said):
        write_run(run, out, report="new", replace=True)
    assert _contents(tmp_path) == before


@pytest.mark.parametrize("replace", [False, True])
def test_what_appears_while_a_run_is_written_is_kept(run, tmp_path, replace):
    """Another run under the same name, or notes in the old one, are not replaced."""
    out = tmp_path / "out"
    if replace:
        write_run(run, out, report="old")

    def write(part):
        (part / "summary.json").write_text("{}")
        if replace:
            (out / "notes.txt").write_text("mine")
        else:
            write_run(run, out, report="old")

    with pytest.raises(EquipoiseError, match=r"notes\.txt|exists already"):
        write_folder(out, write, replace=replace)
    assert (out / "report.html").read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_link_in_a_run_is_not_ours(run, tmp_path):
    """A link that a user put there is not followed, and not removed."""
    write_run(run, tmp_path / "out", report=None)
    (tmp_path / "mine.html").write_text("mine")
    (tmp_path / "out" / "report.html").symlink_to(tmp_path / "mine.html")
    with pytest.raises(EquipoiseError, match="which is not a plain file"):
        write_run(run, tmp_path / "out", report="new", replace=True)


def test_link_is_followed(run, tmp_path):
    """A link to a folder of a run stays a link."""
    write_run(run, tmp_path / "real", report="old")
    (tmp_path / "link").symlink_to("real")
    write_run(run, tmp_path / "link", report="new", replace=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "report.html").read_text() == "new"


@pytest.mark.parametrize("failure", [OSError(28, "No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("place", ["write_mcap", "write_text_atomically", "rename"])
@pytest.mark.parametrize("replace", [False, True])
def test_never_half_a_folder(run, tmp_path, monkeypatch, failure, place, replace):
    """Whatever fails and whenever, all is as before: no folder, or the old one."""
    if replace:
        write_run(run, tmp_path / "out", report="old")
    before = _contents(tmp_path)

    def fail(*arguments):
        if place == "write_mcap":
            arguments[1].write(b"half of it")
        if place == "rename" and Path(arguments[0]).name != "new":
            return os.replace(*arguments)
        raise failure

    owner = folder_module.os if place == "rename" else folder_module
    with monkeypatch.context() as patch:
        patch.setattr(owner, place, fail)
        expected = (
            KeyboardInterrupt
            if isinstance(failure, KeyboardInterrupt)
            else EquipoiseError
        )
        with pytest.raises(expected):
            write_run(run, tmp_path / "out", report="new", replace=replace)
    assert _contents(tmp_path) == before


def test_summary_that_cannot_be_read(tmp_path):
    """A folder without summary, and one that is not JSON, are named."""
    with pytest.raises(
        EquipoiseError, match=r"is not the folder of a run: it has no summ"
    ):
        read_summary(tmp_path)
    (tmp_path / "summary.json").write_text("{")
    with pytest.raises(EquipoiseError, match=r"summary\.json: is not JSON"):
        read_summary(tmp_path)
    (tmp_path / "summary.json").write_text("[]")
    with pytest.raises(EquipoiseError, match="holds no mapping"):
        read_summary(tmp_path)


def _contents(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder with their bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }
