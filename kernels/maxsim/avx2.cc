// As avx512.cc: query tokens in lanes, document values broadcast; a block of 16 query tokens is two
// registers. 16 query tokens by 4 document tokens: 8 sums in registers, as many as two products a
// cycle of latency 4 ask for; 24 by 4 fill all 16 registers. Codes: vpmaddubsw would saturate, so
// even and odd bytes are widened and multiplied by vpmaddwd.
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

template <class Math, class Source>
std::size_t score_panel(typename Math::Total& total, const Panel& panel, std::size_t n_query,
                        std::size_t dim, const Doc& doc) {
  if (n_query > 24) return add_panel<Math, Source, Shape<1, 0, 4>>(total, panel, n_query, dim, doc);
  if (n_query > 16) return add_panel<Math, Source, Shape<1, 1, 4>>(total, panel, n_query, dim, doc);
  if (n_query > 8) return add_panel<Math, Source, Shape<1, 0, 4>>(total, panel, n_query, dim, doc);
  return add_panel<Math, Source, Shape<0, 1, 8>>(total, panel, n_query, dim, doc);
}

}  // namespace

constinit const MaxSimKernels kMaxSimKernels = {
    prepare,
    {
        {score<DotTerm, InPlace>, score<DotTerm, Converted<RowF16>>,
         score<DotTerm, Converted<RowU8>>},
        {score<L2Term, InPlace>, score<L2Term, Converted<RowF16>>, score<L2Term, Converted<RowU8>>},
        {score<L1Term, InPlace>, score<L1Term, Converted<RowF16>>, score<L1Term, Converted<RowU8>>},
    },
    prepare_codes,
    score_codes};

}  // namespace quiver::avx2
QV_TARGET_END
#endif
