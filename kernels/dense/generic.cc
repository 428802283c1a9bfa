// Plain loops over 16 partial sums: the reference for the other levels and the fallback.
#include "kernels/levels.h"
#include "kernels/stored.h"

namespace quiver::generic {
namespace {

constexpr std::size_t kLanes = 16;

float sum_lanes(float (&sums)[kLanes]) {
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
  }
  return sums[0];
}

template <class Term, class Stored>
float one(const float* query, std::uint32_t dim, const std::byte* row) {
  float sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= dim; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      sums[j] = Term::add(sums[j], query[i + j], Stored::at(row, i + j));
    }
  }
  for (std::size_t j = 0; i < dim; ++i, ++j) {
    sums[j] = Term::add(sums[j], query[i], Stored::at(row, i));
  }
  return Term::finish(sum_lanes(sums));
}

template <class Term, class Stored>
void many(const float* query, std::uint32_t dim, const std::byte* rows, std::size_t stride_bytes,
          std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = one<Term, Stored>(query, dim, rows + i * stride_bytes);
  }
}

template <class Term, class Stored>
void gather(const float* query, std::uint32_t dim, const std::byte* base, std::size_t stride_bytes,
            const std::uint32_t* ids, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = one<Term, Stored>(query, dim, base + ids[i] * stride_bytes);
  }
}

template <class Term, class Stored>
constexpr DenseKernels kEntry = {one<Term, Stored>, many<Term, Stored>, gather<Term, Stored>};

}  // namespace

constinit const DenseFamily kDenseFamily = {{
    {kEntry<DotTerm, StoredF32>, kEntry<DotTerm, StoredF16>, kEntry<DotTerm, StoredU8>},
    {kEntry<L2Term, StoredF32>, kEntry<L2Term, StoredF16>, kEntry<L2Term, StoredU8>},
    {kEntry<L1Term, StoredF32>, kEntry<L1Term, StoredF16>, kEntry<L1Term, StoredU8>},
}};

}  // namespace quiver::generic
