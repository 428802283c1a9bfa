#!/usr/bin/env python3
"""Finds data sets by name and gives them as files that `quiver bench ann` reads.

    bench/datasets.py list
    bench/datasets.py info NAME                        a page of facts
    bench/datasets.py args NAME                        the flags for `quiver bench ann`; creates missing files
    quiver bench ann $(bench/datasets.py args arxiv-3k/sparse) --index flat

Sets below the directory QUIVER_DATASETS are found there. Created files go to --cache (default
$XDG_CACHE_HOME/quiver/datasets) and are reused for the same parameters. Generated sets take --rows, --seed and --set.
"""
import argparse
import dataclasses
import gzip
import hashlib
import inspect
import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import generators  # noqa: E402
import text_vectors  # noqa: E402
from ragged import Ragged  # noqa: E402

SAMPLE = Path(__file__).resolve().parent.parent / "examples" / "arxiv-3k"
FASHION = ("fashion-mnist", Path("/usr/share/datasets"))
TOKEN_SCALE = np.float32(1 / 127)


@dataclasses.dataclass
class Files:
    """The arguments for `quiver bench ann`. A path is a prefix for CSR and ragged sets."""
    kind: str
    metric: str
    base: Path
    queries: Path
    truth: Path | None = None
    dtype: str | None = None
    rows: int | None = None   # only the first of them

    def flags(self, name, query_rows=""):
        flags = ["--kind", self.kind, "--metric", self.metric, "--base", self.base, "--queries", self.queries]
        rows = f"0:{self.rows}" if self.rows else ""
        for flag, value in (("--ground-truth", self.truth), ("--dtype", self.dtype), ("--rows", rows),
                            ("--query-rows", query_rows)):
            if value:
                flags += [flag, value]
        return [str(f) for f in flags + ["--data", name]]


@dataclasses.dataclass
class DataSet:
    name: str
    title: str
    about: str                # Markdown: distribution, origin, licence, what it shows and what it does not
    files: callable           # (options) -> Files
    generated: bool = False
    parameters: dict = dataclasses.field(default_factory=dict)


# The shipped sample.

def sample_tokens(options):
    """Returns the values of the i8 codes."""
    out = options.folder("arxiv-3k-multi")
    with making(out) as making_now:
        for name in ("tokens", "queries.tokens") if making_now else ():
            np.save(out / f"{name}.values.npy", np.load(SAMPLE / f"{name}.npy").astype(np.float32) * TOKEN_SCALE)
            shutil.copyfile(SAMPLE / f"{name}.indptr.npy", out / f"{name}.indptr.npy")
    return Files("multi", "dot", out / "tokens", out / "queries.tokens", SAMPLE / "gt.multi.ids.npy")


def sample_sets():
    origin = ("Cut from 100,000 arXiv records (metadata CC0 1.0); queries are the titles of 200 of its documents, whose "
              "vectors were made from the abstracts alone. Ships with the project: examples/arxiv-3k/README.md. Small "
              "enough to lie in the caches: it shows that things work and what a call costs, not what memory does.")
    dense = Files("dense", "dot", SAMPLE / "dense.npy", SAMPLE / "queries.dense.npy", SAMPLE / "gt.dense.ids.npy")
    sparse = Files("sparse", "dot", SAMPLE / "sparse", SAMPLE / "queries.sparse", SAMPLE / "gt.sparse.ids.npy")
    yield DataSet("arxiv-3k/dense", "abstracts by all-MiniLM-L6-v2 (Apache-2.0), unit length, f16", origin, lambda _: dense)
    yield DataSet("arxiv-3k/sparse", "abstracts by a tiny SPLADE (Apache-2.0)", origin, lambda _: sparse)
    yield DataSet("arxiv-3k/multi", "token vectors of 220 abstracts", origin + " The tokens come from a model that was "
                  "not trained for late interaction, rounded to i8.", sample_tokens)


# Fashion-MNIST.

def fashion_folder():
    for root in (os.environ.get("QUIVER_DATASETS"), FASHION[1]):
        if root and (Path(root) / FASHION[0] / "train-images-idx3-ubyte.gz").exists():
            return Path(root) / FASHION[0]
    return None


def fashion(_):
    folder = fashion_folder()
    if folder is None:
        raise SystemExit("fashion-mnist: not found; apt-get install dataset-fashion-mnist")
    rows, queries = (folder / f"{part}-images-idx3-ubyte.gz" for part in ("train", "t10k"))
    return Files("dense", "euclid", rows, queries, dtype="u8")


