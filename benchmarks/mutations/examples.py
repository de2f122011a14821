"""Valid files of every format, small ones, written by Equipoise and by hand."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer

import equipoise as eq
from equipoise.log.mcap_format.mcap_writer import write_mcap
from equipoise.log.trajectory import write_trajectory
from equipoise.robot import catalogue
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.robot.model import Robot
from equipoise.simulation.trials import stand

ROBOT = "itu-biped"
FOOTSTEPS = """side,x,y,z,yaw,pitch,roll
# comment
right,0.05,-0.1,0,0,0,0
left,0.1,0.1,0,0.1,0,0
right,0.1,-0.1,0,0.1,0,0
"""
FOOTSTEPS_TOML = """[[step]]
side = "right"
x = 0.05
y = -0.1
[[step]]
side = "left"
x = 0.05
y = 0.1
yaw = 0.1
"""
OBJ = """# box
mtllib none.mtl
o box
v 0 0 0
v 0.2 0 0
v 0.2 0.1 0
v 0 0.1 0
v 0 0 0.02
v 0.2 0 0.02
v 0.2 0.1 0.02
v 0 0.1 0.02
vn 0 0 1
vt 0 0
f 1/1/1 4/1/1 3/1/1 2/1/1
f 5//1 6//1 7//1 8//1
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
"""
COLLADA = """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g" name="g"><mesh><source id="p">
<float_array id="pa" count="24">0 0 0 0.2 0 0 0.2 0.1 0 0 0.1 0 0 0 0.02 0.2 0 0.02
0.2 0.1 0.02 0 0.1 0.02</float_array>
<technique_common><accessor source="#pa" count="8" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="8"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 2 1 0 3 2 4 5 6 4 6 7 0 1 5 0 5 4 1 2 6 1 6 5</p></triangles>
<polylist count="2"><input semantic="VERTEX" source="#v" offset="0"/>
<vcount>4 4</vcount><p>2 3 7 6 3 0 4 7</p></polylist></mesh></geometry>
</library_geometries>
<library_nodes><node id="part"><instance_geometry url="#g"/></node></library_nodes>
<library_visual_scenes><visual_scene id="s"><node id="n" name="n">
<matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix>
<node id="m"><translate>0 0 1</translate><rotate>0 0 1 90</rotate><scale>1 1 1</scale>
<instance_geometry url="#g"/></node><node id="o"><instance_node url="#part"/></node>
</node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""


@dataclass(frozen=True)
class Examples:
    """Valid files of one format.

    Attributes:
        kind: How to break them: ``"xml"``, ``"lines"`` or ``"binary"``.
        files: Content by the ending of the file's name; several of one ending are
            distinguished by what stands before the last dot.
    """

    kind: str
    files: dict[str, bytes]


def make_examples(folder: Path) -> dict[str, Examples]:
    """Return examples of all formats.

    Args:
        folder: An empty folder to work in.
    """
    robots = {name: eq.load(name) for name in (ROBOT, "three-link", "muscolo-biped")}
    robot = robots[ROBOT]
    written: dict[str, bytes] = {}
    for name, own in robots.items():
        for ending in (".urdf", ".xml"):
            path = folder / f"{name}{ending}"
            eq.export_robot(own, path)
            written[path.name] = path.read_bytes()
            written[f"{name}.toml"] = path.with_suffix(".toml").read_bytes()
            path.with_suffix(".toml").unlink()
    tables = Path(catalogue.__file__).parent
    return {
        "urdf": Examples("xml", _with_ending(written, ".urdf")),
        "mjcf": Examples("xml", _with_ending(written, ".xml")),
        "toml": Examples("lines", {"a.toml": written[f"{ROBOT}.toml"]}),
        "dh": Examples(
            "lines",
            {f"{name}.toml": (tables / f"{name}.toml").read_bytes() for name in robots},
        ),
        "csv": Examples("lines", {"a.csv": _log_table(robot)}),
        "mcap": Examples("binary", _logs(robot, folder)),
        "footsteps": Examples(
            "lines", {"a.csv": FOOTSTEPS.encode(), "b.toml": FOOTSTEPS_TOML.encode()}
        ),
        "terrain": Examples(
            "lines", {"a.csv": _heights_csv(), "b.npy": _heights_npy()}
        ),
        "stl": Examples("binary", {"a.stl": _binary_stl(), "b.stl": _text_stl()}),
        "dae": Examples("xml", {"a.dae": COLLADA.encode()}),
        "obj": Examples("lines", {"a.obj": OBJ.encode()}),
    }


