"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import numpy as np
import pytest

from lab.transformer_backward import open_block, project, project_solution
from lab.transformer_backward.planted_gradient_faults import planted
from mathlm.reference import decoder_block, decoder_block_backward

BLOCK, DECODER = project_solution.block_backward, project_solution.decoder_backward


def package(dy, w, cache):
    """The package's backward pass in the form of the project."""
    drawn = project.Drawn()
    masks = (
        (drawn.mask, drawn.memory_mask)
        if len(np.unique(cache["cross_attention"]["a"][1, 0, :, -1])) == 1
        else ()
    )
    kept = decoder_block(cache["y"], cache["memory"], w, cache["n_heads"], *masks)[1]
    return decoder_block_backward(dy, kept)


def test_the_solution_passes():
    report = project.grade(BLOCK, DECODER)
    assert report.passed, report
    assert repr(report).endswith("10 of 10 tests passed")


def test_the_open_block_is_that_of_the_package():
    drawn = project.Drawn()
    masks = drawn.mask, drawn.memory_mask
    ours = open_block.block(drawn.y, drawn.memory, drawn.w, project.H, *masks)[0]
    theirs = decoder_block(drawn.y, drawn.memory, drawn.w, project.H, *masks)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("sentence", project.MISTAKES)
def test_a_planted_fault_of_the_block_is_named(sentence):
    def faulty(dy, w, cache):
        with planted(project.MISTAKES[sentence]):
            return package(dy, w, cache)

    report = project.grade(faulty, DECODER)
    assert not report.passed
    assert sentence in report.faults


def changed(change):
    """The block's backward pass with something done to its three results."""
    return lambda dy, w, cache: change(*BLOCK(dy, w, cache))


def in_place(dy, w, cache):
    found = BLOCK(dy, w, cache)
    dy *= 2
    return found


def spoils(dy, w, cache):
    found = BLOCK(dy, w, cache)
    cache["attention"]["a"] *= 0.5
    return found


def leaks(dy, w, cache):
    dy_in, dmemory, g = BLOCK(dy, w, cache)
    return dy_in, dmemory + 1e-13, g


BLOCKS = {
    "must return dy_in, dmemory and a dict": changed(lambda a, b, g: (a, b)),
    "no gradient is given for attention.W_q.bias": changed(
        lambda a, b, g: (a, b, {n: x for n, x in g.items() if n != "attention.W_q.bias"})
    ),
    "must have that of its array": changed(lambda a, b, g: (a[0], b, g)),
    "these are off: feed_forward.W_in.weight by 1": changed(
        lambda a, b, g: (
            a,
            b,
            g | {"feed_forward.W_in.weight": 2 * g["feed_forward.W_in.weight"]},
        )
    ),
    "these are off: stream by 0.5": changed(lambda a, b, g: (0.5 * a, b, g)),
    "padding of the memory has a gradient": leaks,
    "a later position has a gradient": changed(lambda a, b, g: (a + 1e-13, b, g)),
    "changes its argument dy in place": in_place,
    "a second call gives other gradients": spoils,
}


@pytest.mark.parametrize("sentence", BLOCKS)
def test_a_fault_of_the_form_of_the_block_is_named(sentence):
    report = project.grade(BLOCKS[sentence], DECODER)
    assert sentence in repr(report)


def decoder(head=1.0, rows=1.0, at=np.add.at, blocks=slice(None), mean=False, order=-1):
    """The decoder's backward pass with one of its lines changed."""

    def backward(dz, cache):
        E = cache["table"]
        dtable, dy = head * np.einsum("btv,btd->vd", dz, cache["last"]), dz @ E
        left = []
        for w, kept in list(zip(cache["blocks"], cache["caches"], strict=True))[::order]:
            dy, dm, _ = BLOCK(dy, w, kept)
            left.append(dm)
        at(dtable, cache["ids"], rows * np.sqrt(E.shape[1]) * dy)
        return dtable, (np.mean if mean else np.sum)(left[blocks], axis=0)

    return backward


def assigned(table, ids, rows):
    table[ids] += rows


DECODERS = {
    "must return dtable, dmemory": lambda dz, cache: (0, 0),
    "of the top block only": decoder(blocks=slice(0, 1)),
    "of the bottom block only": decoder(blocks=slice(1, 2)),
    "they are no mean": decoder(mean=True),
    "from the top to the bottom": decoder(order=1),
    "head's part only": decoder(rows=0.0),
    "part of its rows only": decoder(head=0.0),
    "factor √D is missing": decoder(rows=project.D**-0.5),
    "adds at repeated indices": decoder(at=assigned),
    "dtable differs from torch's": decoder(head=-1.0),
}


@pytest.mark.parametrize("sentence", DECODERS)
def test_a_fault_of_the_decoder_is_named(sentence):
    report = project.grade(BLOCK, DECODERS[sentence])
    assert not report.passed
    assert sentence in repr(report)


def test_what_is_not_written_yet_is_said_and_the_rest_is_put_off():
    def stub(*args):
        raise NotImplementedError

    report = project.grade(stub, stub)
    assert report.faults == ["something is not written yet: NotImplementedError was raised."]
    assert repr(report).count("(not run yet)") == 9
