"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import readout_threshold_demo
from .figures import (
    code_responses,
    feature_arrows,
    features_held,
    found_by_share,
    matched_directions,
    probe_layers,
    readout_curves,
    sharing_losses,
    steering_course,
    unit_agreement,
)

__all__ = [
    "code_responses",
    "feature_arrows",
    "features_held",
    "found_by_share",
    "matched_directions",
    "probe_layers",
    "readout_curves",
    "readout_threshold_demo",
    "sharing_losses",
    "steering_course",
    "style",
    "unit_agreement",
]
