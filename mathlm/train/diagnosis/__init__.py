"""Is my run broken? What its record shows against what theory and healthy runs say.

* ``expected``: the first values that theory knows;
* ``run``: a run as it is diagnosed;
* ``finding``: what looks wrong, in sentences;
* ``loss_rules``, ``step_rules``, ``preference_rules``, ``policy_rules``: what is looked for.
"""

from . import loss_rules, policy_rules, preference_rules, step_rules
from .expected import Expected, expected_first
from .finding import Finding
from .run import RunHistory, run_history

RULES = (
    *loss_rules.RULES,
    *step_rules.RULES,
    *preference_rules.RULES,
    *policy_rules.RULES,
)


def diagnose(run: RunHistory) -> list[Finding]:
    """What looks wrong in a run, by what is known of healthy ones.

    Only what was recorded is looked at: a fault that changes no number of the record, such as
    an answer that is trained in the wrong chat template, is not seen. Trends are looked for
    from ten records on.

    Args:
        run: Of :func:`run_history`.

    Returns:
        The findings, severe ones first; none means that nothing that is known here looks
        wrong.

    Example:
        >>> record = {"kind": "pretrain", "history": [{"step": 1, "loss": 5.5, "lr": 1e-3}]}
        >>> record["history"] += [{"step": 2, "loss": float("nan"), "lr": 1e-3}]
        >>> [finding.severity for finding in diagnose(run_history(record))]
        ['severe']
    """
    found = [finding for rule in RULES for finding in rule(run)]
    return sorted(found, key=lambda finding: finding.severity != "severe")


__all__ = ["Expected", "Finding", "RunHistory", "diagnose", "expected_first", "run_history"]
