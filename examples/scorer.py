#!/usr/bin/env python3
"""Finds the papers that a scorer of our own likes best, of which the server knows nothing (docs/scorers.md).

    quiver serve --data-dir /tmp/scorer-data &
    quiver import --vectors $E/dense.npy --payload $E/docs.jsonl --url http://127.0.0.1:6333 --collection papers \\
        --create --metric dot                                                            E: examples/arxiv-3k
    examples/scorer.py [--url URL] [--collection NAME]

The scorer stands for something slow, such as a cross-encoder or a person: it reads papers, a few at a time. Here it counts the
words that a title shares with a question, and likes some categories. For a cross-encoder, replace `Scorer.score`.
"""
import argparse
import json
import urllib.request

QUESTION = "quantum magnetism: spin chains, spin waves and magnetic order"
LIKED = {"cond-mat.str-el": 1.0, "cond-mat": 0.5, "cond-mat.mes-hall": 0.5}
STEM = 5  # letters


def ask(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))["result"]


def stems(text):
    return {word[:STEM] for word in text.lower().replace("-", " ").split() if len(word) >= STEM - 1}


class Scorer:
    def __init__(self, question):
        self.wanted, self.calls = stems(question), 0

    def __call__(self, papers):
        self.calls += len(papers)
        return [self.score(paper) for paper in papers]

    def score(self, paper):
        return len(stems(paper["title"]) & self.wanted) + sum(LIKED.get(name, 0) for name in paper["cats"])


def search_by(scorer, propose, budget, n, request):
    """Returns {id: (score, title)} of all scored points, and why it ended."""
    found = {}
    while len(found) < budget:
        scored = [{"id": i, "score": score} for i, (score, _) in found.items()]
        answer = propose({"n": min(n, budget - len(found)), "with_payload": True, "scored": scored, **request})
        points = answer["propose"]
        if answer["done"] or not points:
            return found, "done"
        scores = scorer([point["payload"] for point in points])
        for point, score in zip(points, scores):
            found[point["id"]] = score, point["payload"]["title"]
        facts = answer["model"] or {"r2": 0}
        print(f"{len(found):4} scored, best {max(score for score, _ in found.values()):.1f}, r2 {facts['r2']:.2f}")
    return found, "budget spent"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:6333")
    parser.add_argument("--collection", default="papers")
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--budget", type=int, default=120)
    arguments = parser.parse_args()
    endpoint = f"{arguments.url}/v1/collections/{arguments.collection}/points/propose"
    # Without an encoder for the question, a paper about it is where to begin.
    filter_ = {"must": [{"key": "title", "match": {"text": "Spin"}}]}
    seed = ask(f"{arguments.url}/collections/{arguments.collection}/points/scroll", {"limit": 1, "filter": filter_})["points"]
    scorer = Scorer(arguments.question)
    request = {"query": seed[0]["id"]} if seed else {"prefetch": {"limit": 20}}
    found, why = search_by(scorer, lambda body: ask(endpoint, body), arguments.budget, 20, request)
    print(f"{why} after {scorer.calls} calls")
    for score, title in sorted(found.values(), reverse=True)[:5]:
        print(f"{score:5.1f}  {title}")


if __name__ == "__main__":
    main()
