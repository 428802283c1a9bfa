#include "encoders/mean_encoder.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace quiver::encoders {
namespace {

/// `[dim]`, valid until the next call of this thread.
std::span<const double> sum_of(const TokenSet& set, std::uint32_t dim) {
  thread_local std::vector<double> sums;
  sums.assign(dim, 0.0);
  for (std::size_t i = 0; i < set.n; ++i) {
    const float* token = set.values + i * dim;
    for (std::size_t d = 0; d < dim; ++d) sums[d] += double{token[d]};
  }
  return sums;
}

void write(std::span<const double> sums, double factor, float* out) {
  std::transform(sums.begin(), sums.end(), out,
                 [factor](double sum) { return static_cast<float>(sum * factor); });
}

}  // namespace

void MeanEncoder::encode_documents(std::span<const TokenSet> documents, float* out) const {
  for (const TokenSet& document : documents) {
    const std::span<const double> sums = sum_of(document, dim());
    double squares = 0;
    for (double sum : sums) squares += sum * sum;
    write(sums, squares > 0 ? 1.0 / std::sqrt(squares) : 0.0, out);
    out += dim();
  }
}

void MeanEncoder::encode_query(const TokenSet& query, float* out) const {
  write(sum_of(query, dim()), 1.0, out);
}

}  // namespace quiver::encoders
