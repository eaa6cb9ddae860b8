"""Training runs from a CSV file: parameters, tokens and loss of each."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import DataError, DataNotFoundError
from ..shapes import Float


class RunTable(NamedTuple):
    """Columns of a table of training runs; what the fits of the laws take.

    Attributes:
        n: Parameters of each run.
        d: Tokens that each was trained on.
        loss: Loss that each reached [nats].
    """

    n: Float[np.ndarray, " N"]
    d: Float[np.ndarray, " N"]
    loss: Float[np.ndarray, " N"]


def read_runs(path: str | Path, columns: Sequence[str] = ("N", "D", "loss")) -> RunTable:
    r"""Read training runs from a CSV file with a header, for :func:`fit_chinchilla`.

    Columns are found by their names, whatever their order; capital and small letters are the
    same, and other columns are left alone, as are empty lines.

    Args:
        path: The file, in UTF-8, with commas.
        columns: Names of the columns of parameters, of tokens and of the loss.

    Returns:
        The columns; ``fit_chinchilla(*read_runs(path))`` fits them.

    Raises:
        DataNotFoundError: If there is no such file.
        DataError: If the file holds no run or lacks a column, or a cell is no positive number;
            the message has its line.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "runs.csv"
        ...     _ = path.write_text("loss,D,N\n3.5,2e9,1e8\n")
        ...     read_runs(path)
        RunTable(n=array([1.e+08]), d=array([2.e+09]), loss=array([3.5]))
    """
    path = Path(path)
    if not path.is_file():
        raise DataNotFoundError(f"{path} is no file: give a CSV file with a header")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            header = next((row for row in reader if any(cell.strip() for cell in row)), [])
            places = column_places(header, columns, path, reader.line_num)
            rows = [
                [
                    number(row, place, name, f"{path}, line {reader.line_num}")
                    for place, name in zip(places, columns, strict=True)
                ]
                for row in reader
                if any(cell.strip() for cell in row)
            ]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is no CSV file in UTF-8: {error}") from error
    if not rows:
        raise DataError(f"{path} holds a header and no run: expected a line for each run")
    return RunTable(*np.array(rows).T)


def column_places(
    header: Sequence[str], columns: Sequence[str], path: Path, line: int
) -> list[int]:
    """Where the columns of these names stand."""
    names = [cell.strip().lower() for cell in header]
    if not any(names):
        raise DataError(f"{path} is empty: expected a header such as {','.join(columns)}")
    for name in columns:
        if names.count(name.lower()) != 1:
            found = "has no" if name.lower() not in names else "has more than one"
            listed = ", ".join(repr(cell.strip()) for cell in header)
            advice = "; separate by commas" if len(names) == 1 else ""
            raise DataError(
                f"{path}, line {line} {found} column {name!r}; expected {', '.join(columns)}, "
                f"found {listed}{advice}"
            )
    return [names.index(name.lower()) for name in columns]


def number(row: Sequence[str], place: int, name: str, where: str) -> float:
    """A cell as a positive number."""
    if place >= len(row):
        raise DataError(f"{where} has {len(row)} cells, and {name} is cell {place + 1}")
    try:
        value = float(row[place])
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise DataError(f"{where}: {name} is {row[place]!r}, expected a positive number")
    return value