def _with_ending(files: dict[str, bytes], ending: str) -> dict[str, bytes]:
    return {name: own for name, own in files.items() if name.endswith(ending)}


def _log_table(robot: Robot) -> bytes:
    """Return joints, base and wrenches over time."""
    names = degree_names(robot)
    base = [f"base.{name}" for name in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    feet = [f"{s}_foot.{k}{a}" for s in ("left", "right") for k in "fm" for a in "xyz"]
    head = ["time", "phase", *names, *base, *feet]
    positions = joint_positions(robot, robot.standing)
    rows = [",".join(head)]
    for at in range(12):
        wrench = [0.0, 0.0, 150.0, 0.0, 0.0, 0.0] * 2
        row = [0.01 * at, *positions, *robot.standing[:7], *wrench]
        cells = [f"{value:.5g}" for value in row]
        rows.append(",".join([cells[0], "standing", *cells[1:]]))
    return "\n".join(rows).encode()


def _logs(robot: Robot, folder: Path) -> dict[str, bytes]:
    """Return a run as we write it, without checksums and chunks, and a trajectory."""
    run = stand(robot, seconds=0.5, dt=5e-3)
    stream = BytesIO()
    write_mcap(run, stream)
    path = folder / "trajectory.mcap"
    write_trajectory(run, path)
    plain = {
        f"{name}.mcap": _rewritten(stream.getvalue(), chunked)
        for name, chunked in (("chunks", True), ("loose", False))
    }
    return {"run.mcap": stream.getvalue(), "t.mcap": path.read_bytes(), **plain}


def _rewritten(content: bytes, chunked: bool) -> bytes:
    """Return a log without checksums, so that broken messages are looked into."""
    stream = BytesIO()
    compression = CompressionType.NONE
    writer = Writer(
        stream, use_chunking=chunked, compression=compression, enable_crcs=False
    )
    writer.start("ros2", "another program")
    reader = make_reader(BytesIO(content))
    numbers: dict[int, int] = {}
    summary = reader.get_summary()
    assert summary is not None
    for channel in summary.channels.values():
        schema = summary.schemas[channel.schema_id]
        number = writer.register_schema(schema.name, schema.encoding, schema.data)
        numbers[channel.id] = writer.register_channel(channel.topic, "cdr", number)
    for item in reader.iter_attachments():
        writer.add_attachment(0, 0, item.name, item.media_type, item.data)
    for _, channel, message in reader.iter_messages():
        time = message.log_time
        writer.add_message(numbers[channel.id], time, message.data, time)
    writer.finish()
    return stream.getvalue()


def _heights() -> np.ndarray:
    return 2e-5 * np.random.default_rng(0).standard_normal((12, 12))


def _heights_csv() -> bytes:
    text = StringIO()
    np.savetxt(text, _heights(), delimiter=",", fmt="%.6f")
    return text.getvalue().encode()


def _heights_npy() -> bytes:
    stream = BytesIO()
    np.save(stream, _heights())
    return stream.getvalue()


def _triangles() -> np.ndarray:
    corners = np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.1, 0], [0, 0, 0.1]])
    return corners[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]


def _binary_stl() -> bytes:
    record = np.zeros(4, dtype=[("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")])
    record["v"] = _triangles()
    return b"binary".ljust(80) + (4).to_bytes(4, "little") + record.tobytes()


def _text_stl() -> bytes:
    lines = ["solid t"]
    for corners in _triangles():
        lines += ["facet normal 0 0 1", "outer loop"]
        lines += [f"vertex {x:g} {y:g} {z:g}" for x, y, z in corners]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid t"]).encode()
