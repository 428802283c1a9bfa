// Codes of one bit a dimension. Two vpshufb look up the counts of the halves of each byte, and one
// vpsadbw adds them into four 64-bit lanes.
//
// vpshufb ymm: latency 1 (Zen 4: 2), two per cycle on Zen 4 and Golden Cove; vpsadbw: latency 3,
// two per cycle on Zen 4, one on Golden Cove. Two codes a pass share the load of the query; each
// has one chain of additions. Tiles are two by two.
//
// Measured on Zen 4 (family 25, model 17), g++ 12.2, by dense_bench, one thread, medians, ns per
// (query, code) of 1,024 bits, from L2: 3.6, gathered 4.4, tiles of eight 3.9; 4-bit query 14.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>
#include <limits>
#include <utility>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

#include "kernels/forms.inc"
#include "kernels/unroll.inc"

struct Shape {
  static constexpr std::size_t kManyRows = 2;
  static constexpr std::size_t kGatherRows = 2;
  static constexpr std::size_t kGatherAhead = 8;
  static constexpr std::size_t kGatherBytes = 512;
  static constexpr std::size_t kTileQueries = 2;
  static constexpr std::size_t kTileRows = 2;
  static constexpr std::size_t kLongRow = 257;
};

#include "kernels/avx2_rows.inc"

#include "kernels/avx2_bytes.inc"

#include "kernels/byte_rows.inc"

// Number of set bits, in 64-bit lanes.
inline __m256i count_bits(__m256i v) {
  const __m256i counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,  //
                                          0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i low_half = _mm256_set1_epi8(0x0f);
  const __m256i low = _mm256_shuffle_epi8(counts, _mm256_and_si256(v, low_half));
  const __m256i high =
      _mm256_shuffle_epi8(counts, _mm256_and_si256(_mm256_srli_epi16(v, 4), low_half));
  return _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256());
}

struct Codes {
  using V = __m256i;
  using Query = std::uint8_t;
  using Score = std::uint32_t;
  static constexpr std::size_t kWidth = 32;
  static constexpr bool kRowTerm = false;
  static constexpr bool kQueryTerm = false;
  static V zero() { return _mm256_setzero_si256(); }
  static V load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  static V load_tail(const void* from, std::size_t n) {
    if (n < 16) return _mm256_zextsi128_si256(load_tail_16(from, n));
    const __m128i high = load_tail_16(static_cast<const std::byte*>(from) + 16, n - 16);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(from)), high, 1);
  }
  static V query(const Query* q) { return load(q); }
  static V query_tail(const Query* q, std::size_t n) { return load_tail(q, n); }
  static V row(const std::byte* r) { return load(r); }
  static V row_tail(const std::byte* r, std::size_t n) { return load_tail(r, n); }
  static Score finish(std::uint32_t pair, std::uint32_t, std::uint32_t) { return pair; }
};

struct Hamming : Codes {
  static V add(V sum, V q, V r) {
    return _mm256_add_epi64(sum, count_bits(_mm256_xor_si256(q, r)));
  }
};

struct Common : Codes {
  static V add(V sum, V q, V r) {
    return _mm256_add_epi64(sum, count_bits(_mm256_and_si256(q, r)));
  }
};

// Counts of one plane times 2^plane.
template <int plane>
struct Plane : Codes {
  static V add(V sum, V q, V r) {
    const V count = count_bits(_mm256_and_si256(q, r));
    return _mm256_add_epi64(sum, _mm256_slli_epi64(count, plane));
  }
};

#include "kernels/binary/planes.inc"

#include "kernels/binary/estimates.inc"

constexpr std::size_t kMaxSplit = 512;  // bytes of a row

// The planes of a query, and their upper halves of bytes: a row is split once for all planes.
template <std::size_t n_planes>
struct SplitQuery {
  static constexpr std::size_t kPlanes = n_planes;

