// The two directions in which vectors differ most (principal components), by power iteration.

const kIterations = 60;
const kEnough = 1e-5;

function normalize(vector) {
  let length = 0;
  for (const value of vector) length += value * value;
  length = Math.sqrt(length);
  if (length > 0) { for (let i = 0; i < vector.length; ++i) vector[i] /= length; }
  return length;
}

function meanOf(rows, n, dim) {
  const mean = new Float64Array(dim);
  for (let row = 0; row < n; ++row) for (let i = 0; i < dim; ++i) mean[i] += rows[row * dim + i];
  for (let i = 0; i < dim; ++i) mean[i] /= n;
  return mean;
}

/** Removes from `vector` what lies along `direction`, of length 1. */
function removeAlong(vector, direction) {
  let along = 0;
  for (let i = 0; i < vector.length; ++i) along += vector[i] * direction[i];
  for (let i = 0; i < vector.length; ++i) vector[i] -= along * direction[i];
}

/** The covariance of the centred rows times `vector`, without making the covariance. */
function timesCovariance(rows, n, mean, vector) {
  const dim = vector.length;
  const out = new Float64Array(dim);
  for (let row = 0; row < n; ++row) {
    const at = row * dim;
    let dot = 0;
    for (let i = 0; i < dim; ++i) dot += (rows[at + i] - mean[i]) * vector[i];
    for (let i = 0; i < dim; ++i) out[i] += dot * (rows[at + i] - mean[i]);
  }
  return out;
}

function leadingDirection(rows, n, mean, found) {
  const dim = mean.length;
  let vector = Float64Array.from({ length: dim }, (_, i) => Math.sin(1 + i * (1.7 + found.length)));
  normalize(vector);
  for (let iteration = 0; iteration < kIterations; ++iteration) {
    const next = timesCovariance(rows, n, mean, vector);
    for (const direction of found) removeAlong(next, direction);
    if (normalize(next) === 0) return next;
    let change = 0;
    for (let i = 0; i < dim; ++i) change += (next[i] - vector[i]) ** 2;
    vector = next;
    if (change < kEnough * kEnough) break;
  }
  return vector;
}

/** Fits n rows of `dim` numbers: {mean, directions}, two directions of length 1 (or 0, if rows do not differ there). */
export function fitPca(rows, n, dim) {
  const mean = meanOf(rows, n, dim);
  const first = leadingDirection(rows, n, mean, []);
  return { mean, directions: [first, leadingDirection(rows, n, mean, [first])] };
}

/** The coordinates of n rows: x, y, x, y, … */
export function project({ mean, directions }, rows, n) {
  const dim = mean.length;
  const out = new Float32Array(2 * n);
  for (let row = 0; row < n; ++row) {
    for (let axis = 0; axis < 2; ++axis) {
      let sum = 0;
      for (let i = 0; i < dim; ++i) sum += (rows[row * dim + i] - mean[i]) * directions[axis][i];
      out[2 * row + axis] = sum;
    }
  }
  return out;
}
