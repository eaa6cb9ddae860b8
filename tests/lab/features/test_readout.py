import json

from lab.features import readout
from lab.features.capacity import measured_readout


def test_the_record_is_the_measurement(tmp_path):
    path = tmp_path / "r.json"
    command = f"--width 64 --count 200 --trials 4 --active 1 30 --record {path}".split()
    found = readout.main(command)
    threshold, rank = measured_readout(64, 200, [1, 30], trials=4)
    assert json.loads(path.read_text())["results"] == found
    assert found == {"threshold": threshold.tolist(), "rank": rank.tolist()}
    assert found["threshold"][0] > found["threshold"][1]
