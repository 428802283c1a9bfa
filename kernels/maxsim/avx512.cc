// Lanes hold query tokens, and document values are broadcast. So no sum across lanes is needed, and
// the greatest is one vmaxps. A tile is up to 32 query tokens by 8 document tokens: 16 sums in
// registers, two query loads and eight broadcasts for 16 products. A query's last 8 tokens or fewer
// take a ymm register. Zen 4 makes two ymm products a cycle or one zmm, and queries of 14 tokens
// fill .69 of blocks of 16, .81 with halves. f32 tokens and codes are read in place, other types
// are converted in L1; the next tile is prefetched.
//
// vfmadd and vpdpbusd zmm: latency 4 on Zen 4, 4 and 5 on Golden Cove; one per cycle on Zen 4, two
// on Golden Cove. Zen 4 loads one zmm or two ymm a cycle, broadcasts too.
//
// Measured on Zen 4 (family 25, model 17), g++ 12.2, documents of 103 tokens of 128 dimensions in
// order from memory; "share" is of the products of registers alone in the lanes that are taken:
//   query tokens   f32              codes
//        7         3.2-3.8 us 57 %  1.0 us 46 %    (f32 at 16 GB/s: memory)
//       14         3.9 us     92 %  1.1 us 84 %
//       22         6.7 us     82 %  1.6 us 85 %
//       32         7.7 us     94 %  2.1 us 88 %
// Over real tokens, queries of 14, by multi_bench: 65 % of the products that f32 could do, lanes
// without a token included; codes 3.6-3.8 times as fast.
// On an Intel processor of two products a cycle (family 6; it calls itself model 167), 128
// dimensions, codes of documents of 80 tokens in cache and queries of 32: 1.2 us, 83 %, packed
// codes 1.35 us, 76 %; of 104 and 15: 1.03 us, 59 % (8 chains of latency 5), packed 1.3 us. Of
// documents at random in memory 1.7 and 1.5, 1.8 and 1.6 us.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

#include "kernels/avx512_rows.inc"

inline __m256 negate(__m256 a) { return _mm256_sub_ps(_mm256_setzero_ps(), a); }

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
  static V load(const std::byte* from) { return _mm512_loadu_ps(from); }
  static V broadcast(const std::byte* value) { return _mm512_set1_ps(four_bytes<float>(value)); }
};

struct HalfLanes {
  using V = __m256;
  static V zero() { return _mm256_setzero_ps(); }
  static V lowest() { return _mm256_set1_ps(-__builtin_inff()); }
  static V greater(V a, V b) { return _mm256_max_ps(a, b); }  // `b` where either is NaN
  static V load(const std::byte* from) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  }
  static V broadcast(const std::byte* value) { return _mm256_set1_ps(four_bytes<float>(value)); }
  static void store(float* to, V v) { _mm256_storeu_ps(to, v); }
};

// Sums of codes, and codes by four.
struct WideCodes {
  using V = __m512i;
  static constexpr std::size_t kWidth = 16;
  static V lowest() { return _mm512_set1_epi32(INT32_MIN); }
  static V greater(V a, V b) { return _mm512_max_epi32(a, b); }
  static V load(const std::byte* from) { return _mm512_loadu_si512(from); }
  static V broadcast(const std::byte* value) {
    return _mm512_set1_epi32(four_bytes<std::int32_t>(value));
  }
  static void store(std::int32_t* to, V v) { _mm512_storeu_si512(to, v); }
};
struct HalfCodes {
  using V = __m256i;
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

inline __m256 lower_half(__m512 v) { return _mm512_castps512_ps256(v); }
inline __m256i lower_half(__m512i v) { return _mm512_castsi512_si256(v); }

inline __m512i add_four_products(__m512i sum, __m512i query, __m512i codes) {
  return _mm512_dpbusd_epi32(sum, codes, query);
}
inline __m256i add_four_products(__m256i sum, __m256i query, __m256i codes) {
  return _mm256_dpbusd_epi32(sum, codes, query);
}

#include "kernels/maxsim/prepare.inc"
#include "kernels/maxsim/tile.inc"

// Calls `work` with the shape for `n_query` query tokens, or for the first of them.
template <class Work>
std::size_t with_shape(std::size_t n_query, Work&& work) {
  if (n_query > 24) return work(Shape<2, 0, 8>{});
  if (n_query > 16) return work(Shape<1, 1, 8>{});
  if (n_query > 8) return work(Shape<1, 0, 8>{});
  return work(Shape<0, 1, 8>{});
}

// 64 dimensions, or 32, are one register. Each 64 bits take the bits with their codes, shifted to
// their dimensions. The look-up uses the lowest six bits of each byte; the levels repeat, so the
// bits beside a code do not matter. ymm would take twice as many instructions on the ports that the
// products need.
template <std::size_t bits>
struct Packed {
  static constexpr std::size_t kBits = bits;

  static void unpack(const std::byte* from, std::size_t n, std::byte* out) {
    const __m512i words = bits == 4 ? _mm512_setr_epi64(0, 1, 0, 1, 2, 3, 2, 3)
                                    : _mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1);
    const __m512i shifts = bits == 4 ? _mm512_setr_epi64(0, 0, 4, 4, 0, 0, 4, 4)
                                     : _mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6);
    for (std::size_t d = 0; d < n; d += 64) {
      const auto there = static_cast<__mmask8>((1u << (n - d < 64 ? bits / 2 : bits)) - 1u);
      const __m512i packed = _mm512_maskz_loadu_epi64(there, from + d * bits / 8);
      const __m512i codes = _mm512_srlv_epi64(_mm512_permutexvar_epi64(words, packed), shifts);
      _mm512_storeu_si512(out + d, _mm512_permutexvar_epi8(codes, levels()));
    }
  }

 private:
  static __m512i levels() {
    if constexpr (bits == 2) {
      return _mm512_set1_epi32(
          four_bytes<std::int32_t>(reinterpret_cast<const std::byte*>(PackedLevels::k2Bits)));
    } else {
      return _mm512_broadcast_i32x4(
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

}  // namespace quiver::avx512
QV_TARGET_END
#endif
