// Codes of one bit a dimension: 64 bytes of a code are compared with the query, counted by one
// vpopcntq and added in 64-bit lanes. The query is read from L1, once for four codes.
//
// vpopcntq zmm: latency 2 on Zen 4, 3 on Golden Cove, one per cycle on both. A pass takes four
// codes: it has four chains of additions, and one transposition adds the lanes of all four. Codes
// of more than 256 bytes go one after the other: see bytes/avx512.cc. A query of 4-bit values is
// four planes, each with its own count: 4 x 4 counts a pass.
//
// Measured on Zen 4 (family 25, model 17), g++ 12.2, by dense_bench, one thread, medians, ns per
// (query, code) of 1,024 bits. From L2: 1.3-1.4 (79-86 % of its bandwidth), gathered 2.0, tiles of
// eight 1.6; 4-bit query 6.2 (35 % of the counts a cycle), tiles 5.2. A million codes from memory:
// 6.3-7 (all of the bandwidth), tiles 1.7.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>
#include <limits>
#include <utility>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

#include "kernels/forms.inc"
#include "kernels/unroll.inc"

struct Shape {
  static constexpr std::size_t kManyRows = 4;
  static constexpr std::size_t kGatherRows = 4;
  static constexpr std::size_t kGatherAhead = 8;
  static constexpr std::size_t kGatherBytes = 512;
  static constexpr std::size_t kTileQueries = 4;
  static constexpr std::size_t kTileRows = 4;
  static constexpr std::size_t kLongRow = 257;
};

#include "kernels/avx512_bytes.inc"

#include "kernels/byte_rows.inc"

using Codes = Plain<std::uint8_t, std::uint32_t>;

struct Hamming : Codes {
  static V add(V sum, V q, V r) {
    return _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_xor_si512(q, r)));
  }
};

inline __m512i count_common(__m512i q, __m512i r) {
  return _mm512_popcnt_epi64(_mm512_and_si512(q, r));
}

struct Common : Codes {
  static V add(V sum, V q, V r) { return _mm512_add_epi64(sum, count_common(q, r)); }
};

// Counts of one plane times 2^plane.
template <int plane>
struct Plane : Codes {
  static V add(V sum, V q, V r) {
    return _mm512_add_epi64(sum, _mm512_slli_epi64(count_common(q, r), plane));
  }
};

#include "kernels/binary/planes.inc"

#include "kernels/binary/estimates.inc"

template <std::size_t n_planes>
struct Planes {
  static constexpr std::size_t kPlanes = n_planes;
  const std::uint8_t* planes;
};

// Sum over the planes of 2^plane times the bits that row and plane share, in 64-bit lanes.
template <class Query>
inline __m512i weighted_counts(const Query& query, std::size_t stride, const std::byte* row) {
  __m512i sum = _mm512_setzero_si512();
  for (std::size_t i = 0; i < stride; i += 64) {
    const __mmask64 here = stride - i >= 64 ? ~std::uint64_t{0} : first_bytes(stride - i);
    const __m512i bits = _mm512_maskz_loadu_epi8(here, row + i);
    __m512i counts = _mm512_setzero_si512();
    unrolled<Query::kPlanes>([&](auto step) QV_INLINE_LAMBDA {
      const auto* from = query.planes + (Query::kPlanes - 1 - step) * stride + i;
      const __m512i plane = _mm512_maskz_loadu_epi8(here, from);
      counts = _mm512_add_epi64(_mm512_add_epi64(counts, counts), count_common(plane, bits));
    });
    sum = _mm512_add_epi64(sum, counts);
  }
  return sum;
}

template <class Query>
inline __m128i dots_of_four(const Query& query, std::size_t stride,
                            const std::byte* const (&rows)[4]) {
  return sum_lanes_of_four(
      weighted_counts(query, stride, rows[0]), weighted_counts(query, stride, rows[1]),
      weighted_counts(query, stride, rows[2]), weighted_counts(query, stride, rows[3]));
}

#include "kernels/binary/fours.inc"

void estimate_rows(const SignQueryView& query, const SignCodes& codes, const std::uint32_t* ids,
                   std::size_t n, float* out) {
  if (query.n_planes == 1) {
    return estimate_by_fours(Planes<1>{query.planes}, query, codes, ids, n, out);
  }
  estimate_by_fours(Planes<4>{query.planes}, query, codes, ids, n, out);
}

}  // namespace

constinit const BinaryKernels kBinaryKernels = {kForms<ByteSums<Hamming>>, kForms<ByteSums<Common>>,
                                                kForms<BitPlanes>, estimate_rows};

}  // namespace quiver::avx512
QV_TARGET_END
#endif
