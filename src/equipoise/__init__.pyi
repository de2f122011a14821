# The public names and where they are defined, in the order of the road from a robot
# file to an identified robot. They are written here alone: `__init__.py` reads this
# file to import each when it is first asked for.
from equipoise.control.blocks import Controller as Controller
from equipoise.control.blocks import Estimator as Estimator
from equipoise.control.blocks import Hold as Hold
from equipoise.control.blocks import Plant as Plant
from equipoise.control.blocks import Reference as Reference
from equipoise.control.signals import Command as Command
from equipoise.control.signals import Measurement as Measurement
from equipoise.control.signals import State as State
from equipoise.control.signals import Target as Target
from equipoise.errors import EquipoiseError as EquipoiseError
from equipoise.gait.fit import fit_walk as fit_walk
from equipoise.gait.gait import Gait as Gait
from equipoise.gait.motion import Motion as Motion
from equipoise.gait.motion import solve as solve
from equipoise.gait.plan import plan_walk as plan_walk
from equipoise.gait.velocity_walk import VelocityWalk as VelocityWalk
from equipoise.identification.identified import Identified as Identified
from equipoise.identification.identify import identify as identify
from equipoise.identification.posing.design import choose_poses as choose_poses
from equipoise.kinematics.com import centroidal_momentum as centroidal_momentum
from equipoise.kinematics.com import com as com
from equipoise.kinematics.com import com_jacobian as com_jacobian
from equipoise.kinematics.com import com_velocity as com_velocity
from equipoise.kinematics.frames import frame_jacobian as frame_jacobian
from equipoise.kinematics.frames import frame_pose as frame_pose
from equipoise.kinematics.support import support_polygon as support_polygon
from equipoise.log.compare import compare_runs as compare_runs
from equipoise.log.open_run import open_run as open_run
from equipoise.log.run import Run as Run
from equipoise.log.trajectory import write_trajectory as write_trajectory
from equipoise.planar.gait import PlanarGait as PlanarGait
from equipoise.planar.gait_search import GaitLimits as GaitLimits
from equipoise.planar.gait_search import find_gait as find_gait
from equipoise.planar.gait_search import find_gaits as find_gaits
from equipoise.planar.parameters import ThreeLinkParameters as ThreeLinkParameters
from equipoise.planar.three_link import ThreeLink as ThreeLink
from equipoise.robot.formats.write import export_robot as export_robot
from equipoise.robot.joint_coordinates import joint_positions as joint_positions
from equipoise.robot.load import load as load
from equipoise.robot.model import Robot as Robot
from equipoise.show.pages.report import report as report
from equipoise.show.viewer.window import view as view
from equipoise.simulation.actuation import Actuation as Actuation
from equipoise.simulation.actuation import actuation_of as actuation_of
from equipoise.simulation.box_push import walk_to_box as walk_to_box
from equipoise.simulation.commanded_walk import walk_by_velocity as walk_by_velocity
from equipoise.simulation.contacts import Material as Material
from equipoise.simulation.dance import dance as dance
from equipoise.simulation.fleet import Fleet as Fleet
from equipoise.simulation.push import push as push
from equipoise.simulation.push_grid import PushGrid as PushGrid
from equipoise.simulation.push_map import push_map as push_map
from equipoise.simulation.reach import reach as reach
from equipoise.simulation.sensors import SensorSuite as SensorSuite
from equipoise.simulation.simulate import simulate as simulate
from equipoise.simulation.trials import drop as drop
from equipoise.simulation.trials import stand as stand
from equipoise.simulation.variation import Variation as Variation
from equipoise.simulation.walk import walk as walk
from equipoise.simulation.world import Push as Push
from equipoise.simulation.world import World as World
from equipoise.simulation.world import make_world as make_world

__version__: str
__all__: list[str]
