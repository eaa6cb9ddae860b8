"""What can go wrong, as types.

Every error that a user can cause is a :class:`MathLMError` and also the built-in that a caller
would expect, so both ``except MathLMError`` and ``except ValueError`` do what they say::

    MathLMError
    ├── InputError               ValueError         a value, shape or relation
    │   └── ConfigError          ValueError         a field of a configuration
    ├── InputTypeError           TypeError          a dtype or a kind of object
    ├── DeviceError              RuntimeError       a device that is not there
    ├── OutOfMemoryError         RuntimeError       a batch that does not fit
    ├── NonFiniteLossError       ArithmeticError    NaN or infinity in training
    ├── ClaimError               AssertionError     a claim that does not hold
    ├── DataError                ValueError         a corpus or file that cannot be used
    │   ├── DataNotFoundError    FileNotFoundError  data that is not installed
    │   └── HashMismatchError    ValueError         bytes that are not the expected ones
    └── CheckpointError          OSError            a checkpoint that cannot be written or read
        ├── CheckpointCorruptError  ValueError      bytes that changed or are missing
        └── CheckpointMismatchError ValueError      a checkpoint of another run or model

A message says what, where, found, expected, and what to do next.
"""


class MathLMError(Exception):
    """Any error that mathlm raises on purpose."""


class InputError(MathLMError, ValueError):
    """A value, a shape or a relation between arguments is not allowed."""


class ConfigError(InputError):
    """A field of a configuration is not allowed."""


class InputTypeError(MathLMError, TypeError):
    """An argument has the wrong dtype or is the wrong kind of object."""


class DeviceError(MathLMError, RuntimeError):
    """A device was asked for that this machine does not have."""


class OutOfMemoryError(MathLMError, RuntimeError):
    """A batch does not fit into the memory of the device."""


class NonFiniteLossError(MathLMError, ArithmeticError):
    """A loss or a gradient is NaN or infinite."""


class ClaimError(MathLMError, AssertionError):
    """A claim in the ledger does not hold."""


class DataError(MathLMError, ValueError):
    """A corpus or a data file cannot be used."""


class DataNotFoundError(DataError, FileNotFoundError):
    """Data is not installed; the message names the command that installs it."""


class HashMismatchError(DataError):
    """A file does not have the SHA-256 that it must have."""


class CheckpointError(MathLMError, OSError):
    """A checkpoint cannot be written or read."""


class CheckpointCorruptError(CheckpointError, ValueError):
    """A checkpoint's bytes changed or are missing."""


class CheckpointMismatchError(CheckpointError, ValueError):
    """A checkpoint is of another run, model or format than the one at hand."""


__all__ = [
    "CheckpointCorruptError",
    "CheckpointError",
    "CheckpointMismatchError",
    "ClaimError",
    "ConfigError",
    "DataError",
    "DataNotFoundError",
    "DeviceError",
    "HashMismatchError",
    "InputError",
    "InputTypeError",
    "MathLMError",
    "NonFiniteLossError",
    "OutOfMemoryError",
]
