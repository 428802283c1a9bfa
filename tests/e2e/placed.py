"""What tests ask of collections that are on some nodes of a cluster, and load on one."""
import time

from quiver_cluster import InBackground


def url(node):
    return f"http://{node.host}:{node.port}"


def view(node):
    return node.get("/cluster").result


def make(node, name, factor, **kwargs):
    answer = node.put(f"/collections/{name}", {"vectors": {"size": 2, "distance": "Dot"},
                                               "replication_factor": factor} | kwargs)
    assert answer.status == 200, answer.text


def upsert(node, name, ids, value="a"):
    return node.put(f"/collections/{name}/points?wait=true", {
        "points": [{"id": i, "vector": [1, i], "payload": {"value": value}} for i in ids]})


def upload(node, path, archive):
    """Restores what `path` names, a collection or a shard, from the bytes of a snapshot."""
    boundary = "----a-boundary"
    body = (f"--{boundary}\r\nContent-Disposition: form-data; name=\"snapshot\"; filename=\"s.snapshot\"\r\n"
            f"Content-Type: application/octet-stream\r\n\r\n").encode() + archive + f"\r\n--{boundary}--\r\n".encode()
    return node.post(f"{path}/snapshots/upload?wait=true", body,
                     headers={"Content-Type": f"multipart/form-data; boundary={boundary}"})


def count(node, name):
    answer = node.post(f"/collections/{name}/points/count", {})
    assert answer.status == 200, answer.text
    return answer.result["count"]


def shards(node, name):
    return node.get(f"/collections/{name}/cluster").result


def holders(cluster, name):
    """The nodes that have it and those that do not, by what each says of itself."""
    has = [node for node in cluster.alive() if shards(node, name)["local_shards"]]
    return has, [node for node in cluster.alive() if node not in has]


def peer_id(node):
    return view(node)["peer_id"]


def leader_of(cluster, name):
    ids = {peer_id(node): node for node in cluster.alive()}
    return ids.get(shards(cluster.alive()[0], name)["leader"])


def move(cluster, name, source, target):
    answer = cluster.nodes[0].post(f"/collections/{name}/cluster", {"move_shard": {
        "shard_id": 0, "from_peer_id": source, "to_peer_id": target}})
    assert answer.status == 200, answer.text


def has_moved(cluster, name, target):
    def is_there(node):
        state = shards(node, name)
        peers = {shard["peer_id"] for shard in state["remote_shards"]}
        peers |= {state["peer_id"]} if state["local_shards"] else set()
        return not state["shard_transfers"] and peers == set(target)
    return lambda: all(is_there(node) for node in cluster.alive())


class Load(InBackground):
    """Threads that write and read through nodes, by default through all, and note what failed."""

    def __init__(self, cluster, name, nodes=None):
        self.nodes, self.name = nodes or cluster.nodes, name
        self.failed, self.written, self.n_reads, self.longest_s = [], [], 0, 0.0
        super().__init__(self._write, self._read)

    def _write(self):
        n = 1000
        while not self.stop.is_set():
            n += 1
            begin = time.monotonic()
            answer = upsert(self.nodes[n % len(self.nodes)], self.name, [n])
            self.longest_s = max(self.longest_s, time.monotonic() - begin)
            if answer.status == 200:
                self.written.append(n)
            else:
                self.failed.append(answer.text)

    def _read(self):
        while not self.stop.is_set():
            self.n_reads += 1
            answer = self.nodes[self.n_reads % len(self.nodes)].get(f"/collections/{self.name}/points/1")
            if answer.status != 200:
                self.failed.append(answer.text)
