"""Types of arrays, by what they hold."""

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
Float32Array = npt.NDArray[np.float32]
#: Levels of features, by atom; see `recon_cli.model.grain.enumerate_domain`.
AtomArray = npt.NDArray[np.int16]
#: Of 64 bits each.
WordArray = npt.NDArray[np.uint64]