def fashion_sets():
    yield DataSet("fashion-mnist", "60,000 images of clothes, 784 pixels, u8, Euclid", "28 x 28 grey pixels of articles "
                  "from Zalando (MIT licence), from Debian's package dataset-fashion-mnist; the 10,000 test images are "
                  "the queries. Classic and easy: low intrinsic dimension, queries from the distribution of the rows.",
                  fashion)


# Sets below QUIVER_DATASETS.

LAYOUTS = [  # name, kind, base, queries, truth
    ("dense", "dense", "dense.npy", "queries.dense.npy", "gt.dense.ids.npy"),
    ("sparse", "sparse", "sparse", "queries.sparse", "gt.sparse.ids.npy"),
    ("multi", "multi", "tokens", "query_tokens", "gt.ids.npy"),
    ("multi", "multi", "tokens", "queries.tokens", "gt.multi.ids.npy"),
]


def existing(path):
    """Returns `path`, its compressed form, or None."""
    return next((p for p in (path, path.with_name(path.name + ".zst")) if p.exists()), None)


def source(folder, name, kind):
    """Returns the source for `quiver bench ann` if all its files exist."""
    if kind == "dense":
        return existing(folder / name)
    parts = ("indptr", "indices", "values") if kind == "sparse" else ("indptr", "values")
    found = [existing(folder / f"{name}.{part}.npy") for part in parts]
    if kind == "multi" and found[0] and not found[1] and existing(folder / f"{name}.npy"):
        return folder / name
    return folder / name if all(found) else None


def ragged_source(prefix, options):
    """Links DIR/tokens.npy beside DIR/tokens.indptr.npy, as some tools write them, under the names read here."""
    if existing(prefix.with_name(prefix.name + ".values.npy")):
        return prefix
    place = hashlib.sha1(str(prefix.parent.resolve()).encode()).hexdigest()[:8]  # distinguishes folders of the same name
    out = options.folder(f"{prefix.parent.name}-multi-{place}")
    out.mkdir(parents=True, exist_ok=True)
    for old, new in ((".npy", ".values.npy"), (".indptr.npy", ".indptr.npy")):
        found = existing(prefix.with_name(prefix.name + old))
        link = out / (prefix.name + new + found.name[len(prefix.name + old):])
        if not link.exists():
            link.symlink_to(found.resolve())
    return out / prefix.name


def found_files(folder, kind, base, queries, truth):
    def files(options):
        paths = [ragged_source(p, options) if kind == "multi" else p for p in (base, queries)]
        return Files(kind, "dot", *paths, truth)
    return files


def sets_of(folder):
    """Returns {name: (options) -> Files} for the sets in a folder."""
    found = {}
    for name, kind, base, queries, truth in LAYOUTS if folder.is_dir() else ():
        paths = source(folder, base, kind), source(folder, queries, kind)
        if all(paths):
            found.setdefault(name, found_files(folder, kind, *paths, existing(folder / truth)))
    if folder.resolve() == SAMPLE:
        found["multi"] = sample_tokens
    return found


def found_sets():
    root = os.environ.get("QUIVER_DATASETS")
    for folder in sorted(Path(root).iterdir()) if root and Path(root).is_dir() else ():
        for name, files in sets_of(folder).items():
            about = f"Found in {folder}. " + readme_of(folder)
            yield DataSet(f"{folder.name}/{name}", f"{name} vectors found below QUIVER_DATASETS", about, files)


def readme_of(folder):
    path = folder / "README.md"
    return "\n\n" + path.read_text() if path.exists() else ""


# Generated.

GENERATED = "Generated: it shows how cost grows with size, never recall."


def generator_files(name, kind, function, base, queries):
    def files(options):
        parameters = options.parameters(function)
        out = options.folder("-".join([name, *(f"{k}{v}" for k, v in sorted(parameters.items()))]))
        with making(out) as making_now:
            if making_now:
                function(out, **parameters)
        return Files(kind, "dot", out / base, out / queries)
    return files


def real_rows(files):
    """Returns (rows, queries) in the form the generators take."""
    if files.kind == "dense":
        return load(files.base), load(files.queries)
    parts = ([load(existing(p.with_name(f"{p.name}.{part}.npy"))) for part in ("indptr", "values")]
             for p in (files.base, files.queries))
    return tuple(Ragged(*p) for p in parts)


def jittered_files(name, kind, function, base, queries):
    def make(options):
        source = options.source or f"arxiv-3k/{kind}"
        real = catalog()[source].files(options.of_source())
        if real.kind != kind:
            raise SystemExit(f"{name}: the source {source} is {real.kind}, wanted {kind}")
        parameters = options.parameters(function)
        numbers = sorted(options.source_set.items()) + sorted(parameters.items())
        out = options.folder("-".join([name, source.replace("/", "-"), *(f"{k}{v}" for k, v in numbers)]))
        with making(out) as making_now:
            if making_now:
                rows, wanted = real_rows(real)
                found = function(out, rows, queries=wanted, **parameters)
                (out / "facts.json").write_text(json.dumps(found))
        return Files(kind, real.metric, out / base, out / queries)
    return make


