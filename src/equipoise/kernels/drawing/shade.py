"""The colour of a point: key light with soft shadow, light of the sky, ground, air."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, call-overload, return-value"
# mypy: disable-error-code="untyped-decorator"

from types import SimpleNamespace

import warp as wp

from equipoise.kernels.drawing.raster import DEPTH, NEAREST, ORIGIN, make_raster
from equipoise.kernels.once import once

# A light's disc, seen from the ground: width of the half shadow per height of what
# casts it, and its limits [m].
LIGHT_WIDTH, SHARPEST, SOFTEST = 0.11, 0.004, 0.06

# How far from a surface its own shadow is not looked for [m].
CLEARANCE = 0.006

# Lines of the ground: how many in a metre, how wide [samples] and how dark.
FINE, COARSE, LINE, FINE_INK, COARSE_INK = 10.0, 2.0, 2.2, 0.07, 0.19


@once
def make_shading() -> SimpleNamespace:
    """Return the struct ``Scene`` and the functions ``shade``, ``sky``.

    ``shade(scene, view, map, triangle, x, y)`` is the linear colour of a triangle
    where a sample of the screen sees it; ``sky(scene, view, y)`` that of nothing,
    the same in a whole row.
    ``view`` is the camera's ``Raster`` and ``map`` the light's.
    """
    raster = make_raster()
    Raster, weights = raster.Raster, raster.weights

    @wp.struct
    class Scene:
        opaque: int
        triangles: int
        ground: int
        smooth: int
        layers: int
        samples: int
        passes: int
        taps: int
        item: wp.array[int]
        normals: wp.array2d[wp.vec3]
        turn: wp.array2d[wp.vec3]
        colour: wp.array[wp.vec4]
        tap: wp.array[wp.vec2]
        eye: wp.vec3
        ray: wp.vec3
        ray_x: wp.vec3
        ray_y: wp.vec3
        light: wp.vec3
        light_u: wp.vec3
        light_v: wp.vec3
        light_origin: wp.vec3
        texel: float
        level: float
        focus: wp.vec3
        reach: float
        zenith: wp.vec3
        horizon: wp.vec3

    # Structs are handed over by value: functions that take them are called in one place
    # each, where the compiler puts them in line.

    @wp.func
    def in_shadow(scene: Scene, map: Raster, point: wp.vec3, softest: float) -> float:
        """Return how much of the light's disc is hidden, 0 to 1.

        Percentage-closer soft shadows (Fernando, 2005): what hides the light is looked
        for in a wide circle; its mean height says how wide the half shadow is.
        """
        from_origin = point - scene.light_origin
        u = wp.dot(from_origin, scene.light_u)
        v = wp.dot(from_origin, scene.light_v)
        if u < 0.0 or v < 0.0 or u >= float(map.width) or v >= float(map.height):
            return 0.0
        height = wp.max(wp.dot(from_origin, scene.light) + CLEARANCE, 0.0)
        radius, step = softest / scene.texel, int(3)
        hidden, above = float(0.0), float(0.0)
        # the first pass looks at every third tap, the second counts them all
        for way in range(scene.passes):
            hidden = float(0.0)
            for k in range(0, scene.taps, step):
                i = int(u + radius * scene.tap[k][0])
                j = int(v + radius * scene.tap[k][1])
                if i >= 0 and j >= 0 and i < map.width and j < map.height:
                    over = map.depth[0, j, i] - height
                    if over > 0.0:
                        hidden += 1.0
                        above += over
            if hidden == 0.0:
                return 0.0
            if way == 0:
                if hidden * 3.0 >= float(scene.taps):
                    return 1.0
                wide = wp.clamp(LIGHT_WIDTH * above / hidden, SHARPEST, softest)
                radius = wide / scene.texel
                step = int(1)
        return hidden / float(scene.taps)

    @wp.func
    def sky(scene: Scene, view: Raster, y: float) -> wp.vec3:
        middle = 0.5 * float(view.width)
        ray = wp.normalize(scene.ray + middle * scene.ray_x + y * scene.ray_y)
        up = wp.clamp(1.6 * ray[2], 0.0, 1.0)
        return scene.horizon + up * (scene.zenith - scene.horizon)

    @wp.func
    def ink(across: float, often: float, sharp: float) -> float:
        """Return how much of a sample lies on one of many parallel lines.

        Args:
            across: Where it is [m].
            often: Lines in a metre [1/m].
            sharp: One over the width of a line [1/m].
        """
        place = across * often
        off = wp.abs(place - wp.floor(place + 0.5))
        apart = sharp / often
        fades = wp.clamp(0.32 * apart - 0.6, 0.0, 1.0)
        return fades * wp.clamp(1.333 - 1.667 * off * apart, 0.0, 1.0)

    @wp.func
    def on_ground(
        scene: Scene,
        colour: wp.vec3,
        point: wp.vec3,
        normal: wp.vec3,
        ray: wp.vec3,
        away: float,
        lit: float,
    ) -> wp.vec3:
        # how the point moves with the sample, on the plane through it
        tilt = 1.0 / wp.min(wp.dot(ray, normal), -1e-6)
        along_x = scene.ray_x - (wp.dot(scene.ray_x, normal) * tilt) * ray
        along_y = scene.ray_y - (wp.dot(scene.ray_y, normal) * tilt) * ray
        blur_x = away * wp.max(wp.abs(along_x[0]), wp.abs(along_y[0])) + 1e-6
        blur_y = away * wp.max(wp.abs(along_x[1]), wp.abs(along_y[1])) + 1e-6
        # one division for both
        both = 1.0 / (LINE * blur_x * blur_y)
        sharp_x, sharp_y = both * blur_y, both * blur_x
        fine = wp.max(ink(point[0], FINE, sharp_x), ink(point[1], FINE, sharp_y))
        coarse = wp.max(ink(point[0], COARSE, sharp_x), ink(point[1], COARSE, sharp_y))
        lines = wp.max(FINE_INK * fine, COARSE_INK * coarse)
        facing = wp.max(wp.dot(normal, scene.light), 0.0)
        # unlike robots, ground has few colours: slopes need contrast of their own
        bright = (0.72 + 0.28 * normal[2]) * (0.46 + 0.54 * lit * facing * scene.level)
        off = point - scene.focus
        near = 1.0 / (1.0 + wp.dot(off, off) / (scene.reach * scene.reach))
        near = near * near
        return scene.horizon + near * (
            (bright * (1.0 - lines)) * colour - scene.horizon
        )

    @wp.func
    def shade(
        scene: Scene, view: Raster, map: Raster, t: int, x: float, y: float
    ) -> wp.vec3:
        item = scene.item[t]
        dx = x - view.coefficient[t, ORIGIN]
        dy = y - view.coefficient[t, ORIGIN + 1]
        inverse = wp.clamp(
            view.coefficient[t, DEPTH + 2]
            + view.coefficient[t, DEPTH] * dx
            + view.coefficient[t, DEPTH + 1] * dy,
            1e-6,
            view.coefficient[t, NEAREST],
        )
        ray = scene.ray + x * scene.ray_x + y * scene.ray_y
        away = 1.0 / inverse
        point = scene.eye + away * ray
        normal = scene.normals[t, 0]
        if item != scene.ground or scene.smooth == 1:
            weight = weights(view, t, x, y)
            local = (
                weight[0] * scene.normals[t, 0]
                + weight[1] * scene.normals[t, 1]
                + weight[2] * scene.normals[t, 2]
            )
            normal = wp.normalize(
                wp.vec3(
                    wp.dot(scene.turn[item, 0], local),
                    wp.dot(scene.turn[item, 1], local),
                    wp.dot(scene.turn[item, 2], local),
                )
            )
        seen = wp.dot(normal, ray)
        # open meshes are seen from inside too
        if seen > 0.2:
            normal = -normal
            seen = -seen
        facing = wp.dot(normal, scene.light)
        softest, lift = 3.0 * SHARPEST, CLEARANCE
        if item == scene.ground:
            softest, lift = SOFTEST, 0.0
        lit = float(0.0)
        if facing > 0.0:
            lit = 1.0 - in_shadow(scene, map, point + lift * normal, softest)
        paint = scene.colour[item]
        colour = wp.vec3(paint[0], paint[1], paint[2])
        if item == scene.ground:
            return on_ground(scene, colour, point, normal, ray, away, lit)
        look = wp.normalize(ray)
        seen = wp.dot(normal, look)
        half = wp.normalize(scene.light - look)
        gloss = wp.max(wp.dot(normal, half), 0.0)
        gloss = gloss * gloss
        gloss = gloss * gloss
        gloss = gloss * gloss
        gloss = gloss * gloss * gloss
        above = 0.5 + 0.5 * normal[2]
        ambient = 0.26 + 0.28 * above
        # a second, weak light from the side of the camera shows forms in shadow
        front = 0.14 * wp.max(-seen, 0.0)
        diffuse = ambient + front + 0.60 * lit * wp.max(facing, 0.0)
        rim = 1.0 + wp.min(seen, 0.0)
        rim = rim * rim
        rim = rim * rim
        shine = 0.16 * lit * gloss + 0.10 * rim * above
        return diffuse * colour + wp.vec3(shine, shine, shine)

    return SimpleNamespace(Scene=Scene, shade=shade, sky=sky)
