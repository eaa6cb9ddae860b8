"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import inspect

import numpy as np
import pytest

from lab.fine_tuning import project, project_solution
from mathlm.align import ChatBatches, encode_chats
from mathlm.text import Bytes, ChatFormat, Message

SOURCE = inspect.getsource(project_solution)


def planted(old, new):
    """The solution with one piece of its text changed."""
    assert SOURCE.count(old) == 1
    space = {}
    exec(SOURCE.replace(old, new), space)
    return space["pack"], space["mean_loss"]


TARGETS = "found[1][i, start : end - 1] = np.where(mask, ids, IGNORED)[1:]"
FAULTS = {
    "position t is to predict token t + 1": (
        TARGETS,
        "found[1][i, start:end] = np.where(mask, ids, IGNORED)",
    ),
    "the model would never stop": (
        TARGETS,
        "found[1][i, start : end - 2] = np.where(mask, ids, IGNORED)[1:-1]",
    ),
    "mask padding with -100": ("np.full(shape, IGNORED)", "np.zeros(shape, int)"),
    "tokens of the request are targets": (TARGETS, "found[1][i, start : end - 1] = ids[1:]"),
    "the targets are not the learned tokens": (
        TARGETS,
        f"{TARGETS} + 1000 * np.array(mask)[1:]",
    ),
    "needs a number of its own": ("= number\n", "= 0\n"),
    "one number for the conversation": ("np.full(shape, -1)", "np.zeros(shape, int)"),
    "predicts the first of the next": (
        "            start = end\n",
        "            start = end\n"
        "            found[1][i, end - 1] = "
        "1 - 101 * (number == len(row) - 1)\n",
    ),
    "conversations that fit share a row": ("<= context)", "< 0)"),
    "is cut: leave it out": ("continue\n", "ids, mask = ids[:context], mask[:context]\n"),
    "it must have (rows, 12)": ("shape = len(rows), context", "shape = len(rows), context + 1"),
    "and got two rows": ("<= context)", "< context)"),
    "exactly as long as the context": ("len(ids) > context", "len(ids) >= context"),
    "ids: 0 where nothing stands": ("np.zeros(shape, int)", "np.full(shape, 7)"),
    "return three arrays": ("    return found\n", "    return found[:2]\n"),
    "does not begin with the tokens": ("[i, start:end] = ids", "[i, start:end] = ids[::-1]"),
    "you divide by all positions": ("/ learned.sum()", "/ learned.size"),
    "this is the sum": (" / learned.sum()", ""),
    "the sign is wrong": ("float(-picked", "float(picked"),
    "mean over answers": (
        "return float(-picked[learned].sum() / learned.sum())",
        "return float(np.mean([-p[m].mean() for p, m in zip(picked, learned)]))",
    ),
    "by hand it is": ("float(-picked", "float(3 - picked"),
}  # fmt: skip


def test_the_solution_passes():
    assert project.grade(project_solution.pack, project_solution.mean_loss).passed


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(*planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report


def test_a_conversation_that_is_cut_in_two_rows_is_named():
    def cut(chats, context):
        ids, targets, documents = project_solution.pack(chats, context)
        documents[-1][documents[-1] >= 0][:2] = 7
        if len(chats) == 4:
            documents[0, :2] = 9
        return ids, targets, documents

    faults = project.grade(cut, project_solution.mean_loss).faults
    assert any("told apart" in f or "cut or missing" in f for f in faults)


def test_the_rows_are_those_of_the_package():
    format = ChatFormat.named()
    talks = [
        [Message("user", "Why?"), Message("assistant", "So.")],
        [Message("user", "Who?"), Message("assistant", "I, Hamlet the Dane.")],
    ]
    encoded = encode_chats(talks, format, Bytes(format.special), 64)
    chats = [(c.ids.tolist(), c.mask.tolist()) for c in encoded.chats]
    _, targets, _ = project_solution.pack(chats, 64)
    batch = ChatBatches(encoded, 1)(0)
    assert (targets != -100).sum() == encoded.targets == int((batch["targets"] != -100).sum())
    theirs = batch["targets"].numpy()
    np.testing.assert_array_equal(np.sort(targets[targets >= 0]), np.sort(theirs[theirs >= 0]))
