// Gathers eight weights and multiplies them by the values, which are converted in registers. The
// gathers take most of the time.
//
// vgatherdps ymm: one in 5 to 6 cycles on Golden Cove; vfmadd ymm: latency 4 on Zen 4 and Golden
// Cove. Two sums: a product waits for the one before, but two gathers take longer.
//
// Measured on an Intel processor of two products a cycle (family 6; it calls itself model 167; 2.2
// GHz), g++ 12.2, shared, by steps_bench, one thread, medians; ns an entry of records of 192 in L2,
// weights in L1, and the share of what gathers alone take: values of f32 .41 (76 %), f16 .42 (73
// %), u8 .43 (71 %).
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

__m256i load_terms(const std::uint16_t* terms) {
  return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(terms)));
}
__m256i load_terms(const std::uint32_t* terms) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(terms));
}

__m256 load_values(const float* values) { return _mm256_loadu_ps(values); }
__m256 load_values(const std::uint16_t* halves) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves)));
}
__m256 load_values(const std::uint8_t* codes) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes))));
}

/// The weights of terms; terms above `most` count as `most`.
__m256 gather(const float* table, __m256i terms, __m256i most) {
  return _mm256_i32gather_ps(table, _mm256_min_epu32(terms, most), 4);
}

float total(__m256 lanes) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

template <class Term, class Value>
float score(const float* table, std::uint32_t last, const std::byte* terms, const std::byte* values,
            std::size_t n) {
  const __m256i most = _mm256_set1_epi32(static_cast<int>(last));
  const auto* term = reinterpret_cast<const Term*>(terms);
  const auto* value = reinterpret_cast<const Value*>(values);
  __m256 even = _mm256_setzero_ps();
  __m256 odd = _mm256_setzero_ps();
  for (std::size_t i = 0; i < n; i += 16) {
    const __m256 a = gather(table, load_terms(term + i), most);
    const __m256 b = gather(table, load_terms(term + i + 8), most);
    even = _mm256_fmadd_ps(a, load_values(value + i), even);
    odd = _mm256_fmadd_ps(b, load_values(value + i + 8), odd);
  }
  return total(_mm256_add_ps(even, odd));
}

/// By a byte of flags: the positions of the bytes of eight differences. A difference takes two
/// bytes if its flag is set.
struct Shuffles {
  alignas(16) std::uint8_t places[256][16];
};

constexpr Shuffles make_shuffles() {
  Shuffles shuffles{};
  for (unsigned wide = 0; wide < 256; ++wide) {
    std::uint8_t from = 0;
    for (unsigned i = 0; i < 8; ++i) {
      shuffles.places[wide][2 * i] = from++;
      shuffles.places[wide][2 * i + 1] = (wide >> i & 1) != 0 ? from++ : 0x80;
    }
  }
  return shuffles;
}

constexpr Shuffles kShuffles = make_shuffles();

/// Prefix sums: lane i becomes the sum of lanes 0 to i.
__m256i running_sums(__m256i lanes) {
  lanes = _mm256_add_epi32(lanes, _mm256_slli_si256(lanes, 4));
  lanes = _mm256_add_epi32(lanes, _mm256_slli_si256(lanes, 8));
  const __m256i low = _mm256_permute2x128_si256(lanes, lanes, 0x08);
  return _mm256_add_epi32(lanes, _mm256_shuffle_epi32(low, 0xFF));
}

float score_gaps(const float* table, std::uint32_t last, const std::byte* record, std::size_t n) {
  const auto* is_wide = reinterpret_cast<const std::uint8_t*>(record);
  const std::uint8_t* codes = is_wide + n / 8;
  const std::uint8_t* gaps = codes + n;
  const __m256i most = _mm256_set1_epi32(static_cast<int>(last));
  const __m256i seventh = _mm256_set1_epi32(7);
  __m256i before = _mm256_setzero_si256();
  __m256 sum = _mm256_setzero_ps();
  for (std::size_t i = 0; i < n; i += 8) {
    const unsigned wide = is_wide[i / 8];
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(gaps));
    const auto* places = reinterpret_cast<const __m128i*>(kShuffles.places[wide]);
    gaps += 8 + _mm_popcnt_u32(wide);
    const __m256i steps = _mm256_cvtepu16_epi32(_mm_shuffle_epi8(packed, _mm_load_si128(places)));
    const __m256i terms = _mm256_add_epi32(before, running_sums(steps));
    before = _mm256_permutevar8x32_epi32(terms, seventh);
    sum = _mm256_fmadd_ps(gather(table, terms, most), load_values(codes + i), sum);
  }
  return total(sum);
}

}  // namespace

constinit const RecordKernels kRecordKernels = {
    {{score<std::uint16_t, float>, score<std::uint16_t, std::uint16_t>,
      score<std::uint16_t, std::uint8_t>},
     {score<std::uint32_t, float>, score<std::uint32_t, std::uint16_t>,
      score<std::uint32_t, std::uint8_t>}},
    score_gaps};

}  // namespace quiver::avx2
QV_TARGET_END
#endif
