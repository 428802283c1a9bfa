#include "index/sparse/rows/coded_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quiver::index::sparse {
namespace {

/// Slightly above largest / 255, so that rounding never makes a code too small.
float scale_of(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  if (largest == 0) return 1;
  // A denormal scale could be flushed to zero.
  return std::max(std::numeric_limits<float>::min(), largest / kLargestCode * (1 + 1e-6F));
}

}  // namespace

CodedRows::CodedRows(const SparseColumn& column, std::uint32_t n_rows, const TermMap& terms,
                     std::uint32_t n_strongest)
    : n_rows_(n_rows),
      n_terms_(terms.size()),
      scale_(scale_of(column.values.span())),
      offsets_(column.offsets.begin(), column.offsets.end()) {
  for (std::size_t i = 1; i < offsets_.size(); ++i) {
    offsets_[i] = std::max(offsets_[i - 1], offsets_[i]);
  }
  terms_.resize(column.values.size());
  codes_.resize(column.values.size());
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const float value = column.values[i];
    terms_[i] = terms.at(TermMap::key_of(column.indices[i], value));
    const float code = std::ceil(std::abs(value) / scale_);
    codes_[i] = static_cast<std::uint8_t>(std::min(code, kLargestCode));
  }
  find_strongest(n_strongest);
}

void CodedRows::find_strongest(std::uint32_t n_strongest) {
  strong_offsets_.push_back(0);
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < n_rows_; ++i) {
    const Row all = row(i);
    order.resize(all.codes.size());
    for (std::uint32_t j = 0; j < order.size(); ++j) order[j] = j;
    const std::size_t n = std::min<std::size_t>(n_strongest, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                      [&](std::uint32_t a, std::uint32_t b) {
                        return all.codes[a] != all.codes[b] ? all.codes[a] > all.codes[b] : a < b;
                      });
    for (std::size_t j = 0; j < n; ++j) {
      strong_terms_.push_back(all.terms[order[j]]);
      strong_codes_.push_back(all.codes[order[j]]);
    }
    strong_offsets_.push_back(strong_terms_.size());
  }
}

}  // namespace quiver::index::sparse
