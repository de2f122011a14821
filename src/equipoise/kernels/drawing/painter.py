"""Meshes on a device, and pictures of them from any camera."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.kernels import runtime
from equipoise.kernels.drawing.picture import BAND, MAP_BAND, SAMPLES, make_picture
from equipoise.kernels.drawing.raster import COEFFICIENTS, EMPTY
from equipoise.kernels.once import lock

Floats = NDArray[np.float64]

# Texels of the shadow map along each axis.
MAP_SIZE = 512

TAPS = 32

# Cores that paint side by side; more would wait for memory.
CORES = min(len(os.sched_getaffinity(0)), 8)


@dataclass(frozen=True, eq=False)
class TriangleArrays:
    """All triangles of all items, those of solid ones first.

    Attributes:
        corners: In coordinates of their item [m], shape (n, 3, 3).
        normals: Unit vectors at the corners, shape (n, 3, 3).
        item: Item of each triangle, shape (n,).
        solid: How many triangles are not seen through; the others come last.
        ground: Item that is the ground, or -1.
    """

    corners: NDArray[np.float32]
    normals: NDArray[np.float32]
    item: NDArray[np.int32]
    solid: int
    ground: int


@dataclass(frozen=True, eq=False)
class ViewArrays:
    """Where items, camera and light are.

    Attributes:
        place: Pose of each item, linear part in world axes, shape (nitems, 3, 3).
        origin: Origin of each item in the world [m], shape (nitems, 3).
        colour: Colour of each item, linear, and its opacity, shape (nitems, 4).
        casts: Whether an item has a shadow, shape (nitems,).
        eye: Position of the camera [m], shape (3,).
        axes: Axes of the camera: right, down, forward as rows, shape (3, 3).
        focal: Distance of the image plane, in heights of the picture.
        light: Unit vector towards the light, shape (3,).
        light_axes: Two rows across it, shape (2, 3).
        map_origin: Corner of the shadow map, nowhere above what casts [m], (3,).
        map_size: Columns and rows of the shadow map.
        texel: Width of an entry of the shadow map [m].
        focus: Point around which the ground is clear [m], shape (3,).
        reach: Distance from there at which it fades [m].
        horizon: Linear colour where the ground ends, shape (3,).
        zenith: Linear colour above, shape (3,).
    """

    place: Floats
    origin: Floats
    colour: Floats
    casts: NDArray[np.bool_]
    eye: Floats
    axes: Floats
    focal: float
    light: Floats
    light_axes: Floats
    map_origin: Floats
    map_size: tuple[int, int]
    texel: float
    focus: Floats
    reach: float
    horizon: Floats
    zenith: Floats


@dataclass(frozen=True, eq=False)
class DrawingArrays:
    """Lines and markers on the screen.

    Attributes:
        segment: Ends of segments: x, y [px], one over distance [1/m], way along the
            line in dashes, shape (nsegments, 2, 4).
        line: First segment, end of segments, whether dashed, shape (nlines, 3).
        line_colour: 0 to 255, shape (nlines, 3).
        line_style: Half the width [px], opacity, and where hidden, (nlines, 3).
        marker: x, y [px], one over distance [1/m], radius [px], (nmarkers, 4).
        marker_colour: 0 to 255, shape (nmarkers, 3).
        marker_style: Opacity, and where hidden, whether quartered, (nmarkers, 3).
    """

    segment: Floats
    line: NDArray[np.int32]
    line_colour: Floats
    line_style: Floats
    marker: Floats
    marker_colour: Floats
    marker_style: Floats


class Painter:
    """Keeps triangles and buffers on a device and paints pictures of one size."""

    def __init__(
        self, triangles: TriangleArrays, width: int, height: int, device: str = "cpu"
    ) -> None:
        """Upload what does not change from picture to picture.

        Args:
            triangles: Triangles of all items.
            width: Width of pictures [px].
            height: Height of pictures [px].
            device: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.
        """
        self._device = runtime.device_named(device)
        self._width, self._height = width, height
        with lock:
            self._kernels = make_picture()
            count = len(triangles.item)
            layers = 2 if triangles.solid < count else 1
            size = (layers, SAMPLES * height, SAMPLES * width)
            self._view = self._raster(count, size)
            self._view.width, self._view.height = size[2], size[1]
            self._map = self._raster(count, (1, MAP_SIZE, MAP_SIZE))
            self._map.triangle = self._buffer((1, 1, 1), wp.int32)
            self._map.parallel = 1
            self._corners = self._array(triangles.corners, wp.vec3, 2)
            scene = self._scene = self._kernels.Scene()
            scene.opaque, scene.triangles = triangles.solid, count
            scene.ground, scene.layers = triangles.ground, layers
            of_ground = triangles.normals[triangles.item == triangles.ground]
            scene.smooth = int((np.abs(of_ground - of_ground[:, :1]) > 1e-3).any())
            scene.samples, scene.passes, scene.taps = SAMPLES**2, 2, TAPS
            scene.item = self._array(triangles.item, wp.int32, 1)
            scene.normals = self._array(triangles.normals, wp.vec3, 2)
            scene.tap = self._array(_spiral(TAPS), wp.vec2, 1)
            self._cover = self._buffer((height, width), wp.float32)
            self._picture = self._buffer((height, width, 3), wp.uint8)

    def picture(self, view: ViewArrays, drawing: DrawingArrays) -> NDArray[np.uint8]:
        """Return a picture, shape (height, width, 3)."""
        with lock:
            to_view, to_light = self._set_view(view)
            drawn = self._drawing(drawing)
        threads = len(self._corners) if self._device.is_cuda else 1
        self._view.depth.zero_()
        self._view.triangle.fill_(EMPTY)
        self._map.depth.zero_()
        for raster, matrix in ((self._view, to_view), (self._map, to_light)):
            inputs = [raster, self._corners, self._scene.item, matrix, threads]
            runtime.launch(self._kernels.place, threads, inputs, self._device)
        inputs = [self._map, self._scene.triangles]
        self._in_bands(self._kernels.cast, -(-view.map_size[1] // MAP_BAND), inputs)
        inputs = [self._scene, self._view, self._map, drawn, self._cover, self._picture]
        self._in_bands(self._kernels.paint, -(-self._height // BAND), inputs)
        painted: NDArray[np.uint8] = self._picture.numpy().copy()
        return painted

    def _in_bands(self, kernel: wp.Kernel, bands: int, inputs: list[Any]) -> None:
        """Run a kernel on bands; each core of a CPU takes every n-th one."""
        workers = 1 if self._device.is_cuda else min(CORES, bands)

        def work(first: int) -> None:
            count = len(range(first, bands, workers))
            runtime.launch(kernel, count, [first, workers, *inputs], self._device)

        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, range(workers)))

    def _set_view(self, view: ViewArrays) -> tuple[wp.array[Any], wp.array[Any]]:
        """Set camera and light; return maps of items to the screen and the light."""
        scene, height = self._scene, SAMPLES * self._height
        focal = view.focal * height
        right, down, forward = view.axes
        middle = np.array([0.5 * SAMPLES * self._width, 0.5 * height])
        screen = np.stack(
            [
                focal * right + middle[0] * forward,
                focal * down + middle[1] * forward,
                forward,
            ]
        )
        scene.eye = wp.vec3(*view.eye)
        scene.ray = wp.vec3(*(forward - (middle[0] * right + middle[1] * down) / focal))
        scene.ray_x, scene.ray_y = wp.vec3(*(right / focal)), wp.vec3(*(down / focal))
        across = view.light_axes / view.texel
        scene.light = wp.vec3(*view.light)
        scene.light_u, scene.light_v = wp.vec3(*across[0]), wp.vec3(*across[1])
        scene.light_origin = wp.vec3(*view.map_origin)
        scene.texel, scene.level = view.texel, 1.0 / max(view.light[2], 1e-3)
        scene.focus, scene.reach = wp.vec3(*view.focus), view.reach
        scene.horizon, scene.zenith = wp.vec3(*view.horizon), wp.vec3(*view.zenith)
        scene.turn = self._array(view.place, wp.vec3, 2)
        scene.colour = self._array(view.colour, wp.vec4, 1)
        self._map.width, self._map.height = view.map_size
        casting = np.where(view.casts[:, None, None], view.place, 0.0)
        light = np.concatenate([across, view.light[None]])
        return (
            self._array(_rows(screen, view.place, view.origin - view.eye), wp.vec3, 2),
            self._array(
                _rows(light, casting, view.origin - view.map_origin), wp.vec3, 2
            ),
        )

    def _drawing(self, drawing: DrawingArrays) -> Any:
        struct = self._kernels.Drawing()
        struct.lines, struct.markers = len(drawing.line), len(drawing.marker)
        struct.segment = self._array(drawing.segment, wp.vec4, 2)
        struct.line = self._array(drawing.line, wp.vec3i, 1)
        struct.line_colour = self._array(drawing.line_colour, wp.vec3, 1)
        struct.line_style = self._array(drawing.line_style, wp.vec3, 1)
        struct.marker = self._array(drawing.marker, wp.vec4, 1)
        struct.marker_colour = self._array(drawing.marker_colour, wp.vec3, 1)
        struct.marker_style = self._array(drawing.marker_style, wp.vec3, 1)
        return struct

    def _raster(self, count: int, size: tuple[int, int, int]) -> Any:
        raster = self._kernels.Raster()
        raster.coefficient = self._buffer((max(count, 1), COEFFICIENTS), wp.float32)
        raster.rows = self._buffer((max(count, 1),), wp.int32)
        raster.columns = self._buffer((max(count, 1),), wp.int32)
        raster.depth = self._buffer(size, wp.float32)
        raster.triangle = self._buffer(size, wp.int32)
        return raster

    def _buffer(self, shape: tuple[int, ...], scalar: Any) -> wp.array[Any]:
        return runtime.empty_result(shape, scalar, self._device, zeroed=True)

    def _array(self, values: Any, dtype: Any, dimensions: int) -> wp.array[Any]:
        """Return numbers on the device; one entry of zeros where there is none."""
        if len(values) == 0:
            return wp.zeros((1,) * dimensions, dtype=dtype, device=self._device)
        whole = dtype in (wp.int32, wp.vec3i)
        numbers = np.ascontiguousarray(values, np.int32 if whole else np.float32)
        return wp.array(numbers, dtype=dtype, device=self._device)


def _rows(screen: Floats, place: Floats, origin: Floats) -> Floats:
    """Return three rows and an offset per item, shape (nitems, 4, 3)."""
    linear = np.einsum("ij,njk->nik", screen, place)
    offset = origin @ screen.T
    return np.concatenate([linear, offset[:, None]], axis=1)


def _spiral(count: int) -> Floats:
    """Return points spread evenly over the unit disc, shape (count, 2)."""
    at = np.arange(count)
    radius = np.sqrt((at + 0.5) / count)
    turn = at * np.pi * (3.0 - np.sqrt(5.0))
    return np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
