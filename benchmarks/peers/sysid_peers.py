"""Masses and CoMs of a robot that stands by ``mujoco.sysid``, in its own environment.

Reads a JSON file: the robot as MJCF, a table of poses, and what is to be found. The
last line that it prints is JSON: parameters, their covariance, and seconds.
:func:`identify_standing` is what a user writes.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import mujoco
import numpy as np
from mujoco import sysid


def identify_standing(
    file: str,
    table: str,
    soles: dict,
    bodies: list,
    offset_std: list,
    link_std: dict,
    noise: list,
) -> tuple:
    """Return the parameters that are found, and what the optimiser says.

    The toolbox predicts sensors by rollouts; a robot that stands needs a controller for
    that, so that the residual here is that of inverse dynamics at rest.

    Args:
        file: The robot as MJCF, without shapes.
        table: CSV of joints, and wrenches in the soles' frames.
        soles: Body and transform of each side's sole.
        bodies: Bodies whose mass and CoM are to be found.
        offset_std: Standard deviations of the sensors' offsets, which are to be found
            as well; empty for sensors that have none.
        link_std: Standard deviations of masses (as a fraction) and CoMs [m] from the
            model, which are then rows of the residual; empty for none.
        noise: Standard deviations of the six rows of a pose.
    """
    spec = mujoco.MjSpec.from_file(file)
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model = spec.compile()
    rows = np.genfromtxt(table, delimiter=",", names=True)
    hinges = [model.joint(at) for at in range(model.njnt) if model.jnt_type[at] != 0]
    joints = np.column_stack([rows[hinge.name] for hinge in hinges])
    places = [int(hinge.qposadr[0]) for hinge in hinges]
    axes = [f"{kind}{axis}" for kind in "fm" for axis in "xyz"]
    wrenches = {
        s: np.column_stack([rows[f"{s[0]}_sole{axis}"] for axis in axes]) for s in soles
    }
    params, spread = sysid.ParameterDict(), []
    for body in bodies:
        param = sysid.body_inertia_param(spec, model, body)
        params.add(param)
        if link_std:
            mass = link_std["mass"] * param.nominal[0]
            spread += [mass] + [link_std["com"]] * 3
    for side in soles if offset_std else ():
        limit = 5.0 * np.array(offset_std)
        params.add(sysid.Parameter(f"{side}_offset", 0.0 * limit, -limit, limit))
        spread += offset_std if link_std else []

    def residual(x: np.ndarray, params: sysid.ParameterDict) -> tuple:
        columns = []
        for column in x.reshape(params.size, -1).T:
            params.update_from_vector(column)
            own = sysid.apply_param_modifiers(params, spec)
            data, misfit = mujoco.MjData(own), []
            for at in range(len(joints)):
                data.qpos[:7], data.qpos[places] = [0, 0, 0, 1, 0, 0, 0], joints[at]
                mujoco.mj_kinematics(own, data)
                total, up = np.zeros(6), np.zeros(3)
                for side, (link, pose) in soles.items():
                    body = data.body(link)
                    turn = body.xmat.reshape(3, 3) @ np.array(pose)[:3, :3]
                    place = body.xpos + body.xmat.reshape(3, 3) @ np.array(pose)[:3, 3]
                    wrench = wrenches[side][at]
                    if offset_std:
                        wrench = wrench - params[f"{side}_offset"].value
                    force, torque = turn @ wrench[:3], turn @ wrench[3:]
                    total += np.append(force, torque + np.cross(place, force))
                    up += turn[:, 2]
                own.opt.gravity[:] = -9.80665 * up / np.linalg.norm(up)
                mujoco.mj_inverse(own, data)
                misfit.append((data.qfrc_inverse[:6] - total) / noise)
            if link_std:
                misfit.append((column - params.as_nominal_vector()) / spread)
            columns.append(np.concatenate(misfit))
        found = np.array(columns).T
        return [found if x.ndim > 1 else found[:, 0]], None, None

    found, result = sysid.optimize(params, residual, verbose=False)
    misfit = residual(found.as_vector(), found)[0]
    covariance, intervals = sysid.calculate_intervals(misfit, result.jac)
    return found.as_vector(), covariance, intervals


def main() -> None:
    """Identify a table."""
    given = json.loads(Path(sys.argv[1]).read_text())
    began = time.perf_counter()
    values, covariance, _ = identify_standing(**given)
    answer = {
        "values": values.tolist(),
        "covariance": covariance.tolist(),
        "seconds": time.perf_counter() - began,
        "version": mujoco.__version__,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
