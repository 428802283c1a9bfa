// Like avx512.cc: lanes hold query tokens, and document values are broadcast. A block of 16 query
// tokens is two registers. A tile of 16 query tokens by 4 document tokens has 8 sums, enough for
// two products a cycle of latency 4. 24 by 4 fill all 16 registers. Codes: vpmaddubsw would
// saturate, so even and odd bytes are widened and multiplied by vpmaddwd.
//
// vfmadd ymm: latency 4, two per cycle on Zen 4, Haswell and later (there latency 5, then 4);
// vpmaddwd two per cycle (Haswell one). Measured on Zen 4 as in avx512.cc, by multi_bench: 40 % of
// the products that zmm registers could do, codes 2.2 times as fast.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

#include "kernels/avx2_rows.inc"
#include "kernels/terms.inc"

// A step of a document token, at any address.
template <class T>
T four_bytes(const std::byte* from) {
  T value;
  static_assert(sizeof value == 4);
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

struct WideLanes : Lanes {
  static V load(const std::byte* from) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  }
  static V broadcast(const std::byte* value) { return _mm256_set1_ps(four_bytes<float>(value)); }
};
using HalfLanes = WideLanes;

// Sums of codes, and codes by four.
struct WideCodes {
  using V = __m256i;
  static constexpr std::size_t kWidth = 8;
  static V lowest() { return _mm256_set1_epi32(INT32_MIN); }
  static V greater(V a, V b) { return _mm256_max_epi32(a, b); }
  static V load(const std::byte* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static V broadcast(const std::byte* value) {
    return _mm256_set1_epi32(four_bytes<std::int32_t>(value));
  }
  static void store(std::int32_t* to, V v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
  }
};
using HalfCodes = WideCodes;

inline __m256 lower_half(__m256 v) { return v; }
inline __m256i lower_half(__m256i v) { return v; }

inline __m256i add_four_products(__m256i sum, __m256i query, __m256i codes) {
  const __m256i even = _mm256_madd_epi16(_mm256_srai_epi16(_mm256_slli_epi16(query, 8), 8),
                                         _mm256_and_si256(codes, _mm256_set1_epi16(255)));
  const __m256i odd = _mm256_madd_epi16(_mm256_srai_epi16(query, 8), _mm256_srli_epi16(codes, 8));
  return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
}

#include "kernels/maxsim/prepare.inc"
#include "kernels/maxsim/tile.inc"

// Calls `work` with the shape for `n_query` query tokens, or for the first of them.
template <class Work>
std::size_t with_shape(std::size_t n_query, Work&& work) {
  if (n_query > 24) return work(Shape<1, 0, 4>{});
  if (n_query > 16) return work(Shape<1, 1, 4>{});
  if (n_query > 8) return work(Shape<1, 0, 4>{});
  return work(Shape<0, 1, 8>{});
}

// 32 dimensions are one register. Each 64 bits take the bits with their codes, shifted to their
// dimensions; a shuffle looks the levels up.
template <std::size_t bits>
struct Packed {
  static constexpr std::size_t kBits = bits;

  static void unpack(const std::byte* from, std::size_t n, std::byte* out) {
    const __m256i shifts =
        bits == 4 ? _mm256_setr_epi64x(0, 0, 4, 4) : _mm256_setr_epi64x(0, 2, 4, 6);
    const __m256i mask = _mm256_set1_epi8((1 << bits) - 1);
    for (std::size_t d = 0; d < n; d += 32) {
      const __m256i shifted = _mm256_srlv_epi64(broadcast(from + d * bits / 8), shifts);
      const __m256i values = _mm256_shuffle_epi8(levels(), _mm256_and_si256(shifted, mask));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + d), values);
    }
  }

 private:
  static __m256i broadcast(const std::byte* from) {
    if constexpr (bits == 2) {
      long long eight_bytes;
      std::memcpy(&eight_bytes, from, sizeof eight_bytes);
      return _mm256_set1_epi64x(eight_bytes);
    } else {
      return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    }
  }
  static __m256i levels() {
    if constexpr (bits == 2) {
      return _mm256_set1_epi32(
          four_bytes<std::int32_t>(reinterpret_cast<const std::byte*>(PackedLevels::k2Bits)));
    } else {
      return _mm256_broadcastsi128_si256(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(PackedLevels::k4Bits)));
    }
  }
};

#include "kernels/maxsim/packed.inc"

}  // namespace

constinit const MaxSimKernels kMaxSimKernels = {
    prepare,
    {
        {score<DotTerm, InPlace>, score<DotTerm, Converted<RowF16>>,
         score<DotTerm, Converted<RowU8>>, score<DotTerm, Converted<RowBf16>>},
        {score<L2Term, InPlace>, score<L2Term, Converted<RowF16>>, score<L2Term, Converted<RowU8>>,
         score<L2Term, Converted<RowBf16>>},
        {score<L1Term, InPlace>, score<L1Term, Converted<RowF16>>, score<L1Term, Converted<RowU8>>,
         score<L1Term, Converted<RowBf16>>},
    },
    prepare_codes,
    score_codes,
    score_packed<4>,
    score_packed<2>,
    best_codes,
    add_products};

}  // namespace quiver::avx2
QV_TARGET_END
#endif
