// Plain loops over 16 partial sums: the reference for the other levels and the fallback.
#include <type_traits>

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

template <class Value>
float query_value(Value value) {
  if constexpr (std::is_same_v<Value, std::uint16_t>) return bf16_to_float(value);
  return static_cast<float>(value);
}

#include "kernels/forms.inc"

template <class Term, class Stored, std::size_t n_bytes, class QueryValue = float>
struct Dense {
  using Query = QueryValue;
  using Score = float;
  static constexpr std::size_t kManyRows = 1;
  static constexpr std::size_t kGatherRows = 1;
  static constexpr std::size_t kGatherAhead = 4;
  static constexpr std::size_t kGatherBytes = 512;
  static constexpr std::size_t kTileQueries = 1;
  static constexpr std::size_t kTileRows = 1;
  static constexpr std::size_t kLongRow = kNeverLong;
  static std::size_t row_bytes(std::uint32_t dim) { return std::size_t{dim} * n_bytes; }

  template <std::size_t n_queries, std::size_t n_rows>
  static void score(const Query* query, std::size_t, std::size_t dim,
                    const std::byte* const (&rows)[n_rows], float* out, std::size_t) {
    static_assert(n_queries == 1 && n_rows == 1);
    float sums[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= dim; i += kLanes) {
      for (std::size_t j = 0; j < kLanes; ++j) {
        sums[j] = Term::add(sums[j], query_value(query[i + j]), Stored::at(rows[0], i + j));
      }
    }
    for (std::size_t j = 0; i < dim; ++i, ++j) {
      sums[j] = Term::add(sums[j], query_value(query[i]), Stored::at(rows[0], i));
    }
    *out = Term::finish(sum_lanes(sums));
  }
};

template <class Term>
constexpr DenseKernels kF32 = kForms<Dense<Term, StoredF32, 4>>;
template <class Term>
constexpr DenseKernels kF16 = kForms<Dense<Term, StoredF16, 2>>;
template <class Term>
constexpr DenseKernels kU8 = kForms<Dense<Term, StoredU8, 1>>;
template <class Term>
constexpr DenseKernels kI8 = kForms<Dense<Term, StoredI8, 1>>;
template <class Term>
constexpr DenseKernels kBf16 = kForms<Dense<Term, StoredBf16, 2>>;

}  // namespace

constinit const DenseFamily kDenseFamily = {
    {
        {kF32<DotTerm>, kF16<DotTerm>, kU8<DotTerm>, kI8<DotTerm>, kBf16<DotTerm>},
        {kF32<L2Term>, kF16<L2Term>, kU8<L2Term>, kI8<L2Term>, kBf16<L2Term>},
        {kF32<L1Term>, kF16<L1Term>, kU8<L1Term>, kI8<L1Term>, kBf16<L1Term>},
    },
    kForms<Dense<DotTerm, StoredBf16, 2, std::uint16_t>>};

}  // namespace quiver::generic
