import itertools
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from quiver_cluster import Cluster  # noqa: E402
from quiver_server import Server  # noqa: E402

_names = itertools.count(1)


def node_of_cluster():
    """`leader` or `follower` if the tests shall ask such a node of three in place of a server that is alone; else None."""
    node = os.environ.get("QUIVER_TEST_NODE")
    assert node in (None, "leader", "follower"), f"QUIVER_TEST_NODE is {node}, must be leader or follower"
    return node


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for all tests of a module. Each test uses its own collection names."""
    if node_of_cluster():
        cluster = Cluster(tmp_path_factory.mktemp("cluster")).start()
        yield cluster.leader() if node_of_cluster() == "leader" else cluster.followers()[0]
        cluster.close()
        return
    server = Server(tmp_path_factory.mktemp("server") / "data").start()
    yield server
    if server.alive():
        server.stop()
    else:
        pytest.fail(f"the server ended during the tests:\n{server.log_tail()}")


@pytest.fixture
def new_server(tmp_path):
    """Makes servers, each with its own data directory: `new_server(env=..., args=...)`."""
    servers = []

    def make(**kwargs):
        servers.append(Server(tmp_path / f"data{len(servers)}", **kwargs))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


@pytest.fixture
def name():
    """A collection name that no other test uses."""
    return f"c{next(_names)}"
