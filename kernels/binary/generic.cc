// Plain loops over bytes, counted eight at a time where there are eight.
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/levels.h"

namespace quiver::generic {
namespace {

#include "kernels/forms.inc"

struct Shape {
  using Query = std::uint8_t;
  using Score = std::uint32_t;
  static constexpr std::size_t kManyRows = 1;
  static constexpr std::size_t kGatherRows = 1;
  static constexpr std::size_t kGatherAhead = 4;
  static constexpr std::size_t kGatherBytes = 512;
  static constexpr std::size_t kTileQueries = 1;
  static constexpr std::size_t kTileRows = 1;
  static constexpr std::size_t kLongRow = kNeverLong;
  static std::size_t row_bytes(std::uint32_t dim) { return dim; }
};

inline std::uint64_t load(const void* from, std::size_t n_bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, n_bytes);
  return word;
}

template <class Combine>
std::uint32_t count(const std::uint8_t* q, const std::byte* r, std::size_t n, Combine combine) {
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < n; i += 8) {
    const std::size_t n_bytes = n - i < 8 ? n - i : 8;
    const std::uint64_t bits = combine(load(q + i, n_bytes), load(r + i, n_bytes));
    total += static_cast<std::uint32_t>(std::popcount(bits));
  }
  return total;
}

std::uint64_t bits_that_differ(std::uint64_t q, std::uint64_t r) { return q ^ r; }
std::uint64_t bits_in_both(std::uint64_t q, std::uint64_t r) { return q & r; }

template <std::uint64_t combine(std::uint64_t, std::uint64_t), std::size_t n_planes = 1>
struct BitCounts : Shape {
  template <std::size_t n_queries, std::size_t n_rows>
  static void score(const Query* query, std::size_t, std::size_t dim,
                    const std::byte* const (&rows)[n_rows], Score* out, std::size_t) {
    static_assert(n_queries == 1 && n_rows == 1);
    *out = 0;
    for (std::size_t p = 0; p < n_planes; ++p) {
      *out += count(query + p * dim, rows[0], dim, combine) << p;
    }
  }
};

#include "kernels/binary/estimates.inc"

using FourPlanes = BitCounts<bits_in_both, 4>;
using OnePlane = BitCounts<bits_in_both>;

void estimate_rows(const SignQueryView& query, const SignCodes& codes, const std::uint32_t* ids,
                   std::size_t n, float* out) {
  estimate_by<FourPlanes, OnePlane>(query, codes, ids, n, out);
}

}  // namespace

constinit const BinaryKernels kBinaryKernels = {kForms<BitCounts<bits_that_differ>>,
                                                kForms<BitCounts<bits_in_both>>, kForms<FourPlanes>,
                                                estimate_rows};

}  // namespace quiver::generic