def jittered_sets():
    for name, kind, function, base, queries, title in (
            ("jittered", "dense", generators.jittered, "dense.npy", "queries.dense.npy", "real dense rows"),
            ("jittered-tokens", "multi", generators.jittered_tokens, "tokens", "query_tokens", "real token vectors")):
        yield DataSet(name, f"{title} (--source), each with noise", document(function),
                      jittered_files(name, kind, function, base, queries), True, defaults(function))


def generated_sets():
    for name, kind, function, base, queries, title in (
            ("clustered", "dense", generators.clustered, "dense.npy", "queries.dense.npy", "dense Gaussian clusters"),
            ("splade-like", "sparse", generators.splade_like, "sparse", "queries.sparse", "learned-sparse rows"),
            ("ragged", "multi", generators.ragged, "tokens", "queries.tokens", "token vectors")):
        yield DataSet(name, title, document(function), generator_files(name, kind, function, base, queries), True,
                      defaults(function))
    yield from jittered_sets()


# Real texts.

def text_files(name, function):
    def make(options):
        root, source = os.environ.get("QUIVER_DATASETS", ""), options.source or "arxiv-100k"
        texts = Path(root) / source
        if not existing(texts / "docs.jsonl") or not (texts / "queries.tsv").exists():
            raise SystemExit(f"{name}: {texts} has no docs.jsonl and queries.tsv; QUIVER_DATASETS is `{root}`")
        parameters = options.parameters(function)
        out = options.folder("-".join([name, source, *(f"{k}{v}" for k, v in sorted(parameters.items()))]))
        with making(out) as making_now:
            if making_now:
                (out / "facts.json").write_text(json.dumps(function(out, texts, **parameters)))
        return Files("dense", "dot", out / "dense.npy", out / "queries.dense.npy")
    return make


def text_sets():
    for name, function, title in (
            ("lsa", text_vectors.lsa, "vectors of real texts (--source), by TF-IDF and truncated SVD; --set dim=768 or 1024"),
            ("lsa-words", text_vectors.lsa_words, "rows of `lsa`, single words as queries: out of distribution"),
            ("terms", text_vectors.terms, "vectors of words and pairs of words of real texts (--source), 100-d")):
        about = " ".join(inspect.getdoc(function).split()) + " No encoder made these vectors: they spread over more axes than an encoder's."
        yield DataSet(name, title, about, text_files(name, function), True, defaults(function))


def document(function):
    return " ".join(inspect.getdoc(function).split()) + " " + GENERATED


def defaults(function):
    known = inspect.signature(function).parameters
    skip = {"out", "rows", "source"} | ({"queries"} if "source" in known else set())  # paths to real data, not numbers
    return {k: p.default for k, p in known.items() if k not in skip}


# Making and reading.

class making:
    """Yields True if `out` is not complete. Marks it complete when the block ends without an error."""

    def __init__(self, out):
        self.out, self.mark = out, out / "complete"

    def __enter__(self):
        if self.mark.exists():
            return False
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        print(f"making {self.out}", file=sys.stderr)
        return True

    def __exit__(self, error, *_):
        if error is None:
            self.mark.touch()


def load(path):
    """Loads an array from a .npy, .npy.zst or gzipped IDX file."""
    if path.name.endswith("-ubyte.gz"):
        with gzip.open(path) as packed:
            return np.frombuffer(packed.read(), np.uint8, offset=16).reshape(-1, 784)
    if path.name.endswith(".zst"):
        import io
        import zstandard
        with open(path, "rb") as packed:
            return np.load(io.BytesIO(zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(packed).read()))
    return np.load(path, mmap_mode="r")


def catalog():
    sets = [*sample_sets(), *fashion_sets(), *found_sets(), *generated_sets(), *text_sets()]
    return {s.name: s for s in sets}


# Facts.

