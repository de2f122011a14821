"""A study's file: what it may say, and what bad ones are answered."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
from study.studies import STANDING, varying, written

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.study.outcomes import USUAL, known_outcomes
from equipoise.study.parameters import FIXED, VERBS, known_parameters
from equipoise.study.study_file import OPTIONS


def test_names_with_and_without_quotes(tmp_path: Path) -> None:
    """TOML's tables within tables and dotted names in quotes are the same."""
    plain = varying(
        "torso.com.x = { from = -1, to = 1, points = 3 }\ntorso.com.y = [0.0, 0.5]\n"
        "links.left_foot.mass = { values = [0.9] }",
        "push.impulse = 0.1",
    )
    quoted = varying(
        '"torso.com.x" = { from = -1, to = 1, points = 3 }\n'
        '"torso.com.y" = [0.0, 0.5]\n"links.left_foot.mass" = [0.9]',
        '"push.impulse" = 0.1',
    )
    first, second = (eq.load_study(written(tmp_path, text)) for text in (plain, quoted))
    assert first.varied == second.varied
    assert first.constants == second.constants == {"push.impulse": 0.1}
    assert len(first.points) == 6
    assert first.points[0] == (-1.0, 0.0, 0.9)
    assert first.columns[:3] == ("torso.com.x", "torso.com.y", "links.left_foot.mass")
    assert first.columns[-1] == "error"


def test_parameters_say_what_they_are(tmp_path: Path) -> None:
    """Unit and meaning, also of gains, from what the controller says of them."""
    study = eq.load_study(
        written(tmp_path, varying("gains.zmp_rate = [10.0, 20.0]\nfriction = [0.5]"))
    )
    gain, friction = study.parameters
    assert (gain.unit, friction.unit) == ("1/s", "")
    assert "measured ZMP" in gain.meaning


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_measured_by_default_exists(verb: str) -> None:
    """The usual outcomes of each run are among all of them."""
    assert set(USUAL[verb]) <= set(known_outcomes(verb))  # type: ignore[index, arg-type]
    known = known_parameters(eq.load("humanoid"), verb, "none")  # type: ignore[arg-type]
    assert "torso.com.x" in known


