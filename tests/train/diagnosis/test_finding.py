"""A finding is one paragraph."""

from train.diagnosis.written_runs import T, written

from mathlm.train import Finding, diagnose, run_history


def test_a_finding_is_a_paragraph():
    found = Finding(
        name="x", severity="warning", seen="A.", healthy="B.", causes=("c", "d"), advice="e."
    )
    assert found.sentences == "A. B. Likely causes: (1) c; (2) d. Try this: e."


def test_severe_findings_come_first():
    run = run_history(written("pretrain", lr=3e-3 + 0 * T, grad_norm=0.5 * T))
    assert [f.severity for f in diagnose(run)] == ["severe", "warning"]


def test_a_finding_says_numbers_and_step():
    (found,) = diagnose(run_history(written("pretrain", grad_norm=0.5 * (T % 5 > 0))))
    assert "exactly 0 at 20% of the records, first at step 5." in found.seen
