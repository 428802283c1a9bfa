#!/usr/bin/env python3
"""OSQ step by step, slowly and plainly, from the published algorithm: the golden numbers of osq_test.cc.

Each step takes what the step before gave, so a mistake shows where it was made. Numbers are f32 where the index has
f32. Every line of the file is `name count value value …`.

usage: osq_reference.py FILE           writes the file
       osq_reference.py --check FILE   exits with 1 if the file has other numbers
"""
import pathlib
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)  # skipped

ROWS, DIM, BUDGET = 60, 7, 30
LLOYD_TOLERANCE, LLOYD_ROUNDS = 0.005, 250


def make_rows():
    """Correlated rows, from arithmetic alone. Dimension 4 is constant."""
    state, rows = 1, []
    for i in range(ROWS):
        row = []
        for _ in range(DIM):
            state = (state * 1664525 + 1013904223) % 2**32
            row.append((state >> 16) % 1000 / 1000 - 0.5)
        row[1] += 3 * row[0]
        row[2] += 2 * row[1] + (i % 3)
        row[4] = 0.25
        row[6] *= 0.01
        rows.append(row)
    return np.array(rows, dtype=np.float32)


def klt(rows):
    """Mean, directions as rows (the largest coordinate positive) and variances, descending."""
    mean = rows.astype(np.float64).mean(axis=0).astype(np.float32)
    centred = (rows - mean).astype(np.float64)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(rows))
    order = [i for i in np.argsort(-values) if values[i] > 1e-9 * values.max()]
    directions = []
    for i in order:
        direction = vectors[:, i]
        directions.append(direction * np.sign(direction[np.argmax(np.abs(direction))]))
    return mean, np.array(directions, dtype=np.float32), values[order]


def allocate(variances, budget):
    error, bits = np.array(variances, dtype=np.float64), [0] * len(variances)
    for _ in range(budget):
        j = int(np.argmax(error))
        bits[j] += 1
        error[j] = 0 if bits[j] == 8 else error[j] / 4
    return bits


def lloyd(values, cells):
    """Limits of the cells of one dimension: equal population, then Lloyd."""
    values = values.astype(np.float64)
    limits = np.array([np.quantile(values, i / cells) for i in range(cells + 1)])

    def means():
        found, error = [], 0.0
        for c in range(cells):
            last = c == cells - 1
            inside = values[(c == 0) | (values >= limits[c])]
            inside = inside if last else inside[inside < limits[c + 1]]
            mean = inside.mean() if len(inside) else (limits[c] + limits[c + 1]) / 2
            found.append(mean)
            error += ((inside - mean) ** 2).sum()
        return found, error

    found, error = means()
    for _ in range(LLOYD_ROUNDS if cells > 1 else 0):
        for c in range(1, cells):
            limits[c] = (found[c - 1] + found[c]) / 2
        found, after = means()
        done = error - after <= LLOYD_TOLERANCE * error
        error = after
        if done:
            break
    return limits.astype(np.float32)


def code(limits, value):
    return sum(1 for limit in limits[1:-1] if limit <= value)


def pack(codes, bits):
    """One string of bits, highest first, cut into bytes."""
    text = "".join(format(c, "b").zfill(b) if b else "" for c, b in zip(codes, bits))
    text += "0" * (-len(text) % 8)
    return [int(text[i:i + 8], 2) for i in range(0, len(text), 8)]


def bounds(query, limits, metric):
    """The least and the largest cost of a coordinate, for each cell."""
    low, high = [], []
    for left, right in zip(limits[:-1].astype(np.float64), limits[1:].astype(np.float64)):
        if metric == "dot":
            ends = [-query * left, -query * right]
            low.append(min(ends)), high.append(max(ends))
        else:
            ends = [(query - left) ** 2, (query - right) ** 2]
            low.append(0.0 if left <= query <= right else min(ends)), high.append(max(ends))
    return low, high


def straddles():
    """Codes of every width from 0 to 8 at many offsets."""
    bits = [3, 8, 8, 0, 1, 7, 5, 5, 5, 2, 8, 6, 4, 7, 7, 0, 0, 3, 8, 1]
    state, rows = 7, []
    for _ in range(5):
        row = []
        for b in bits:
            state = (state * 1664525 + 1013904223) % 2**32
            row.append((state >> 16) % 2**b)
        rows.append(row)
    rows.append([2**b - 1 for b in bits])
    return bits, rows


def golden():
    rows = make_rows()
    mean, directions, variances = klt(rows)
    y = ((rows - mean).astype(np.float64) @ directions.astype(np.float64).T).astype(np.float32)
    bits = allocate(variances, BUDGET)
    limits = [lloyd(np.sort(y[:, j]), 2 ** b) for j, b in enumerate(bits)]
    codes = [[code(limits[j], row[j]) for j in range(len(bits))] for row in y]
    query = y[5] * np.float32(0.5) + np.float32(0.125)
    out = {"rows": rows.ravel(), "mean": mean, "directions": directions.ravel(), "variances": variances,
           "coordinates": y.ravel(), "bits": bits, "limits": np.concatenate(limits),
           "codes": np.array(codes).ravel(), "packed": np.array([pack(c, bits) for c in codes]).ravel(),
           "signs": np.packbits(y > 0, axis=1, bitorder="little").ravel(), "query": query}
    for metric in ["euclid", "dot"]:
        tables = [bounds(float(query[j]), limits[j], metric) for j in range(len(bits))]
        for end, name in enumerate(["lower", "upper"]):
            out[f"{metric}_{name}"] = [sum(tables[j][end][c] for j, c in enumerate(row)) for row in codes]
    wide = np.sort(np.sin(np.arange(4000, dtype=np.float64) ** 1.5)).astype(np.float32)
    out["wide_values"], out["wide_limits"] = wide[::8], lloyd(wide[::8], 256)
    out["narrow_limits"] = lloyd(wide[::8], 255)
    out["straddle_bits"], straddle_rows = straddles()
    out["straddle_codes"] = np.array(straddle_rows).ravel()
    out["straddle_packed"] = np.array([pack(r, out["straddle_bits"]) for r in straddle_rows]).ravel()
    return out


def text_of(numbers):
    lines = []
    for name, values in numbers.items():
        values = np.asarray(values)
        one = (lambda v: str(int(v))) if values.dtype.kind in "iu" else (lambda v: repr(float(v)))
        lines.append(f"{name} {len(values)} " + " ".join(one(v) for v in values))
    return "\n".join(lines) + "\n"


def is_near(found, wanted):
    """True if both have the same names and counts, and numbers that differ by rounding at most."""
    found, wanted = (dict((line.split()[0], np.array(line.split()[2:], dtype=float)) for line in text.splitlines())
                     for text in (found, wanted))
    return found.keys() == wanted.keys() and all(
        len(found[name]) == len(wanted[name]) and np.allclose(found[name], wanted[name], rtol=1e-5, atol=1e-6)
        for name in found)


def main(arguments):
    file = pathlib.Path(arguments[-1])
    if arguments[0] != "--check":
        file.write_text(text_of(golden()))
    elif not is_near(file.read_text(), text_of(golden())):
        sys.exit(f"{file}: other numbers than the reference has")


if __name__ == "__main__":
    main(sys.argv[1:])
