// One document token against the 16 query tokens of a block at a time, dimensions in order.
#include <cstring>
#include <limits>

#include "kernels/levels.h"
#include "kernels/stored.h"

namespace quiver::generic {
namespace {

#include "kernels/maxsim/prepare.inc"

template <class Term, class Stored>
void raise_best(const float* block, std::uint32_t dim, const std::byte* token, float* best) {
  float sums[kBlock] = {};
  for (std::size_t d = 0; d < dim; ++d) {
    const float value = Stored::at(token, d);
    for (std::size_t lane = 0; lane < kBlock; ++lane) {
      sums[lane] = Term::add(sums[lane], block[d * kBlock + lane], value);
    }
  }
  for (std::size_t lane = 0; lane < kBlock; ++lane) {
    const float similarity = Term::finish(sums[lane]);
    best[lane] = similarity > best[lane] ? similarity : best[lane];
  }
}

template <class Term, class Stored>
float score(const float* prepared, std::size_t n_query, std::uint32_t dim, const std::byte* doc,
            std::size_t stride_bytes, std::size_t n_doc) {
  double total = 0.0;
  for (std::size_t first = 0; first < n_query; first += kBlock) {
    float best[kBlock];
    for (float& b : best) b = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < n_doc; ++i) {
      raise_best<Term, Stored>(prepared + first * dim, dim, doc + i * stride_bytes, best);
    }
    for (std::size_t lane = 0; lane < kBlock && first + lane < n_query; ++lane) total += best[lane];
  }
  return static_cast<float>(total);
}

std::int32_t dot_of_codes(const std::int8_t* lane, std::uint32_t dim, const std::byte* token) {
  std::int32_t start;
  std::memcpy(&start, lane, sizeof start);
  std::int32_t sum = start;
  for (std::size_t d = 0; d < dim; ++d) {
    sum += lane[(1 + d / 4) * 4 * kBlock + d % 4] * std::to_integer<std::int32_t>(token[d]);
  }
  return sum;
}

std::int64_t score_codes(const std::int8_t* prepared, std::size_t n_query, std::uint32_t dim,
                         const std::byte* doc, std::size_t stride_bytes, std::size_t n_doc) {
  const std::size_t block_bytes = MaxSimKernels::prepared_codes(1, dim);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < n_query; ++i) {
    const std::int8_t* lane = prepared + i / kBlock * block_bytes + i % kBlock * 4;
    std::int32_t best = INT32_MIN;
    for (std::size_t j = 0; j < n_doc; ++j) {
      const std::int32_t dot = dot_of_codes(lane, dim, doc + j * stride_bytes);
      best = dot > best ? dot : best;
    }
    total += best;
  }
  return total;
}

}  // namespace

constinit const MaxSimKernels kMaxSimKernels = {
    prepare,
    {
        {score<DotTerm, StoredF32>, score<DotTerm, StoredF16>, score<DotTerm, StoredU8>},
        {score<L2Term, StoredF32>, score<L2Term, StoredF16>, score<L2Term, StoredU8>},
        {score<L1Term, StoredF32>, score<L1Term, StoredF16>, score<L1Term, StoredU8>},
    },
    prepare_codes,
    score_codes};

}  // namespace quiver::generic
