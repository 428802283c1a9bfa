"""The stock vector stores of other libraries against the server: the examples of examples/integrations, over REST and gRPC.

The libraries are not in requirements.txt: a library that is not installed is skipped. QUIVER_INTEGRATIONS_PYTHON names the
Python of an environment that has them.
"""
import json
import os
import subprocess
import sys

import pytest
from patience import patience
from quiver_server import REPOSITORY, Server

PYTHON = os.environ.get("QUIVER_INTEGRATIONS_PYTHON", sys.executable)
EXAMPLES = {"langchain_store": "langchain_qdrant", "llama_index_store": "llama_index.vector_stores.qdrant",
            "haystack_store": "haystack_integrations.document_stores.qdrant", "dspy_retriever": "dspy"}


def is_installed(module):
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([PYTHON, "-c", code], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("integrations") / "data", grpc=True).start()
    yield server
    server.stop()


@pytest.mark.parametrize("transport", ["rest", "grpc"])
@pytest.mark.parametrize("example", EXAMPLES)
def test_integration(server, example, transport):
    if not is_installed(EXAMPLES[example]):
        pytest.skip(f"{EXAMPLES[example]} is not installed")
    args = ["--url", f"http://{server.host}:{server.port}"]
    if transport == "grpc":
        args += ["--grpc-port", str(server.grpc_port)]
    outcome = subprocess.run([PYTHON, "-B", REPOSITORY / "examples/integrations" / f"{example}.py", *args],
                             capture_output=True, text=True, timeout=patience(120))
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    assert json.loads(outcome.stdout.splitlines()[-1])["found"] == 5
