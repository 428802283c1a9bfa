#include "index/multi/tokens/token_source.h"

#include <algorithm>

#include "index/stored_rows.h"

namespace quiver::index::multi {

namespace {

std::vector<std::uint64_t> ascending_copy(std::span<const std::uint64_t> offsets) {
  std::vector<std::uint64_t> copy(offsets.begin(), offsets.end());
  for (std::size_t i = 1; i < copy.size(); ++i) copy[i] = std::max(copy[i - 1], copy[i]);
  return copy;
}

}  // namespace

// Rows of other types were stored at unit length.
TokenSource::TokenSource(const FieldColumn& column)
    : tokens_(column.multi().tokens),
      offsets_(ascending_copy(column.multi().offsets.span())),
      n_present_(column.n_present),
      normalise_(is_scaled_to_compare(column.schema)) {}

double TokenSource::tokens_per_row() const {
  return static_cast<double>(n_tokens()) / std::max(1.0, static_cast<double>(n_present_));
}

void TokenSource::read(std::uint64_t token, float* out) const {
  to_floats(tokens_.bytes.data() + token * tokens_.stride(), tokens_.dtype, tokens_.dim, out);
  if (normalise_) to_unit_length(out, tokens_.dim);
}

TokenSets::TokenSets(const TokenSource& tokens, std::span<const std::uint32_t> rows) {
  std::uint64_t n_tokens = 0;
  for (const std::uint32_t row : rows) n_tokens += tokens.n_tokens(row);
  values_.resize(n_tokens * tokens.dim());
  sets_.reserve(rows.size());
  float* out = values_.data();
  for (const std::uint32_t row : rows) {
    const std::size_t n = tokens.n_tokens(row);
    sets_.push_back({out, n});
    for (std::size_t t = 0; t < n; ++t, out += tokens.dim()) {
      tokens.read(tokens.offsets()[row] + t, out);
    }
  }
}

std::span<const std::uint32_t> first_rows(const TokenSource& tokens,
                                          std::span<const std::uint32_t> rows,
                                          std::uint64_t max_tokens) {
  std::uint64_t n_tokens = 0;
  std::size_t n = 0;
  while (n < rows.size()) {
    n_tokens += tokens.n_tokens(rows[n]);
    if (n > 0 && n_tokens > max_tokens) break;
    ++n;
  }
  return rows.first(n);
}

}  // namespace quiver::index::multi
