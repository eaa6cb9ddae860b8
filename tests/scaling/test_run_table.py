"""Training runs from a CSV file."""

import pytest

from mathlm.errors import DataError, DataNotFoundError
from mathlm.scaling import read_runs

LINES = ["N,D,loss", "1e6,2e8,3.5", "2000000,4e8,3.25"]


@pytest.fixture
def written(tmp_path):
    """Write lines into a file; its path."""

    def write(*lines, **options):
        path = tmp_path / "runs.csv"
        path.write_text("\n".join(lines), **options)
        return path

    return write


def columns(table):
    return table.n.tolist(), table.d.tolist(), table.loss.tolist()


def test_columns_are_found_by_their_names(written):
    """Order, capitals, other columns, quotes, empty lines, a byte-order mark: all one."""
    expected = ([1e6, 2e6], [2e8, 4e8], [3.5, 3.25])
    assert columns(read_runs(written(*LINES))) == expected
    assert columns(read_runs(written("", ",,", *LINES))) == expected
    mixed = ['Loss,"name",d,n', '3.5,"a, b",2e8,1e6', "", "3.25,c, 4e8 ,2000000", ",,,"]
    assert columns(read_runs(written(*mixed, encoding="utf-8-sig"))) == expected
    named = ["params,tokens,val loss", *LINES[1:]]
    path = written(*named)
    assert columns(read_runs(path, ("params", "tokens", "val loss"))) == expected


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], r"runs.csv is empty: expected a header such as N,D,loss"),
        (["N,D,loss"], r"runs.csv holds a header and no run"),
        (["N,D,cost", "1,2,3"], r"line 1 has no column 'loss'; .* found 'N', 'D', 'cost'$"),
        (["", "N,D,cost", "1,2,3"], r"line 2 has no column 'loss'"),
        (["", ",,"], r"runs.csv is empty"),
        (["N;D;loss", "1;2;3"], r"no column 'N'; .* found 'N;D;loss'; separate by commas"),
        (["N,D,n,loss", "1,2,3,4"], r"line 1 has more than one column 'N'"),
        ([*LINES, "1e6,many,3"], r"line 4: D is 'many', expected a positive number"),
        ([*LINES, "", "1e6,1e8,"], r"line 5: loss is '', expected a positive number"),
        ([*LINES, "0,1e8,3"], r"line 4: N is '0', expected a positive number"),
        ([*LINES, "1e6,1e8,nan"], r"line 4: loss is 'nan', expected a positive number"),
        ([*LINES, "1e6,inf,3"], r"line 4: D is 'inf', expected a positive number"),
        ([*LINES, "1e6,1e8"], r"line 4 has 2 cells, and loss is cell 3"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(written, lines, said):
    with pytest.raises(DataError, match=said):
        read_runs(written(*lines))


def test_a_loss_below_one_is_a_loss(written):
    assert read_runs(written("N,D,loss", "1e6,1e8,0.25")).loss.tolist() == [0.25]


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"nothing.csv is no file: give a CSV file"):
        read_runs(tmp_path / "nothing.csv")
    (tmp_path / "runs.csv").write_bytes(b"\xff\xfe\x00N")
    with pytest.raises(DataError, match=r"runs.csv is no CSV file in UTF-8"):
        read_runs(tmp_path / "runs.csv")
