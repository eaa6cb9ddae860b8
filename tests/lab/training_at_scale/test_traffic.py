import socket
import sys

import pytest

from lab.training_at_scale.traffic import Traffic, ring_bytes, sent_bytes, step_bytes
from mathlm.errors import ConfigError


@pytest.mark.parametrize(
    ("collective", "sent"), [("all_reduce", 1500), ("reduce_scatter", 750), ("all_gather", 750)]
)
def test_four_ranks_send_three_quarters_of_1000_bytes_once_or_twice(collective, sent):
    assert ring_bytes(collective, 1000, 4) == sent
    assert ring_bytes(collective, 1000, 1) == 0


def test_the_third_stage_of_zero_sends_half_more_than_data_parallelism():
    assert [step_bytes(stage, 600, 3) for stage in range(4)] == [800, 800, 800, 1200]


def test_what_there_is_not_is_refused():
    with pytest.raises(ConfigError, match="stage=4 must be 0, 1, 2 or 3"):
        step_bytes(4, 1, 1)
    with pytest.raises(ConfigError, match="n=0 must be at least 1 and size=1 not negative"):
        ring_bytes("all_gather", 1, 0)
    with pytest.raises(ConfigError, match="n=1 must be at least 1 and size=-1 not negative"):
        ring_bytes("all_gather", -1, 1)


def test_an_unknown_collective_is_refused(unchecked):
    with pytest.raises(ConfigError, match="'gossip' is not one of all_reduce, reduce_scatter"):
        ring_bytes("gossip", 1, 1)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel of Linux counts")
def test_the_kernel_counts_the_bytes_of_a_connection():
    with socket.create_server(("127.0.0.1", 0)) as server, Traffic().counting() as traffic:
        sender = socket.create_connection(server.getsockname())
        receiver, _ = server.accept()
        sender.sendall(b"x" * 5000)
        assert len(receiver.recv(5000, socket.MSG_WAITALL)) == 5000
        total = sent_bytes()
    assert traffic.sent == 5000
    assert total >= 5000
    sender.close()
    receiver.close()


def test_elsewhere_nothing_is_counted(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    with Traffic().counting() as traffic:
        pass
    assert sent_bytes() is None
    assert traffic.sent is None
