from __future__ import annotations

import numpy as np
import pytest
from show.shapes import box, sphere, square

from equipoise.errors import EquipoiseError
from equipoise.robot.mesh import Mesh
from equipoise.show.films.drawing import FOCAL, Camera, Line, Marker
from equipoise.show.films.film import captioned
from equipoise.show.films.render import Item, Renderer
from equipoise.show.palette import GROUND
from equipoise.show.space.scene import Arrow

WHITE = ((255, 255, 255), (255, 255, 255))
DARK, RED, BLUE = (20, 20, 20), (220, 30, 30), (30, 30, 220)
AT_ORIGIN = np.array([[0.0, 0, 0, 0, 0, 0, 1]])
WIDTH, HEIGHT = 240, 160
# A pixel half black and half white: light adds up, its root is shown.
HALF = 255.0 * np.sqrt(0.5)
ALONG_X = Camera((5.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def renderer(*items, **options):
    """Return a small renderer before a white background."""
    return Renderer(items, width=WIDTH, height=HEIGHT, background=WHITE, **options)


def coverage(picture):
    """Return how much of each pixel is dark, 0 to 1."""
    return 1.0 - (picture.mean(axis=2) / 255.0) ** 2


def is_red(picture):
    """Return which pixels are red."""
    return (picture[..., 0] > 150) & (picture[..., 1] < 120) & (picture[..., 2] < 120)


def test_silhouette_of_a_sphere():
    """Its area is that of the disc under which the camera sees the sphere."""
    picture = renderer(Item(sphere(0.6), (0, 0, 0))).picture(ALONG_X, AT_ORIGIN)
    area = (picture.mean(axis=2) < HALF).sum()
    radius = FOCAL * HEIGHT * np.tan(np.arcsin(0.6 / 5.0))
    assert area == pytest.approx(np.pi * radius**2, rel=0.01)


def test_silhouette_of_a_box():
    """The near face of a box is where the pinhole camera has its corners."""
    turned = np.array([[0.0, 0.2, -0.1, 0, 0, np.sin(np.pi / 4), np.cos(np.pi / 4)]])
    picture = renderer(Item(box((0.8, 1.2, 0.6)), (0, 0, 0))).picture(ALONG_X, turned)
    dark = picture.mean(axis=2) < HALF
    scale = FOCAL * HEIGHT / (5.0 - 0.6)
    assert dark.sum() == pytest.approx(0.8 * 0.6 * scale**2, rel=0.01)
    rows, columns = np.nonzero(dark)
    # the camera looks along -x: its right is world +y
    assert columns.mean() == pytest.approx(WIDTH / 2 + 0.2 * scale - 0.5, abs=0.6)
    assert rows.mean() == pytest.approx(HEIGHT / 2 + 0.1 * scale - 0.5, abs=0.6)


def test_edges_are_smooth():
    """Along the rim of a sphere pixels are partly covered."""
    picture = renderer(Item(sphere(0.6), (0, 0, 0))).picture(ALONG_X, AT_ORIGIN)
    part = coverage(picture)
    assert ((part > 0.3) & (part < 0.8)).sum() > 50


def test_nearer_hides_farther():
    """The nearer of two boxes is seen, also if it is listed last."""
    for near, far in ((0, 1), (1, 0)):
        poses = np.tile(AT_ORIGIN, (2, 1))
        poses[near, 0], poses[far, 0] = 1.0, -1.0
        items = [Item(box(), RED if k == near else BLUE) for k in range(2)]
        picture = renderer(*items).picture(ALONG_X, poses)
        assert is_red(picture)[HEIGHT // 2, WIDTH // 2]


def test_same_input_same_bytes():
    """Pictures are the same from run to run, and after others in between."""
    scene = [Item(box(), RED), Item(sphere(0.4), BLUE, opacity=0.5)]
    line = Line(np.array([[0, -1, 0], [0, 1, 0.3]]), DARK, 3.0, dashed=True)

    def take(tool):
        return tool.picture(ALONG_X, AT_ORIGIN, lines=[line])

    one = renderer(*scene, ground=Item(square(), GROUND))
    first = take(one)
    one.picture(Camera((0.0, 4.0, 2.0), (0.0, 0.0, 0.0)), AT_ORIGIN)
    np.testing.assert_array_equal(first, take(one))
    other = renderer(*scene, ground=Item(square(), GROUND))
    np.testing.assert_array_equal(first, take(other))


def test_translucent_items_show_what_is_behind():
    """Half-transparent red before blue is between both; its far side adds nothing."""
    inner = np.tile(AT_ORIGIN, (2, 1))
    mix = renderer(Item(box((1, 1, 1)), RED, 0.5), Item(box((0.4, 0.4, 0.4)), BLUE))
    colour = mix.picture(ALONG_X, inner)[HEIGHT // 2, WIDTH // 2].astype(int)
    assert colour[0] > 100
    assert colour[2] > 100
    beside = mix.picture(ALONG_X, inner)[HEIGHT // 2, WIDTH // 2 + 28].astype(int)
    assert beside[0] > beside[2] > 120


def test_markers_are_seen_through():
    """A marker inside a box shows on it, one without ``through`` does not."""
    picture = renderer(Item(box(), (90, 90, 90)))
    inside = Marker((0.0, 0.0, 0.0), RED, 8.0)
    hidden = Marker((0.0, 0.0, 0.0), RED, 8.0, through=0.0)
    shown = is_red(picture.picture(ALONG_X, AT_ORIGIN, markers=[inside]))
    assert shown.sum() == pytest.approx(np.pi * 8.0**2, rel=0.1)
    assert not is_red(picture.picture(ALONG_X, AT_ORIGIN, markers=[hidden])).any()


def test_markers_behind_the_camera_and_off_the_screen_are_left_out():
    """They neither show nor fail."""
    empty = renderer()
    away = [
        Marker((9.0, 0, 0), RED),
        Marker((0, 1e9, 0), RED),
        Marker((5.0, 0, 0), RED),
    ]
    assert (empty.picture(ALONG_X, markers=away) == 255).all()


def test_lines_have_their_width_and_are_hidden():
    """A line covers length times width; behind a box it does not show."""
    points = np.array([[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]])
    line = Line(points, (0, 0, 0), width_px=4.0, through=0.0)
    part = 1.0 - renderer().picture(ALONG_X, lines=[line]).mean(axis=2) / 255.0
    length = 2.0 * FOCAL * HEIGHT / 5.0
    assert part.sum() == pytest.approx(4.0 * length + np.pi * 2.0**2, rel=0.02)
    before = renderer(Item(box((0.2, 4, 4)), (255, 255, 255)))
    poses = AT_ORIGIN + np.array([[1.0, 0, 0, 0, 0, 0, 0]])
    plain = before.picture(ALONG_X, poses)
    np.testing.assert_array_equal(before.picture(ALONG_X, poses, lines=[line]), plain)


def test_lines_through_the_camera_plane_and_gaps():
    """A line that passes the camera is cut; NaN rows are gaps; one point is nothing."""
    past = Line(np.array([[-5.0, 0, -0.5], [9.0, 0, -0.5]]), (0, 0, 0), 3.0)
    picture = renderer().picture(ALONG_X, lines=[past])
    assert (picture[-1].mean(axis=1) < 128).any()
    points = np.array([[0, -1, 0], [np.nan] * 3, [0, 1, 0]])
    for gap in (points, points[:1], points[:0]):
        assert (renderer().picture(ALONG_X, lines=[Line(gap, DARK)]) == 255).all()


def test_arrows_are_where_they_point():
    """An arrow covers its start and tip; more than there is space for are drawn too."""
    tool = renderer(arrow_radius=0.03)

    def drawn(*ends):
        arrows = [Arrow(np.array(start), np.array(end)) for start, end in ends]
        return tool.picture(ALONG_X, arrows=arrows).min(axis=2) < 200

    one = drawn(([0, -0.5, 0], [0, 0.5, 0]))
    scale = FOCAL * HEIGHT / 5.0
    assert np.ptp(np.nonzero(one)[1]) == pytest.approx(scale, abs=4.0)
    tips = [[0, 0.5 * np.cos(k), 0.5 * np.sin(k)] for k in range(9)]
    assert drawn(*([np.zeros(3), tip] for tip in tips)).sum() > one.sum()
    assert not drawn(([0, 0, 0], [0, 0, 0])).any()


def test_shadow_lies_away_from_the_light():
    """A box above the ground darkens it on the side away from the light, softly."""
    above = Camera((0.0, -0.01, 12.0), (0.0, 0.0, 0.0))
    pose = AT_ORIGIN + np.array([[0, 0, 0.6, 0, 0, 0, 0]])
    item = Item(box((0.3, 0.3, 0.3)), (255, 255, 255))
    light = (1.0, 0.0, 1.0)
    lit, bare = (
        renderer(
            Item(item.mesh, item.colour, casts_shadow=casts),
            ground=Item(square(), (200, 200, 200)),
            light=light,
        )
        .picture(above, pose)
        .astype(int)
        .sum(axis=2)
        for casts in (True, False)
    )
    darker = bare - lit
    rows, columns = np.nonzero(darker > 60)
    scale = FOCAL * HEIGHT / 12.0
    # the camera's right is +x here; the light comes from there
    assert columns.mean() - WIDTH / 2 == pytest.approx(-0.6 * scale, abs=0.1 * scale)
    assert rows.mean() == pytest.approx(HEIGHT / 2, abs=1.5)
    assert ((darker > 15) & (darker < 0.7 * darker.max())).sum() > 20


def test_ground_reaches_past_the_camera():
    """Ground beneath and behind the camera fills the lower edge of the picture."""
    tool = renderer(ground=Item(square(), (120, 160, 120)))
    camera = Camera((3.0, 0.0, 0.4), (0.0, 0.0, 0.4))
    picture = tool.picture(camera)
    assert (picture[-1, :, 1] > picture[-1, :, 0]).all()
    assert (picture[0] == 255).all()


def test_camera_fits_points():
    """All points are inside the margin, and one of them touches it."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        points = rng.normal(0.0, 1.0, (30, 3)) * rng.uniform(0.1, 2.0, 3)
        camera = Camera.fit(points, rng.normal(size=3), WIDTH / HEIGHT, margin=0.1)
        x, y, distance = camera.project(points, WIDTH, HEIGHT).T
        assert distance.min() > 0.0
        edge = np.stack([x / WIDTH, 1 - x / WIDTH, y / HEIGHT, 1 - y / HEIGHT])
        assert edge.min() == pytest.approx(0.1, abs=1e-6)
    assert Camera.fit([[0, 0, 0]], (0, 0, -1), 1.0).position[2] > 0.0


@pytest.mark.parametrize(
    ("poses", "words"),
    [
        (np.full((1, 7), np.nan), "pose of item 0"),
        (np.zeros((1, 7)), "pose of item 0"),
        (np.zeros((2, 7)), "at most 1"),
        (np.zeros(7), r"shape \(k, 7\)"),
    ],
)
def test_impossible_poses_are_refused(poses, words):
    """NaN, no rotation, too many, another shape."""
    with pytest.raises(EquipoiseError, match=words):
        renderer(Item(box(), RED)).picture(ALONG_X, poses)


def test_impossible_scenes_are_refused():
    """Sizes and positions that cannot be."""
    with pytest.raises(EquipoiseError, match="16 to 8192 px"):
        Renderer([], width=0, height=100)
    with pytest.raises(EquipoiseError, match="not finite"):
        Camera.fit([[0, 0, np.nan]], (0, 1, 0), 1.0)


def test_an_empty_mesh_is_nothing():
    """Items without triangles leave the picture as it is."""
    nothing = Mesh(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.int32))
    picture = renderer(Item(nothing, RED)).picture(ALONG_X, AT_ORIGIN)
    assert (picture == 255).all()


def test_caption_leaves_the_middle_free():
    """Title, time and legend are at the edges; the picture given is not changed."""
    blank = np.full((360, 480, 3), 255, np.uint8)
    legend = [(f"item {k}", RED) for k in range(12)]
    written = captioned(blank, "Walk", legend, time=1.234)
    assert (blank == 255).all()
    assert (written[80:280] == 255).all()
    assert (written[:80, :200] < 128).any()
    assert (written[:80, 300:] < 128).any()
    assert is_red(written[280:]).any()
    np.testing.assert_array_equal(captioned(blank), blank)
