"""Mutation test of the numeric core: change one operator or number, see whether a test notices.

python tools/mutate.py                              every module of the core: hours
python tools/mutate.py mathlm/optim                 a folder of it
python tools/mutate.py mathlm/functional/loss.py    a module of it: minutes
    --sample N    N mutants of each module only, always the same ones
    --jobs N      processes
    --record FILE the counts of each module are put into this JSON file, the others stay there
    --least SHARE share of the mutants of each module that is enough for exit 0 (1: every one)

Each module is judged by the test file that mirrors it, in a copy below _build/mutate; the
working tree is only read, so a run may be stopped at any time. A mutant that no test notices is
printed as what the line was and what it became. If it computes the same, it belongs in
tools/equivalent_mutants.toml with the reason; otherwise a test is missing.

exit 0: no mutant went unnoticed but the listed ones; 1: others did, more than --least allows;
2: a module could not be judged (its tests fail without any change), or what was named is not of
the core.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import multiprocessing
import os
import random
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "_build" / "mutate"
EQUIVALENT = ROOT / "tools" / "equivalent_mutants.toml"
COPIED = ("book/lab", "mathlm", "tests", "tools", "pyproject.toml")
WHOLE = ("functional", "optim", "reference", "scaling")
OF_ALIGN = (
    "masks policy/advantages policy/aggregation policy/credit policy/diagnostics policy/kl "
    "policy/losses policy/objectives preference/losses preference/metrics reward/best_of_n "
    "reward/bradley_terry reward/losses"
)
TESTED_ELSEWHERE = {
    "align/masks.py": [
        "align/policy/test_advantages.py",
        "align/policy/test_kl.py",
        "align/policy/test_losses_policy.py",
        "align/policy/test_objectives_policy.py",
        "align/preference/test_objectives_preference.py",
    ],
    "align/preference/metrics.py": ["align/preference/test_objectives_preference.py"],
    "functional/low_rank.py": [
        "functional/test_low_rank.py",
        "adapt/test_bottleneck.py",
        "layers/test_prefix.py",
    ],
    "optim/adam.py": [
        "optim/test_adam.py",
        "optim/test_adam_adamw.py",
        "optim/test_update.py",
    ],
    "optim/muon.py": ["optim/test_muon.py", "optim/test_update.py"],
    "optim/sgd.py": [
        "optim/test_sgd.py",
        "optim/test_sgd_rmsprop.py",
        "optim/test_update.py",
    ],
    "reference/calculus/broadcasting.py": [
        "reference/calculus/test_broadcasting.py",
        "reference/calculus/test_autodiff.py",
        "reference/calculus/test_forward_mode.py",
    ],
    "reference/network/embedding.py": [
        "reference/network/test_embedding.py",
        "lab/attention/test_soft_lookup.py",
    ],
    "reference/network/recurrent.py": [
        "reference/network/test_recurrent.py",
        "reference/network/test_recurrent_sequence.py",
    ],
    "reference/network/weights.py": [
        "reference/network/test_weights.py",
        "reference/network/test_feedforward.py",
    ],
    "reference/training/stepping.py": [
        "reference/training/test_stepping.py",
        "reference/training/test_optimizers.py",
    ],
    "scaling/fitting.py": [
        "scaling/test_fitting_log_sums.py",
        "scaling/test_power_law.py",
        "scaling/test_chinchilla.py",
        "scaling/test_kaplan.py",
    ],
    "scaling/parameters.py": [
        "scaling/test_parameters.py",
        "scaling/test_parameters_counts.py",
        "models/test_block_variant.py",
        "models/test_mixture_gpt.py",
    ],
}
NOTICED = ("killed", "timeout")
# what refuses bad input and is told a name for its sentence; the others look the name up
GUARD = re.compile(r"\b(_?require(?!_(map|shape|weights)\b)\w*|_?check\w*|finite_array)\(")
PRELOADED = ("torch.testing", "beartype", "hypothesis", "scipy.optimize", "scipy.stats")
HOOK = " --jaxtyping-packages=mathlm,beartype.beartype"  # set once, before the tests are read
ENVIRONMENT = {
    "CI": "true",  # hypothesis draws the same examples each time
    "CUDA_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",
}
CONFIG = """
[tool.mutmut]
source_paths = ["mathlm"]
only_mutate = ["{module}"]
also_copy = ["book/lab", "tools"]
pytest_add_cli_args = [
    "-p", "no:cacheprovider", "-p", "no:nbval", "-p", "no:xdist", "-p", "no:anyio",
    "-W", "ignore::pytest.PytestAssertRewriteWarning",
]
pytest_add_cli_args_test_selection = {tests}
do_not_mutate_patterns = ['^\\s*raise ', '^\\s*return f?"']  # the words of an error
timeout_multiplier = 10.0  # a busy machine is no proof
process_isolation = "forkserver"  # a process for each mutant
use_git_change_detection = false
"""


class Change(NamedTuple):
    """What a mutant changes: lines of a function, before and after."""

    file: str
    function: str
    was: str
    now: str


def core() -> list[str]:
    """Every module of the numeric core, as a path."""
    files = [f"mathlm/align/{name}.py" for name in OF_ALIGN.split()]
    for part in WHOLE:
        found = (ROOT / "mathlm" / part).rglob("*.py")
        files += [path.relative_to(ROOT).as_posix() for path in found]
    return sorted(name for name in files if not name.endswith("__init__.py"))


def judges(module: str) -> list[str]:
    """The test files that judge a module; none for one that holds only data."""
    inner = module.removeprefix("mathlm/")
    part, name = inner.removesuffix(".py").rsplit("/", 1)
    tests = ROOT / "tests"
    mirrored = [tests / part / f"test_{name}.py", *tests.glob(f"{part}/test_{name}_*.py")]
    named = [tests / file for file in TESTED_ELSEWHERE.get(inner, [])] or mirrored
    return sorted(file.relative_to(ROOT).as_posix() for file in named if file.exists())


def chosen(paths: list[str]) -> list[str]:
    """The modules of the core that are named, by file or by folder; all of them if none is."""
    wanted = [Path(path).resolve().relative_to(ROOT).as_posix() for path in paths]
    unknown = [w for w in wanted if not any(m == w or m.startswith(f"{w}/") for m in core())]
    if unknown:
        raise ValueError(f"not of the numeric core: {', '.join(unknown)}")
    found = [m for m in core() if not wanted or any(m.startswith(w) for w in wanted)]
    return [module for module in found if judges(module)]


def make_copy(module: str) -> None:
    """Copy what the tests of a module need, with the settings of the mutation test."""
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, COPY / name)
    settings = COPY / "pyproject.toml"
    before, hook, after = settings.read_text(encoding="utf-8").partition(HOOK)
    if not hook:
        raise ValueError(f"pyproject.toml does not hold {HOOK!r}: see HOOK in {__file__}")
    ours = CONFIG.format(module=module, tests=judges(module))
    settings.write_text(before + after + ours, encoding="utf-8")
    source = COPY / module
    source.write_text(decorated_below(source.read_text(encoding="utf-8")), encoding="utf-8")


def decorated_below(source: str) -> str:
    """The same code with ``f = decorator(f)`` below f: mutmut leaves out what is decorated.

    Those that it can do stay as they are, and so do signatures without a body.
    """
    lines, gone = source.split("\n"), set[int]()
    functions = [f for f in ast.walk(ast.parse(source)) if isinstance(f, ast.FunctionDef)]
    for f in reversed(functions):  # inner ones first
        names = [ast.unparse(decorator) for decorator in f.decorator_list]
        if not names or names in (["staticmethod"], ["classmethod"]) or "overload" in names:
            continue
        made = "(".join([*names, f.name]) + ")" * len(names)
        below = f"{' ' * f.col_offset}{f.name} = {made}  # pragma: no mutate"
        end, first = f.end_lineno or f.lineno, f.decorator_list[0].lineno
        lines[end - 1] += f"\n{below}"  # no line moves, so that functions inside others fit
        gone |= {*range(first - 1, f.lineno - 1)}
    return "\n".join(line for i, line in enumerate(lines) if i not in gone)


def sample(module: str, count: int) -> list[str]:
    """Names of so many mutants of a module, always the same; none means every one."""
    from mutmut.mutation.file_mutation import mutate_file_contents
    from mutmut.utils.format_utils import get_mutant_name

    source = (COPY / module).read_text(encoding="utf-8")
    names = [
        get_mutant_name(Path(module), name)
        for name in mutate_file_contents(module, source).mutant_names
    ]
    return random.Random(0).sample(names, count) if count < len(names) else []


def mutate(module: str, count: int | None, jobs: int) -> None:
    """Make and test the mutants of a module; called in a process of its own."""
    os.chdir(COPY)
    with Path("log.txt").open("w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    from jaxtyping import install_import_hook
    from mutmut.__main__ import cli

    install_import_hook("mathlm", "beartype.beartype")
    cli(["run", "--max-children", str(jobs), *(sample(module, count) if count else [])])


def results(module: str) -> Iterator[tuple[str, str]]:
    """Each mutant that was tested and what became of it."""
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.stats import status_by_exit_code

    data = SourceFileMutationData(path=module)
    data.load()
    for name, code in data.exit_code_by_key.items():
        if code is not None:
            yield name, status_by_exit_code[code]


def change(module: str, name: str) -> Change:
    """The lines that a mutant takes out and puts in."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant
    from mutmut.utils.format_utils import orig_function_and_class_names_from_key

    lines = get_diff_for_mutant(name, path=module).split("\n")[2:]
    was, now = (
        "\n".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+"
    )
    return Change(module, orig_function_and_class_names_from_key(name)[0], was, now)


