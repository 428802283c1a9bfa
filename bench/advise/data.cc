#include "bench/advise/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <random>
#include <span>
#include <utility>

namespace quiver::bench::advise {
namespace {

Result<> check_values(const std::string& source, const dataset::Vectors& vectors) {
  const auto& values = vectors.batch.values;
  const auto bad = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
  if (bad == values.end()) return {};
  const auto at = static_cast<std::size_t>(bad - values.begin());
  return fail(Code::kInvalidArgument,
              fmt::format("{}: row {}: position {} is {}, wanted a finite number", source,
                          at / vectors.shape.dim, at % vectors.shape.dim, *bad));
}

Result<> check(const std::string& source, const dataset::Vectors& vectors) {
  if (vectors.n_rows() == 0 || vectors.shape.dim == 0) {
    return fail(Code::kInvalidArgument, fmt::format("{}: no rows", source));
  }
  if (vectors.n_rows() >= UINT32_MAX) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: {} rows, wanted fewer than {}; give a part of them", source,
                            vectors.n_rows(), UINT32_MAX));
  }
  return check_values(source, vectors);
}

Result<dataset::Vectors> load(const std::string& source) {
  QV_TRY(auto vectors, dataset::load_vectors(source, FieldKind::kDense));
  QV_TRY(check(source, vectors));
  return vectors;
}

dataset::Vectors take(const dataset::Vectors& vectors, std::span<const std::uint32_t> which) {
  dataset::Vectors taken{vectors.shape, {}};
  taken.shape.n_rows = which.size();
  taken.batch.n_rows = which.size();
  const std::size_t dim = vectors.shape.dim;
  for (const std::uint32_t row : which) {
    const auto values = std::span(vectors.batch.values).subspan(row * dim, dim);
    taken.batch.values.insert(taken.batch.values.end(), values.begin(), values.end());
  }
  return taken;
}

/// Makes queries of a tenth of the rows, and searches the others.
void hold_out(Data& data, std::uint64_t seed) {
  const auto held = sample_rows(data.rows, std::min(kMaxQueries, data.rows.size() / 10), seed);
  std::vector<std::uint32_t> left;
  std::ranges::set_difference(data.rows, held, std::back_inserter(left));
  data.queries = take(data.base, held);
  data.rows = std::move(left);
  data.held_out = true;
}

Result<> load_queries(Data& data, const std::string& source) {
  QV_TRY(const auto queries, load(source));
  if (queries.shape.dim != data.schema.dim) {
    return fail(Code::kInvalidArgument, fmt::format("{}: queries of {} dimensions, rows of {}",
                                                    source, queries.shape.dim, data.schema.dim));
  }
  data.queries = take_evenly(queries, kMaxQueries);
  return {};
}

}  // namespace

Result<Data> load_data(const std::string& base, std::optional<dataset::Vectors> rows,
                       const std::string& queries, Metric metric, std::size_t k,
                       std::uint64_t seed) {
  Data data;
  if (rows) {
    QV_TRY(check(base, *rows));
    data.base = std::move(*rows);
  } else {
    QV_TRY(data.base, load(base));
  }
  data.schema.dim = data.base.shape.dim;
  data.schema.metric = metric;
  data.rows.resize(data.base.n_rows());
  std::iota(data.rows.begin(), data.rows.end(), 0U);
  if (queries.empty()) {
    hold_out(data, seed);
  } else {
    QV_TRY(load_queries(data, queries));
  }
  if (data.rows.size() >= k && data.queries.n_rows() > 0) return data;
  const char* least = queries.empty() ? ", of which a tenth become queries" : "";
  return fail(Code::kInvalidArgument, fmt::format("{}: {} rows{}; wanted at least k = {} to search",
                                                  base, data.base.n_rows(), least, k));
}

std::vector<std::uint32_t> sample_rows(const std::vector<std::uint32_t>& rows, std::size_t n,
                                       std::uint64_t seed) {
  std::vector<std::uint32_t> sample;
  std::mt19937_64 random(seed);
  std::ranges::sample(rows, std::back_inserter(sample),
                      static_cast<std::ptrdiff_t>(std::min(n, rows.size())), random);
  return sample;
}

dataset::Vectors take_evenly(const dataset::Vectors& vectors, std::size_t most) {
  const std::size_t n = std::min(most, vectors.n_rows());
  std::vector<std::uint32_t> which(n);
  for (std::size_t i = 0; i < n; ++i) {
    which[i] = static_cast<std::uint32_t>(i * vectors.n_rows() / n);
  }
  return take(vectors, which);
}

}  // namespace quiver::bench::advise