RUN = '[run]\nverb = "walk"\nrobot = "itu-biped"\n'
GRID = '[sampling]\nmethod = "grid"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (varying("torso.com.w = [1.0]"), r"no parameter 'torso.com.w' \(did you mean"),
        (varying("frictoin = [1.0]"), r"\(did you mean 'friction'\?\)"),
        (varying("links.left_foott.mass = [1]"), "mean 'links.left_foot.mass'"),
        (varying("gains.dmc = [1.0]"), "did you mean 'gains.dcm'"),
        (varying("truth.seed = [1]"), "'truth.seed' is not of walk; it is of: ident"),
        (varying("friction = { from = 1, to = 1 }"), "'friction': its range is empty"),
        (varying("friction = { from = 1, to = 0.5 }"), "range is empty: from 1 to 0.5"),
        (varying("friction = []"), "range is empty: no values"),
        (varying("friction = { mean = 1.0, std = 0.0 }"), "range is empty: std is 0"),
        (varying("friction = [-0.5]"), "'friction' is -0.5; it must be 0 or more"),
        (varying("friction = [0.5, 0.5]"), "a value is there twice"),
        (varying("friction = 0.5"), "a range is needed"),
        (varying("friction = { from = 0.1 }"), "'to' is missing"),
        (varying("friction = { from = 0.1, too = 1 }"), "did you mean 'to'"),
        (varying("friction = { from = 0.1, to = 1 }"), "a grid needs points"),
        (varying("friction = { mean = 1, std = 1 }"), "has no levels"),
        (varying("engine = { from = 1, to = 2 }"), "give a list of values"),
        (varying('engine = ["bullet"]'), "choose from native, mujoco"),
        (varying("sensors.seed = [0.5]"), "must be a whole number"),
        (
            varying("friction = [0.5]", "friction = 0.4"),
            r"is in \[run\] and in",
        ),
        (varying("push.time = [1.0]\npush.phase = [0.1]"), "push.time or push.phase"),
        (varying("push.phase = [0.1]"), "give push.phase or steps, not both"),
        (varying("push.time = [1.0]"), "push.impulse is missing"),
        (varying("sensors.noise = [1.0]", 'law = "none"'), "has no effect"),
        (varying("sensors.seed = [1]", "true_state = true"), "has no effect"),
        (
            STANDING.replace('"stand"', '"dance"')
            .replace("seconds = 0.5\n", "")
            .replace("friction =", "gains.kp ="),
            "gains.kp and gains.kc are given together",
        ),
        (varying("friction = [0.5]", 'law = "bang"'), "no law 'bang'"),
        (varying("friction = [0.5]", "stepps = 2"), "did you mean 'steps'"),
        (varying("friction = [0.5]", "seconds = 2.0"), "'seconds' is not of walk"),
        (varying("friction = [0.5]", "dt = true"), "'dt' is True; it must be a number"),
        (
            varying("friction = [0.5]", sampling='method = "gird"'),
            "did you mean 'grid'",
        ),
        (
            varying("friction = [0.5]", sampling='method = "grid"\ncount = 3'),
            "no count",
        ),
        (varying("friction = [0.5]", sampling='method = "random"'), "count .*missing"),
        (
            varying("friction = [0.5]", sampling='method = "sobol"\ncount = 100'),
            "a power of two, say 128",
        ),
        (
            varying("friction = [0.5]", sampling='method = "posterior"\ncount = 9'),
            "needs log",
        ),
        (
            varying("friction = [0.5]", sampling='method = "grid"\nlog = "x.csv"'),
            'log is for method "posterior"',
        ),
        (f"{RUN}[vary]\n{GRID}", "nothing is varied"),
        (f"{RUN}{GRID}", r"\[vary\] is missing"),
        (f"[vary]\nfriction = [1]\n{GRID}", r"\[run\] is missing"),
        (STANDING.replace('"stand"', '"jump"'), "no verb 'jump'; choose from walk"),
        (STANDING.replace('"stand"', '"stant"'), "did you mean 'stand'"),
        (STANDING.replace('"itu-biped"', '"itu-bipet"'), "itu-biped"),
        (STANDING.replace('"survived"', '"survival"'), "did you mean 'survived'"),
        (STANDING.replace('"survived", ', '"com_error_m.max", '), "there twice"),
        (STANDING.replace("[vary]", "[vari]"), "did you mean 'vary'"),
        ("[run", "is not TOML"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    """One line that names the file and says what is possible."""
    path = written(tmp_path, text)
    with pytest.raises(EquipoiseError, match=message) as error:
        eq.load_study(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("head", ['format = "equipoise study 2"\n', "", "format = 1\n"])
def test_a_file_of_another_version(tmp_path: Path, head: str) -> None:
    """Which version is read is said."""
    path = tmp_path / "study.toml"
    path.write_text(head + STANDING)
    with pytest.raises(EquipoiseError, match='format = "equipoise study 1" is read'):
        eq.load_study(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """One line."""
    with pytest.raises(EquipoiseError, match=r"no.toml"):
        eq.load_study(tmp_path / "no.toml")


def test_the_page_has_every_parameter_and_option() -> None:
    """What can be varied, and said in [run], stands in docs/study.md."""
    page = (Path(__file__).parents[2] / "docs" / "study.md").read_text("utf-8")
    for name in (*(own.name for own in FIXED), *OPTIONS):
        assert f"`{name}`" in page, name


def test_the_example_can_be_loaded(tmp_path: Path) -> None:
    """The file that --write-example writes."""
    text = (resources.files("equipoise.study") / "example.toml").read_text("utf-8")
    path = tmp_path / "example.toml"
    path.write_text(text)
    study = eq.load_study(path)
    assert len(study.points) == 21
    assert study.verb == "walk"