def facts(files):
    """Returns (name, text) pairs, measured from the files."""
    yield "kind, metric", f"{files.kind}, {files.metric}"
    for label, path in (("rows", files.base), ("queries", files.queries)):
        if files.kind == "dense":
            array = load(path)
            yield label, f"{len(array):,} x {array.shape[1]} {array.dtype}, {path}"
            lengths = np.linalg.norm(np.asarray(array[:10000], np.float32), axis=1)
            yield f"{label}: length", f"{lengths.mean():.3f} +- {lengths.std():.3f} (first {len(lengths):,})"
            continue
        counts = np.diff(load(existing(path.with_name(path.name + ".indptr.npy"))).astype(np.int64))
        what = "non-zeros" if files.kind == "sparse" else "tokens"
        values = load(existing(path.with_name(path.name + ".values.npy")))
        yield label, f"{len(counts):,}, {values.dtype}{'' if values.ndim == 1 else f' x {values.shape[1]}'}, {path}.*.npy"
        yield f"{label}: {what}", f"{counts.mean():.1f} a row ({counts.min()} to {counts.max()})"
        if files.kind == "sparse":
            for top in (10, 50):
                yield f"{label}: {top} heaviest", f"{100 * heaviest_share(counts, values, top):.0f} % of the weight"
    notes = files.base.parent / "facts.json"
    yield from ((k, f"{v:.4g}") for k, v in (json.loads(notes.read_text()) if notes.exists() else {}).items())
    yield "ground truth", str(files.truth or "computed by `quiver bench ann`, and kept")


def heaviest_share(counts, values, top, sample=2000):
    """Returns the share of a row's weight in its `top` heaviest entries, over the first rows."""
    ends = np.cumsum(counts)
    rows = [np.sort(np.asarray(values[e - c:e], np.float64))[::-1] for c, e in zip(counts[:sample], ends) if c]
    return float(np.mean([r[:top].sum() / r.sum() for r in rows]))


def page(data_set, options):
    lines = [f"# {data_set.name}: {data_set.title}", "", data_set.about, ""]
    lines += [f"- {name}: {text}" for name, text in facts(data_set.files(options))]
    if data_set.generated:
        lines += ["", "Parameters (--rows, --seed, --set NAME=VALUE) and their defaults:"]
        lines += [f"- {name} = {value}" for name, value in data_set.parameters.items()]
    return "\n".join(lines)


# The command line.

class Options:
    def __init__(self, cache=None, rows=100_000, seed=1, set=(), source=None, source_set=()):
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        self.cache = Path(cache) if cache else Path(root) / "quiver" / "datasets"
        self.rows, self.seed, self.source = rows, seed, source
        self.set, self.source_set = (dict(s.split("=", 1) for s in given) for given in (set, source_set))

    def of_source(self):
        """Returns the options of the set that `source` names."""
        found = Options(self.cache)
        found.set = self.source_set
        return found

    def folder(self, name):
        return self.cache / name

    def parameters(self, function):
        """Returns the requested parameters, with the types of the defaults."""
        known = defaults(function)
        unknown = sorted(set(self.set) - set(known))
        if unknown:
            raise SystemExit(f"{function.__name__} has no parameter {', '.join(unknown)}; it has {', '.join(known)}")
        values = {k: type(known[k])(v) for k, v in self.set.items()}
        return {"rows": self.rows, "seed": self.seed} | values


def n_queries(files):
    if files.kind == "dense":
        return len(load(files.queries))
    return len(load(existing(files.queries.with_name(files.queries.name + ".indptr.npy")))) - 1


def query_rows(files, purpose):
    """Returns disjoint ranges of queries for choosing parameters and for reporting, if there are enough queries."""
    n = n_queries(files)
    if purpose == "all" or n < 2000:
        return ""
    return "0:1000" if purpose == "tune" else "1000:2000"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["list", "info", "args"])
    parser.add_argument("name", nargs="?")
    parser.add_argument("--rows", type=int, default=100_000, help="of a generated set")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="parameter of a generator")
    parser.add_argument("--source", help="real rows for `jittered` and `jittered-tokens`, default arxiv-3k; texts for `lsa`, "
                                         "default arxiv-100k")
    parser.add_argument("--source-set", action="append", default=[], metavar="NAME=VALUE", help="parameter of a generated --source")
    parser.add_argument("--queries", choices=["report", "tune", "all"], default="report",
                        help="of 2,000 queries or more: rows 1000:2000, rows 0:1000, all")
    parser.add_argument("--cache")
    a = parser.parse_args()
    sets = catalog()
    if a.command == "list":
        width = max(map(len, sets))
        print("\n".join(f"{s.name:<{width}}  {s.title}" for s in sets.values()))
        return
    if a.name not in sets:
        parser.error(f"no data set `{a.name}`; one of {', '.join(sets)}")
    options = Options(a.cache, a.rows, a.seed, a.set, a.source, a.source_set)
    if a.command == "info":
        print(page(sets[a.name], options))
    else:
        files = sets[a.name].files(options)
        name = f"{a.name}-{a.rows}" if sets[a.name].generated else a.name
        print(shlex.join(files.flags(name, query_rows(files, a.queries))))


if __name__ == "__main__":
    main()
