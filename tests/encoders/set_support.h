// Token sets for the tests of their encoders.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "encoders/set_encoder.h"
#include "tests/encoders/support.h"

namespace quiver::testing {

/// Tokens `[n, dim]`, and their view for encoders.
struct Tokens {
  std::uint32_t dim = 0;
  std::vector<float> values;

  [[nodiscard]] std::size_t n() const { return values.size() / dim; }
  [[nodiscard]] const float* operator[](std::size_t i) const { return values.data() + i * dim; }
  [[nodiscard]] encoders::TokenSet set() const { return {values.data(), n()}; }
};

inline Tokens unit_tokens(std::size_t n, std::uint32_t dim, std::mt19937& random) {
  Tokens tokens{dim, {}};
  for (std::size_t i = 0; i < n; ++i) {
    const auto token = normal_vector(dim, random);
    const double length = norm(token);
    for (float value : token) tokens.values.push_back(static_cast<float>(value / length));
  }
  return tokens;
}

inline Tokens joined(const Tokens& a, const Tokens& b) {
  Tokens both = a;
  both.values.insert(both.values.end(), b.values.begin(), b.values.end());
  return both;
}

inline Tokens scaled(const Tokens& tokens, float factor) {
  Tokens out = tokens;
  for (float& value : out.values) value *= factor;
  return out;
}

inline Tokens reversed(const Tokens& tokens) {
  Tokens out{tokens.dim, {}};
  for (std::size_t i = tokens.n(); i-- > 0;) {
    out.values.insert(out.values.end(), tokens[i], tokens[i] + tokens.dim);
  }
  return out;
}

inline double product(const float* a, const float* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += double{a[i]} * b[i];
  return sum;
}

inline double max_sim(const Tokens& query, const Tokens& document) {
  double total = 0;
  for (std::size_t q = 0; q < query.n(); ++q) {
    double best = -1e30;
    for (std::size_t p = 0; p < document.n(); ++p) {
      best = std::max(best, product(query[q], document[p], query.dim));
    }
    total += best;
  }
  return total;
}

inline std::vector<float> document_vector(const encoders::SetEncoder& encoder,
                                          const Tokens& tokens) {
  std::vector<float> out(encoder.dim(), -1.0f);
  const encoders::TokenSet set = tokens.set();
  encoder.encode_documents({&set, 1}, out.data());
  return out;
}

inline std::vector<float> query_vector(const encoders::SetEncoder& encoder, const Tokens& tokens) {
  std::vector<float> out(encoder.dim(), -1.0f);
  encoder.encode_query(tokens.set(), out.data());
  return out;
}

/// max |a[i] - b[i]| / max |b[i]|
inline double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0, largest = 1e-30;
  for (std::size_t i = 0; i < b.size(); ++i) {
    most = std::max(most, std::abs(double{a[i]} - b[i]));
    largest = std::max(largest, std::abs(double{b[i]}));
  }
  return most / largest;
}

}  // namespace quiver::testing