def listed() -> set[Change]:
    """The mutants that are known to compute the same."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return {Change(*(entry[field] for field in Change._fields)) for entry in entries}


def only_strict(what: Change) -> bool:
    """Whether all that changes is the ``strict`` of a zip, which guards what is so anyway."""
    was, now = (re.sub(r",\s*(strict=\w+)?\s*\)", ")", text) for text in what[2:])
    return was == now


def only_words(what: Change) -> bool:
    """Whether all that changes is what a guard calls its argument: the words of an error."""
    was, now = (re.sub(r"XX(.*?)XX", r"\1", text).casefold() for text in what[2:])
    return was == now and GUARD.search(what.was) is not None


def known(what: Change, equivalent: set[Change]) -> bool:
    """Whether a mutant is listed, or of a form that computes the same."""
    return what in equivalent or only_strict(what) or only_words(what)


def judge(
    module: str, count: int | None, jobs: int, record: Path | None = None, least: float = 1.0
) -> int:
    """Print what became of the mutants of a module; returns its exit code."""
    make_copy(module)
    context = multiprocessing.get_context("fork")
    worker = context.Process(target=mutate, args=(module, count, jobs))
    worker.start()
    worker.join()
    if worker.exitcode:
        said = (COPY / "log.txt").read_text(encoding="utf-8", errors="replace")
        print(f"{module}: could not be judged\n{said[-3000:]}", flush=True)
        return 2
    with chdir(COPY):
        found = list(results(module))
        missed = [(change(module, n), status) for n, status in found if status not in NOTICED]
    equivalent = listed()
    new = [(w, status) for w, status in missed if not known(w, equivalent)]
    late = sum(status == "timeout" for _, status in found)
    print(
        f"{module}: {len(found)} mutants, {len(found) - len(missed)} noticed ({late} by time), "
        f"{len(missed) - len(new)} equivalent, {len(new)} to look at",
        flush=True,
    )
    for what, status in new:
        show(what, status)
    noticed, real = len(found) - len(missed), len(found) - len(missed) + len(new)
    score = noticed / real if real else 1.0  # without the equivalent ones
    if record is not None:
        counts = {"tried": len(found), "noticed": noticed, "equivalent": len(found) - real}
        note(record, module, {**counts, "score": round(score, 4), "sample": count})
    return int(score < least)


def note(record: Path, module: str, counts: dict[str, Any]) -> None:
    """Put the counts of a module into the record."""
    told = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    told[module] = counts
    record.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def show(what: Change, status: str) -> None:
    """Print one mutant: where, what became of it, and its lines."""
    print(f"  {what.file} {what.function}: {status}")
    for sign, text in (("-", what.was), ("+", what.now)):
        print("\n".join(f"    {sign} {line}" for line in text.split("\n")), flush=True)


def main(argv: list[str]) -> int:
    """Judge the modules that are named, or every one; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", help="modules or folders of the core")
    parser.add_argument("--sample", type=int, help="mutants of each module")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--record", type=Path, help="JSON file of the counts by module")
    parser.add_argument("--least", type=float, default=1.0, help="share that must be noticed")
    args = parser.parse_args(argv)
    try:
        modules = chosen(args.paths)
    except ValueError as error:
        parser.error(str(error))
    os.environ |= ENVIRONMENT
    for name in PRELOADED:  # once, not for each mutant
        importlib.import_module(name)
    return max(judge(m, args.sample, args.jobs, args.record, args.least) for m in modules)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
