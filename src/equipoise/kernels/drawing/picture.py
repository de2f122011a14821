"""Pictures: shadow map, visible triangles, colours, then lines and markers on top."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, call-overload, return-value"
# mypy: disable-error-code="untyped-decorator"

from types import SimpleNamespace

import warp as wp

from equipoise.kernels.drawing.raster import EMPTY, make_raster
from equipoise.kernels.drawing.shade import make_shading
from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS

# Samples of a pixel along each axis.
SAMPLES = 2

# Rows of pixels that a thread owns, and texels of the shadow map.
BAND, MAP_BAND = 16, 64

# Drawings lie on surfaces: this much nearer they are not hidden by them.
LIFT = 1.006

# Cosine between normals that are shaded alike within a pixel.
ALIKE = 0.98

# White around a marker [px].
RING = 1.6


@once
def make_picture() -> SimpleNamespace:
    """Return the struct ``Drawing`` and the kernels ``cast``, ``paint``.

    ``cast`` fills the light's depth buffer, ``paint`` makes the picture; both work on
    every ``stride``-th band of rows, from ``first`` on.
    A ``Drawing`` holds lines and markers as they lie on the screen: of a segment's
    ends x, y [px], depth and way along the line in dashes; of a line its first and last
    segment and whether it is dashed; its colour and opacity, half its width [px] and
    opacity where hidden; of a marker x, y, depth, radius [px].
    """
    raster, shading = make_raster(), make_shading()
    Raster, fill = raster.Raster, raster.fill
    Scene, shade, sky = shading.Scene, shading.shade, shading.sky

    @wp.struct
    class Drawing:
        lines: int
        markers: int
        segment: wp.array2d[wp.vec4]
        line: wp.array[wp.vec3i]
        line_colour: wp.array[wp.vec3]
        line_style: wp.array[wp.vec3]
        marker: wp.array[wp.vec4]
        marker_colour: wp.array[wp.vec3]
        marker_style: wp.array[wp.vec3]

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def cast(first: int, stride: int, map: Raster, triangles: int) -> None:
        top = (first + wp.tid() * stride) * MAP_BAND
        fill(map, 0, triangles, top, wp.min(top + MAP_BAND, map.height), 0)

    @wp.func
    def seen(view: Raster, x: int, y: int, depth: float) -> float:
        """Return the part of a pixel where nothing is in front."""
        part = float(0.0)
        for j in range(SAMPLES):
            for i in range(SAMPLES):
                if depth * LIFT >= view.depth[0, SAMPLES * y + j, SAMPLES * x + i]:
                    part += 1.0
        return part / float(SAMPLES * SAMPLES)

    @wp.func
    def to_bytes(colour: wp.vec3) -> wp.vec3:
        """Return a colour, 0 to 255; squares of colours are what adds up as light."""
        return wp.vec3(
            255.0 * wp.sqrt(wp.clamp(colour[0], 0.0, 1.0)) + 0.5,
            255.0 * wp.sqrt(wp.clamp(colour[1], 0.0, 1.0)) + 0.5,
            255.0 * wp.sqrt(wp.clamp(colour[2], 0.0, 1.0)) + 0.5,
        )

    @wp.func
    def blend(
        picture: wp.array3d[wp.uint8], x: int, y: int, colour: wp.vec3, opacity: float
    ) -> None:
        for k in range(3):
            old = float(picture[y, x, k])
            picture[y, x, k] = wp.uint8(old + opacity * (colour[k] - old) + 0.5)

    @wp.func
    def pixel(
        scene: Scene,
        view: Raster,
        map: Raster,
        behind: wp.vec3,
        x: int,
        y: int,
        samples: int,
    ) -> wp.vec3:
        """Return the colour of a pixel, all its samples or one in the middle.

        Samples on the same item with nearly the same normal are shaded once.
        """
        total, known = wp.vec3(), wp.vec3()
        last_solid, last_translucent = int(-2), int(-2)
        for s in range(samples):
            i = SAMPLES * x + s % SAMPLES
            j = SAMPLES * y + s // SAMPLES
            off = float(0.5)
            if samples == 1:
                off = float(0.5 * float(SAMPLES))
            solid, translucent = int(view.triangle[0, j, i]), int(EMPTY)
            if scene.layers > 1 and view.depth[1, j, i] > view.depth[0, j, i]:
                translucent = view.triangle[1, j, i]
            same = int(0)
            if solid == last_solid and translucent == last_translucent:
                same = int(1)
            elif solid >= 0 and last_solid >= 0 and translucent == last_translucent:
                one, other = scene.normals[solid, 0], scene.normals[last_solid, 0]
                if (
                    scene.item[solid] == scene.item[last_solid]
                    and wp.dot(one, other) > ALIKE
                ):
                    same = int(1)
            if same == 0:
                known = behind
                for layer in range(scene.layers):
                    t = int(solid)
                    if layer == 1:
                        t = int(translucent)
                    if t >= 0:
                        opacity = scene.colour[scene.item[t]][3]
                        colour = shade(
                            scene, view, map, t, float(i) + off, float(j) + off
                        )
                        known = known + opacity * (colour - known)
                last_solid = solid
                last_translucent = translucent
            total = total + known
        return total * (1.0 / float(samples))

    @wp.func
    def is_even(view: Raster, layer: int, x: int, y: int) -> bool:
        """Return whether all samples of a pixel see the same triangle, or none."""
        i, j = SAMPLES * x, SAMPLES * y
        t = view.triangle[layer, j, i]
        return (
            t == view.triangle[layer, j, i + 1]
            and t == view.triangle[layer, j + 1, i]
            and t == view.triangle[layer, j + 1, i + 1]
        )

    @wp.func
    def draw_line(
        drawing: Drawing,
        view: Raster,
        cover: wp.array2d[float],
        picture: wp.array3d[wp.uint8],
        n: int,
        top: int,
        bottom: int,
    ) -> None:
        """Draw one line into rows; where it meets itself it is not drawn twice."""
        style = drawing.line_style[n]
        wide = style[0] + 0.5
        left, right = int(picture.shape[1]), int(-1)
        high, low = int(bottom), int(-1)
        for s in range(drawing.line[n][0], drawing.line[n][1]):
            a, b = drawing.segment[s, 0], drawing.segment[s, 1]
            y0 = wp.max(int(wp.floor(wp.min(a[1], b[1]) - wide)), top)
            y1 = wp.min(int(wp.ceil(wp.max(a[1], b[1]) + wide)), bottom - 1)
            x0 = wp.max(int(wp.floor(wp.min(a[0], b[0]) - wide)), 0)
            x1 = wp.min(int(wp.ceil(wp.max(a[0], b[0]) + wide)), picture.shape[1] - 1)
            if y0 <= y1 and x0 <= x1:
                left, right = wp.min(left, x0), wp.max(right, x1)
                high, low = wp.min(high, y0), wp.max(low, y1)
                way = wp.vec2(b[0] - a[0], b[1] - a[1])
                scale = 1.0 / wp.max(wp.dot(way, way), 1e-12)
                for y in range(y0, y1 + 1):
                    for x in range(x0, x1 + 1):
                        off = wp.vec2(float(x) + 0.5 - a[0], float(y) + 0.5 - a[1])
                        along = wp.clamp(wp.dot(off, way) * scale, 0.0, 1.0)
                        ink = wp.clamp(wide - wp.length(off - along * way), 0.0, 1.0)
                        dash = a[3] + along * (b[3] - a[3])
                        if drawing.line[n][2] == 1 and dash - wp.floor(dash) > 0.6:
                            ink = 0.0
                        if ink > 0.0:
                            part = seen(view, x, y, a[2] + along * (b[2] - a[2]))
                            ink = ink * (part * style[1] + (1.0 - part) * style[2])
                            cover[y, x] = wp.max(cover[y, x], ink)
        for y in range(high, low + 1):
            for x in range(left, right + 1):
                if cover[y, x] > 0.0:
                    blend(picture, x, y, drawing.line_colour[n], cover[y, x])
                    cover[y, x] = 0.0

    @wp.func
    def draw_marker(
        drawing: Drawing,
        view: Raster,
        picture: wp.array3d[wp.uint8],
        n: int,
        top: int,
        bottom: int,
    ) -> None:
        """Draw a disc with a white ring; quartered, it is the sign of a CoM."""
        at, style = drawing.marker[n], drawing.marker_style[n]
        radius = at[3]
        wide = radius + RING + 1.0
        white = wp.vec3(255.0, 255.0, 255.0)
        for y in range(
            wp.max(int(at[1] - wide), top), wp.min(int(at[1] + wide) + 1, bottom)
        ):
            for x in range(
                wp.max(int(at[0] - wide), 0),
                wp.min(int(at[0] + wide) + 1, picture.shape[1]),
            ):
                dx, dy = float(x) + 0.5 - at[0], float(y) + 0.5 - at[1]
                off = wp.sqrt(dx * dx + dy * dy)
                part = seen(view, x, y, at[2])
                opacity = part * style[0] + (1.0 - part) * style[1]
                ring = wp.clamp(radius + RING + 0.5 - off, 0.0, 1.0)
                disc = wp.clamp(radius + 0.5 - off, 0.0, 1.0)
                colour = drawing.marker_colour[n]
                if style[2] > 0.0:
                    # edges between the quarters, as soft as the rim
                    inner = wp.clamp(radius - 2.0 + 0.5 - off, 0.0, 1.0)
                    sign_x = wp.clamp(dx, -0.5, 0.5)
                    sign_y = wp.clamp(dy, -0.5, 0.5)
                    light = inner * (0.5 + 2.0 * sign_x * sign_y)
                    colour = colour + light * (white - colour)
                if ring > 0.0:
                    colour = white + disc * (colour - white)
                    blend(picture, x, y, colour, opacity * ring)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def paint(
        first: int,
        stride: int,
        scene: Scene,
        view: Raster,
        map: Raster,
        drawing: Drawing,
        cover: wp.array2d[float],
        picture: wp.array3d[wp.uint8],
    ) -> None:
        top = (first + wp.tid() * stride) * BAND
        bottom = wp.min(top + BAND, picture.shape[0])
        for layer in range(scene.layers):
            start, end = int(0), int(scene.opaque)
            if layer == 1:
                start, end = int(scene.opaque), int(scene.triangles)
            fill(view, start, end, SAMPLES * top, SAMPLES * bottom, layer)
        for y in range(top, bottom):
            behind = sky(scene, view, float(SAMPLES) * (float(y) + 0.5))
            void = to_bytes(behind)
            for x in range(picture.shape[1]):
                colour = void
                samples, filled = int(1), int(0)
                for layer in range(scene.layers):
                    if not is_even(view, layer, x, y):
                        samples = int(scene.samples)
                        filled = int(1)
                    elif view.triangle[layer, SAMPLES * y, SAMPLES * x] != EMPTY:
                        filled = int(1)
                if filled == 1:
                    colour = to_bytes(pixel(scene, view, map, behind, x, y, samples))
                for k in range(3):
                    picture[y, x, k] = wp.uint8(colour[k])
        for n in range(drawing.lines):
            draw_line(drawing, view, cover, picture, n, top, bottom)
        for n in range(drawing.markers):
            draw_marker(drawing, view, picture, n, top, bottom)

    return SimpleNamespace(
        Raster=Raster,
        Scene=Scene,
        Drawing=Drawing,
        place=raster.place,
        cast=cast,
        paint=paint,
    )
