import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from quiver_cluster import Cluster  # noqa: E402
from quiver_server import Server  # noqa: E402

REPOSITORY = Path(__file__).resolve().parents[2]
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


@pytest.fixture(scope="session")
def messages():
    """The classes of the project's own gRPC messages, by name."""
    with tempfile.NamedTemporaryFile() as out:
        files = [str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "proto").glob("*.proto")]
        subprocess.run(["protoc", "-I", ".", "--include_imports", f"--descriptor_set_out={out.name}", *files],
                       cwd=REPOSITORY, check=True)
        found = descriptor_pb2.FileDescriptorSet.FromString(Path(out.name).read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in found.file:
        pool.Add(file)
    return lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"qdrant.{name}"))