  SplitQuery(const SignQueryView& view, std::size_t stride) {
    for (std::size_t p = 0; p < kPlanes; ++p) {
      for (std::size_t i = 0; i < stride; i += 32) {
        const __m256i plane = Codes::load(view.planes + p * stride + i);
        const __m256i low_half = _mm256_set1_epi8(0x0f);
        auto* at = reinterpret_cast<__m256i*>(halves + (i * kPlanes + p * 32) * 2);
        _mm256_store_si256(at, _mm256_and_si256(plane, low_half));
        _mm256_store_si256(at + 1, _mm256_and_si256(_mm256_srli_epi16(plane, 4), low_half));
      }
    }
  }

  alignas(32) std::uint8_t halves[2 * kPlanes * kMaxSplit];  // [stride / 32, plane, half, 32]
};

// Sum over the planes of 2^plane times the bits that row and plane share, in 64-bit lanes. Tables
// hold the counts times 2^plane; the sum of a byte is at most 8 * 15.
template <class Query>
inline __m256i weighted_counts(const Query& query, std::size_t stride, const std::byte* row) {
  const __m256i low_half = _mm256_set1_epi8(0x0f);
  __m256i sum = _mm256_setzero_si256();
  for (std::size_t i = 0; i < stride; i += 32) {
    const __m256i bits = Codes::load(row + i);
    const __m256i low = _mm256_and_si256(bits, low_half);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bits, 4), low_half);
    const auto* halves = reinterpret_cast<const __m256i*>(query.halves + i * Query::kPlanes * 2);
    __m256i counts = _mm256_setzero_si256();
    unrolled<Query::kPlanes>([&](auto p) QV_INLINE_LAMBDA {
      constexpr char k = 1 << p;
      const __m256i table = _mm256_broadcastsi128_si256(
          _mm_setr_epi8(0, k, k, 2 * k, k, 2 * k, 2 * k, 3 * k, k, 2 * k, 2 * k, 3 * k, 2 * k,
                        3 * k, 3 * k, 4 * k));
      const __m256i of_low =
          _mm256_shuffle_epi8(table, _mm256_and_si256(low, _mm256_load_si256(halves + 2 * p)));
      const __m256i of_high =
          _mm256_shuffle_epi8(table, _mm256_and_si256(high, _mm256_load_si256(halves + 2 * p + 1)));
      counts = _mm256_add_epi8(counts, _mm256_add_epi8(of_low, of_high));
    });
    sum = _mm256_add_epi64(sum, _mm256_sad_epu8(counts, _mm256_setzero_si256()));
  }
  return sum;
}

// Lanes are below 2^32: those of two rows share a register.
template <class Query>
inline __m128i dots_of_four(const Query& query, std::size_t stride,
                            const std::byte* const (&rows)[4]) {
  const __m256i ab =
      _mm256_or_si256(weighted_counts(query, stride, rows[0]),
                      _mm256_slli_epi64(weighted_counts(query, stride, rows[1]), 32));
  const __m256i cd =
      _mm256_or_si256(weighted_counts(query, stride, rows[2]),
                      _mm256_slli_epi64(weighted_counts(query, stride, rows[3]), 32));
  const __m256i sums =
      _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
  return _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
}

#include "kernels/binary/fours.inc"

void estimate_rows(const SignQueryView& query, const SignCodes& codes, const std::uint32_t* ids,
                   std::size_t n, float* out) {
  if (codes.stride > kMaxSplit || codes.stride % 32 != 0) {
    return estimate_by<BitPlanes, ByteSums<Common>>(query, codes, ids, n, out);
  }
  if (query.n_planes == 1) {
    return estimate_by_fours(SplitQuery<1>(query, codes.stride), query, codes, ids, n, out);
  }
  estimate_by_fours(SplitQuery<4>(query, codes.stride), query, codes, ids, n, out);
}

}  // namespace

constinit const BinaryKernels kBinaryKernels = {kForms<ByteSums<Hamming>>, kForms<ByteSums<Common>>,
                                                kForms<BitPlanes>, estimate_rows};

}  // namespace quiver::avx2
QV_TARGET_END
#endif
