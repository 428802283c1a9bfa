#include "gpu/product_job.h"

#include <algorithm>
#include <cstring>

namespace quiver::gpu {
namespace {

constexpr std::uint64_t kMaxPairs = 4 << 20;

struct ProductPlaces {
  std::int8_t* queries;
  std::uint32_t* rows;
  std::uint32_t* query_of;
  std::int32_t* products;
};

ProductPlaces product_places(Pieces& pieces, std::uint64_t query_bytes, std::uint64_t n_pairs) {
  return {pieces.take<std::int8_t>(query_bytes), pieces.take<std::uint32_t>(n_pairs),
          pieces.take<std::uint32_t>(n_pairs), pieces.take<std::int32_t>(n_pairs)};
}

/// Values of a row, with those that are padding.
std::size_t values_of_row(const ByteCodes& codes) {
  return std::size_t{codes.stride} * 8 / codes.n_bits;
}

}  // namespace

std::size_t ProductJob::n_together(const ByteCodes& /*codes*/,
                                   std::span<const ProductQuery> queries,
                                   std::span<const std::size_t> numbers) {
  return n_within(numbers, kMaxPairs, [&](std::size_t i) { return queries[i].rows.size(); });
}

bool ProductJob::is_too_large(const ByteCodes& /*codes*/, const ProductQuery& query) {
  return query.rows.size() > kMaxPairs;
}

bool ProductJob::write(Lane& lane, const Part& part) {
  const std::size_t n_values = values_of_row(codes_);
  std::uint64_t n_pairs = 0;
  for (const std::size_t i : numbers_) n_pairs += queries_[i].rows.size();
  Pieces size(nullptr);
  product_places(size, numbers_.size() * n_values, n_pairs);
  std::byte* const memory = lane.memory(size.used());
  if (memory == nullptr) return false;
  Pieces pieces(memory);
  const ProductPlaces at = product_places(pieces, numbers_.size() * n_values, n_pairs);
  std::uint32_t pair = 0;
  for (std::uint32_t i = 0; i < numbers_.size(); ++i) {
    const ProductQuery& query = queries_[numbers_[i]];
    std::int8_t* const values = at.queries + i * n_values;
    std::ranges::copy(query.values, values);
    std::fill(values + query.values.size(), values + n_values, std::int8_t{0});
    std::ranges::copy(query.rows, at.rows + pair);
    std::fill_n(at.query_of + pair, query.rows.size(), i);
    pair += static_cast<std::uint32_t>(query.rows.size());
  }
  job_ = {.size = sizeof job_,
          .n_queries = static_cast<std::uint32_t>(numbers_.size()),
          .part = part.handle(),
          .queries = at.queries,
          .rows = at.rows,
          .query_of = at.query_of,
          .n_pairs = pair,
          .products = at.products};
  return true;
}

std::size_t ProductJob::read(Products& answers) const {
  const std::int32_t* next = job_.products;
  for (const std::size_t i : numbers_) {
    const std::size_t n = queries_[i].rows.size();
    answers[i] = std::vector<std::int32_t>(next, next + n);
    next += n;
  }
  return numbers_.size();
}

}  // namespace quiver::gpu
