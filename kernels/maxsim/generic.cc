// One document token against the 16 query tokens of a block at a time, dimensions in order.
#include <limits>

#include "kernels/levels.h"
#include "kernels/stored.h"

namespace quiver::generic {
namespace {

constexpr std::size_t kLanes = 16;

void prepare(const float* tokens, std::size_t n_query, std::uint32_t dim, std::size_t stride_floats,
             float* prepared) {
  for (std::size_t first = 0; first < n_query; first += kLanes) {
    for (std::size_t d = 0; d < dim; ++d) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::size_t token = first + lane;
        *prepared++ = token < n_query ? tokens[token * stride_floats + d] : 0.0f;
      }
    }
  }
}

template <class Term, class Stored>
void raise_best(const float* block, std::uint32_t dim, const std::byte* token, float* best) {
  float sums[kLanes] = {};
  for (std::size_t d = 0; d < dim; ++d) {
    const float value = Stored::at(token, d);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] = Term::add(sums[lane], block[d * kLanes + lane], value);
    }
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const float similarity = Term::finish(sums[lane]);
    best[lane] = similarity > best[lane] ? similarity : best[lane];
  }
}

template <class Term, class Stored>
float score(const float* prepared, std::size_t n_query, std::uint32_t dim, const std::byte* doc,
            std::size_t stride_bytes, std::size_t n_doc) {
  double total = 0.0;
  for (std::size_t first = 0; first < n_query; first += kLanes) {
    float best[kLanes];
    for (float& b : best) b = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < n_doc; ++i) {
      raise_best<Term, Stored>(prepared + first * dim, dim, doc + i * stride_bytes, best);
    }
    for (std::size_t lane = 0; lane < kLanes && first + lane < n_query; ++lane) total += best[lane];
  }
  return static_cast<float>(total);
}

}  // namespace

constinit const MaxSimKernels kMaxSimKernels = {
    prepare,
    {
        {score<DotTerm, StoredF32>, score<DotTerm, StoredF16>, score<DotTerm, StoredU8>},
        {score<L2Term, StoredF32>, score<L2Term, StoredF16>, score<L2Term, StoredU8>},
        {score<L1Term, StoredF32>, score<L1Term, StoredF16>, score<L1Term, StoredU8>},
    }};

}  // namespace quiver::generic
