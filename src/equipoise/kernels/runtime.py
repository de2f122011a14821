"""Warp, started quietly: devices, number types, compile options, launches."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.errors import EquipoiseError
from equipoise.kernels.once import lock, once
from equipoise.staging import staging_folder

logger = logging.getLogger("equipoise")

# No derivatives of kernels. Products and sums may be fused (one rounding
# instead of two, never reordered); without this no CPU kernel is vectorised well.
# Machines of different CPUs may share a cache: Warp puts a hash of the CPU's features
# into the names of objects whose flags have -march=native, those of a module too.
MODULE_OPTIONS = {
    "enable_backward": False,
    "fast_math": False,
    "optimization_level": 3,
    "cpu_compiler_flags": "-march=native -ffp-contract=fast",
}

SCALARS = {np.dtype(np.float64): wp.float64, np.dtype(np.float32): wp.float32}

# Configurations that one CPU thread works on side by side: 32 bytes of numbers.
CPU_LANES = {wp.float64: 4, wp.float32: 8}

# Enough to fill any GPU of today; more threads only need more scratch memory.
MAX_CUDA_THREADS = 1 << 16

CUDA_BLOCK = 128

# Versions of Warp that call a CPU kernel as :func:`_direct_call` does.
CALLS_KNOWN = "1.19."

_NO_DRIVER = "Could not find or load the NVIDIA CUDA driver"


@once
def start() -> None:
    """Initialise Warp without its banner and its notice that there is no GPU.

    Raises:
        EquipoiseError: If there is no folder to compile kernels into.
    """
    with wp.ScopedLogLevel(wp.LOG_WARNING), _native_notice_dropped(_NO_DRIVER):
        try:
            wp.init()
        except OSError:
            # Warp chooses the folder of its cache and then makes it
            folder = wp.config.kernel_cache_dir
            if folder is None or _is_writable(folder):
                raise
            wp.config.kernel_cache_dir = _temporary_cache(folder)
            wp.init()
    folder = str(wp.config.kernel_cache_dir)
    if not _is_writable(folder):
        wp.config.kernel_cache_dir = _temporary_cache(folder)


def _is_writable(folder: str) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@once
def _temporary_cache(unwritable: str) -> str:
    """Return a folder of this process, which is removed when it ends."""
    stack = contextlib.ExitStack()
    try:
        parent = Path(tempfile.gettempdir())
        folder = stack.enter_context(staging_folder(parent, "kernels"))
    except OSError as error:
        raise EquipoiseError(
            f"kernels cannot be compiled: neither {unwritable} nor a temporary folder "
            f"can be written ({error}); set WARP_CACHE_PATH to a folder that can"
        ) from error
    atexit.register(stack.close)
    logger.warning(
        "%s cannot be written: kernels are compiled again in every process; set "
        "WARP_CACHE_PATH to a folder that can",
        unwritable,
    )
    return str(folder)


def has_cuda() -> bool:
    """Return whether there is a GPU that kernels can run on."""
    start()
    return bool(wp.is_cuda_available())


def device_named(name: str) -> wp.Device:
    """Return a device by its name: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.

    Raises:
        EquipoiseError: If this machine has no such device.
    """
    start()
    valid = [device.alias for device in wp.get_devices()]
    if wp.is_cuda_available():
        valid.insert(1, "cuda")
    if name not in valid:
        raise EquipoiseError(
            f"there is no device '{name}'; the devices here are: {', '.join(valid)}"
        )
    return wp.get_device(name)


def lane_width(device: wp.Device, scalar: Any) -> int:
    """Return how many configurations a thread works on side by side."""
    return 1 if device.is_cuda else CPU_LANES[scalar]


def thread_count(device: wp.Device, configurations: int) -> int:
    """Return how many threads share a batch: on the CPU one, which loops."""
    return min(configurations, MAX_CUDA_THREADS) if device.is_cuda else 1


def to_device(values: NDArray[Any], scalar: Any, device: wp.Device) -> wp.array[Any]:
    """Hand numbers to a device; on the CPU memory is shared where types agree."""
    numbers = np.ascontiguousarray(values, dtype=wp.dtype_to_numpy(scalar))
    return wp.array(numbers, dtype=scalar, device=device, copy=device.is_cuda)


def empty_result(
    shape: tuple[int, ...], scalar: Any, device: wp.Device, *, zeroed: bool = False
) -> wp.array[Any]:
    """Return an array for results.

    NumPy allocates large arrays in huge pages, which Warp does not.
    """
    if device.is_cuda:
        make = wp.zeros if zeroed else wp.empty
        return make(shape, dtype=scalar, device=device)
    allocate = np.zeros if zeroed else np.empty
    values = allocate(shape, dtype=wp.dtype_to_numpy(scalar))
    return wp.array(values, dtype=scalar, device=device, copy=False)


def adjoining(scalar: Any, *parts: tuple[Any, int]) -> tuple[NDArray[Any], list[Any]]:
    """Return memory of the CPU, and arrays for a kernel that share it.

    What lies in one piece is copied in one piece: small copies from Python may take
    longer than a kernel does.

    Args:
        scalar: Warp's type of all numbers.
        parts: Type (number, vector or matrix) and length of each array.

    Returns:
        The memory, shape (n,), and Warp arrays of one row each, one after another.
    """
    number = wp.dtype_to_numpy(scalar)
    shapes = [(1, length, *getattr(dtype, "_shape_", ())) for dtype, length in parts]
    ends = np.cumsum([np.prod(shape) for shape in shapes])
    memory = np.zeros(ends[-1], number)
    arrays: list[Any] = [
        wp.array(part.reshape(shape), dtype=dtype, device="cpu", copy=False)
        for part, shape, (dtype, _) in zip(
            np.split(memory, ends[:-1]), shapes, parts, strict=True
        )
    ]
    return memory, arrays


def filled(struct: Any, values: Mapping[str, Any], device: wp.Device) -> Any:
    """Return an instance of a Warp struct.

    Args:
        struct: The struct.
        values: Numbers, vectors, matrices and arrays of NumPy by name, which become
            what the struct declares, arrays on the device; arrays of Warp stay.
        device: Where to.
    """
    made = struct()
    for name, value in values.items():
        kind = struct.vars[name].type
        if isinstance(value, wp.array):
            setattr(made, name, value)
        elif hasattr(kind, "dtype"):  # an array
            scalar = getattr(kind.dtype, "_wp_scalar_type_", kind.dtype)
            rows = np.ascontiguousarray(value, dtype=wp.dtype_to_numpy(scalar))
            setattr(made, name, wp.array(rows, dtype=kind.dtype, device=device))
        elif hasattr(kind, "_shape_"):
            setattr(made, name, kind(*np.ravel(value).tolist()))
        else:
            setattr(made, name, value)
    return made


@dataclass(frozen=True, eq=False)
class Recorded:
    """A launch that is ready and can be run again and again.

    Attributes:
        command: Warp's own record of it.
        inputs: Its arguments, kept alive.
        call: Runs it.
    """

    command: Any
    inputs: Sequence[Any]
    call: Callable[[], Any]

    def run(self) -> None:
        """Run the kernel; on a GPU, begin to."""
        self.call()


def record(
    kernel: wp.Kernel, threads: int, inputs: Sequence[Any], device: wp.Device
) -> Recorded:
    """Prepare a launch, saying so in the log if the kernel must be compiled first.

    Threads wait for each other while Warp prepares the launch, not while the CPU
    runs the kernel: kernels without tiles share no memory but their arguments.

    Raises:
        EquipoiseError: If the kernel cannot be written to the cache.
    """
    block = CUDA_BLOCK if device.is_cuda else 1
    with lock, wp.ScopedLogLevel(wp.LOG_WARNING):
        _announce_compilation(kernel, device.alias, block)
        try:
            command = wp.launch(
                kernel,
                dim=threads,
                inputs=inputs,
                device=device,
                block_dim=block,
                record_cmd=True,
            )
        except OSError as error:
            raise EquipoiseError(
                f"kernels cannot be compiled into {wp.config.kernel_cache_dir} "
                f"({error}); set WARP_CACHE_PATH to a folder that can be written"
            ) from error
    return Recorded(command, inputs, _direct_call(command) or command.launch)


def _direct_call(command: Any) -> Callable[[], Any] | None:
    """Return a call of a compiled CPU kernel whose arguments are laid out once.

    Warp lays them out anew for each launch, which takes 3 to 5 µs: longer than many
    kernels do. None on a GPU, and for versions of Warp that may do it otherwise.
    """
    if command.device.is_cuda or not wp.__version__.startswith(CALLS_KNOWN):
        return None
    bounds, *values = command.params
    arguments = _layout(tuple(type(value) for value in values))(*values)
    return functools.partial(
        command.hooks.forward, ctypes.byref(bounds), ctypes.byref(arguments)
    )


@functools.cache
def _layout(types: tuple[Any, ...]) -> type[ctypes.Structure]:
    """Return a C struct of members of some types."""
    fields = [(f"argument_{number}", kind) for number, kind in enumerate(types)]
    return type("Arguments", (ctypes.Structure,), {"_fields_": fields})


def launch(
    kernel: wp.Kernel, threads: int, inputs: Sequence[Any], device: wp.Device
) -> None:
    """Run a kernel once; see :func:`record`."""
    record(kernel, threads, inputs, device).run()


@once
def _announce_compilation(kernel: wp.Kernel, device: str, block: int) -> None:
    module = kernel.module.get_module_identifier(block_dim=block)
    folder = Path(wp.config.kernel_cache_dir or "", module)
    suffixes = {".o"} if device == "cpu" else {".cubin", ".ptx"}
    if not any(file.suffix in suffixes for file in folder.glob("*")):
        _announce_once(device)


@once
def _announce_once(device: str) -> None:
    logger.warning("compiling kernels for %s: some seconds, this once", device)


@contextlib.contextmanager
def _native_notice_dropped(notice: str) -> Iterator[None]:
    """Hold back what native code prints to stderr, and print all but one notice."""
    if sys.stderr is None:
        yield
        return
    sys.stderr.flush()
    with tempfile.TemporaryFile() as held:
        original = os.dup(2)
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(original, 2)
            os.close(original)
            held.seek(0)
            for line in held.read().decode(errors="replace").splitlines():
                if notice not in line:
                    print(line, file=sys.stderr)
