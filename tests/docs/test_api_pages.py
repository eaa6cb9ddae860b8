"""The API pages name every export of every layer, once, and nothing else; each has examples."""

import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from sources import expect_nothing

import mathlm
from mathlm.recipes.__main__ import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
API = ROOT / "book" / "api"
DIRECTIVE = re.compile(
    r"^\.\. (automodule|autofunction|autoclass|autoexception|data|currentmodule):: (\S+)",
    re.M,
)
LAYERS = [name for name in mathlm.__all__ if name not in {"shapes", "checks", "recipes"}]
WITHOUT = {  # public names that need no example, by the reason
    "returned by a function, whose example shows it": """
        adapt.Addition align.Best align.Comparisons align.Encoded align.EncodedPairs
        align.EncodedUnpaired align.LinearReward align.Strengths align.exact.Frontier
        align.exact.Moments align.exact.Optimum align.exact.Prefixes claims.Claim
        evaluation.Comparison generate.Hypothesis generate.Proposal generate.Round
        generate.Step generate.TextStream interpret.DictionaryReport
        interpret.PathAttribution interpret.Probe interpret.TopTokens models.SharedRows
        reference.Reliability reference.SoftmaxState scaling.BudgetPlan
        scaling.ChinchillaFit scaling.Envelope scaling.KaplanFit scaling.LifetimePlan
        scaling.Parabolas scaling.Points scaling.PowerLaw scaling.RunTable
        scaling.TrainingBill scaling.TrainingRun text.Chat text.Cleaned text.Contamination
        text.NearDuplicate text.Overlap text.Packed text.TokenManifest
        text.corpora.ratings.Rated text.corpora.sentiment.Lexicon
        text.corpora.tagged.Tagged text.patterns.regular.Alternation
        text.patterns.regular.ByteSet text.patterns.regular.Concatenation
        text.patterns.regular.Repetition train.Expected train.Finding train.RunHistory
    """,
    "reads a data package, or says where one comes from": """
        align.SentimentReward text.corpora.corpus.Corpus text.corpora.corpus.documents
        text.corpora.corpus.split text.corpora.digits.load text.corpora.instructions.load
        text.corpora.pretrained.Pretrained text.corpora.pretrained.find
        text.corpora.questions.QuestionSet text.corpora.questions.load
        text.corpora.ratings.load text.corpora.sentiment.load text.corpora.tagged.load
        text.corpora.vectors.WordVectors text.corpora.vectors.load
        text.corpora.word_tests.WordTest text.corpora.word_tests.analogies
        text.corpora.word_tests.analogy_rows text.corpora.word_tests.similarities
        text.corpora.word_tests.similarity_rows text.corpora.numerals.batch
    """,
    "asks about its surroundings, or changes them": """
        claims.is_strict plot.style.use progress.in_notebook progress.is_shown
    """,
    "needs a program that may not be installed": "train.TensorBoardLogger train.WandbLogger",
    "a base of other classes": "layers.QuantizedLinear",
    "stands on one page, on which it is used": """
        models.one_page_gpt.Config models.one_page_gpt.GPT
    """,
}


def documented(layer: str) -> list[str]:
    """Full names of the objects on a layer's page; a module directive sets the prefix."""
    names, current = [], ""
    for kind, name in DIRECTIVE.findall((API / f"{layer}.md").read_text(encoding="utf-8")):
        if kind in {"automodule", "currentmodule"}:
            current = name
        else:
            names.append(f"{current}.{name}")
    return names


def exports(module: ModuleType) -> list[str]:
    """Public functions and classes: ``__all__``, or what the module itself defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = [(k, v) for k, v in vars(module).items() if not k.startswith("_")]
    return [k for k, v in own if getattr(v, "__module__", None) == module.__name__]


def wanted(layer: str) -> list[str]:
    """Full names that a layer's page must hold; a module stands for its exports."""
    module = import_module(f"mathlm.{layer}")
    names: list[str] = []
    for export in exports(module):
        value = getattr(module, export)
        inner = exports(value) if isinstance(value, ModuleType) else []
        names += [f"{value.__name__}.{name}" for name in inner] or [f"mathlm.{layer}.{export}"]
    return names


@pytest.mark.slow  # imports all parts
def test_every_export_is_on_the_page_of_its_layer():
    missing = {layer: set(wanted(layer)) - set(documented(layer)) for layer in LAYERS}
    expect_nothing(
        f"book/api/{n}.md lacks {sorted(names)}" for n, names in missing.items() if names
    )


def superfluous(layer):
    """What stands twice on the page of a layer, and what the layer does not export."""
    names = documented(layer)
    return sorted({n for n in names if names.count(n) > 1} | (set(names) - set(wanted(layer))))


def test_a_page_names_nothing_twice_and_nothing_that_is_not_exported():
    expect_nothing(f"book/api/{n}.md: {names}" for n in LAYERS if (names := superfluous(n)))


def test_every_layer_has_a_page_in_the_table_of_contents():
    contents = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    pages = re.findall(r"book/api/(\w+)$", contents, re.M)
    assert pages == ["index", *order(pages)]
    assert set(pages) == {"index", *LAYERS, "recipes"}


def order(pages: list[str]) -> list[str]:
    """The pages as they stand in the package, from the ground up."""
    return [name for name in mathlm.__all__ if name in pages]


def test_every_command_has_its_section_with_an_example():
    page = (API / "recipes.md").read_text(encoding="utf-8")
    sections = {part.split(":")[0]: part for part in page.split("\n## ")[1:]}
    missing = [name for name in COMMANDS if f"\nmathlm {name} " not in sections.get(name, "")]
    assert not missing


def test_the_page_lists_the_commands_as_the_console_script_does():
    page = (API / "recipes.md").read_text(encoding="utf-8")
    listed = [f"{name:<12} {what}\n" for name, what in COMMANDS.items()]
    assert "".join(listed) in page


def test_a_file_that_is_run_is_a_command():
    run = {name for name, text in recipes() if "__main__" in text}
    assert run == {"__main__", *COMMANDS} - {"whole_stack"}


def test_a_recipe_without_a_command_is_part_of_one():
    parts = [name for name, text in recipes() if "__main__" not in text]
    used = {name for name in parts for own, text in recipes() if own != name and name in text}
    assert used == set(parts)


def recipes():
    """Name and text of each recipe."""
    files = (ROOT / "mathlm" / "recipes").glob("*.py")
    return [(p.stem, p.read_text(encoding="utf-8")) for p in files if p.stem != "__init__"]


def public():
    """The functions and classes of the API pages, by name, but for errors and protocols."""
    for layer in LAYERS:
        for name in wanted(layer):
            module, _, own = name.rpartition(".")
            thing = getattr(import_module(module), own)
            explains = inspect.isclass(thing) and (
                issubclass(thing, BaseException) or getattr(thing, "_is_protocol", False)
            )
            if (
                hasattr(thing, "__wrapped__")
                or inspect.isroutine(thing)
                or (inspect.isclass(thing) and not explains)
            ):
                yield name.removeprefix("mathlm."), thing


def test_what_a_user_calls_has_an_example():
    bare = {name for name, thing in public() if ">>> " not in (thing.__doc__ or "")}
    listed = {name for names in WITHOUT.values() for name in names.split()}
    expect_nothing(
        [f"{name} has no example: write one, see CONTRIBUTING.md" for name in bare - listed]
        + [f"{name} has an example, or is gone: take it off WITHOUT" for name in listed - bare]
    )
