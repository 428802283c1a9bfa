#!/usr/bin/env python3
"""Times searches for groups beside the same searches without groups, in turns, over collections of any server.

    bench/groups.py --url http://127.0.0.1:6333 --collection m --queries queries.npy --keys cat,kind,year,qty

Prints the medians of the times that answers tell (`time`), which leave out the network, in milliseconds, and the
median of the ratios. Of --queries, the first --n are asked.
"""
import argparse
import http.client
import json
import statistics
import urllib.parse

import numpy as np


class Collection:
    def __init__(self, url, name):
        parts = urllib.parse.urlparse(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=600)
        self.path = f"/collections/{name}/points/"

    def milliseconds(self, endpoint, body):
        self.connection.request("POST", self.path + endpoint, body=json.dumps(body),
                                headers={"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text[:500]
        return json.loads(text)["time"] * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:6333")
    parser.add_argument("--collection", default="m")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--keys", required=True)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--limit", type=int, default=10, help="groups, and hits without groups")
    parser.add_argument("--group-size", type=int, default=3)
    options = parser.parse_args()
    queries = np.load(options.queries)[:options.n].tolist()
    collection = Collection(options.url, options.collection)
    print(f"{'key':12} {'plain p50':>10} {'groups p50':>11} {'p95':>8} {'ratio p50':>10}")
    for key in options.keys.split(","):
        plain, groups = [], []
        for query in queries:
            body = {"query": query, "limit": options.limit, "with_payload": False}
            plain.append(collection.milliseconds("query", body))
            groups.append(collection.milliseconds("query/groups", body | {"group_by": key, "group_size": options.group_size}))
        ratio = statistics.median(g / p for g, p in zip(groups, plain))
        print(f"{key:12} {statistics.median(plain):10.2f} {statistics.median(groups):11.2f} "
              f"{np.percentile(groups, 95):8.2f} {ratio:10.2f}", flush=True)


if __name__ == "__main__":
    main()
