// Sixteen gains at a time. Lengths are copied and sums are added to one by one, because sixteen
// loads and stores take less time than a gather and a scatter: of sixteen lanes, they take 22 and
// 60 cycles on Zen 4, and about as long on Intel processors whose microcode slows gathers down.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

#include "kernels/texts/one.inc"

constexpr std::size_t kLanes = 16;
/// Rows of one pass over the parts of a gain, which lie in the L1 cache in between.
constexpr std::size_t kBatch = 64;

/// A `TokenGain` in all lanes.
struct GainLanes {
  explicit GainLanes(const TokenGain& gain)
      : weight(_mm512_set1_ps(gain.weight)),
        at_length_0(_mm512_set1_ps(gain.at_length_0)),
        per_token(_mm512_set1_ps(gain.per_token)) {}
  const __m512 weight, at_length_0, per_token;
};

__m512 gains_of(__m128i counts, __m512i lengths, const GainLanes& gain) {
  const __m512i count = _mm512_cvtepu8_epi32(counts);
  const __m512 length = _mm512_cvtepi32_ps(lengths);
  const __m512 tf = _mm512_cvtepi32_ps(count);
  const __m512 divisor =
      _mm512_add_ps(tf, _mm512_add_ps(gain.at_length_0, _mm512_mul_ps(gain.per_token, length)));
  const __m512 ratio = _mm512_div_ps(_mm512_mul_ps(gain.weight, tf), divisor);
  const __m512i many = _mm512_set1_epi32(TextKernels::kManyTimes);
  return _mm512_mask_mov_ps(ratio, _mm512_cmpeq_epi32_mask(count, many), gain.weight);
}

/// Adds the gains of `n` rows, at most kBatch. Reads no more than their counts.
void add_batch(const std::uint32_t* rows, const std::uint8_t* counts, std::size_t n,
               std::uint32_t first_row, const std::uint32_t* lengths, const GainLanes& gain,
               float* sums) {
  alignas(64) std::uint32_t length[kBatch];
  alignas(64) float gained[kBatch];
  for (std::size_t j = 0; j < n; ++j) length[j] = lengths[rows[j]];
  for (std::size_t j = 0; j < n; j += kLanes) {
    const auto in_batch = static_cast<__mmask16>(_bzhi_u32(0xFFFF, static_cast<unsigned>(n - j)));
    const __m128i count = _mm_maskz_loadu_epi8(in_batch, counts + j);
    const __m512i many_lengths = _mm512_maskz_loadu_epi32(in_batch, length + j);
    _mm512_store_ps(gained + j, gains_of(count, many_lengths, gain));
  }
#pragma GCC unroll 8
  for (std::size_t j = 0; j < n; ++j) {
    sums[(rows[j] - first_row) % TextKernels::kWindow] += gained[j];
  }
}

/// The number of the first rows that are below `end_row`, at most kBatch.
std::size_t n_below(const std::uint32_t* rows, std::size_t n, std::uint32_t end_row) {
  n = std::min(n, kBatch);
  const __m512i end = _mm512_set1_epi32(static_cast<int>(end_row));
  std::size_t n_found = 0;
  for (std::size_t i = 0; i < n; i += kLanes) {
    const auto here = static_cast<__mmask16>(_bzhi_u32(0xFFFF, static_cast<unsigned>(n - i)));
    const __m512i row = _mm512_maskz_loadu_epi32(here, rows + i);
    const __mmask16 below = _mm512_mask_cmplt_epu32_mask(here, row, end);
    // Rows that do not ascend are damaged. Those before them are taken.
    n_found += static_cast<std::size_t>(__builtin_ctz(~std::uint32_t{below}));
    if (below != 0xFFFF) break;
  }
  return n_found;
}

std::size_t add_gains(const std::uint32_t* rows, const std::uint8_t* counts, std::size_t n,
                      std::uint32_t first_row, std::uint32_t end_row, const std::uint32_t* lengths,
                      const TokenGain& gain, float* sums) {
  const GainLanes lanes(gain);
  std::size_t i = 0;
  for (;;) {
    const std::size_t n_batch = n_below(rows + i, n - i, end_row);
    if (n_batch == kBatch) {
      add_batch(rows + i, counts + i, kBatch, first_row, lengths, lanes, sums);
    } else {
      add_batch(rows + i, counts + i, n_batch, first_row, lengths, lanes, sums);
    }
    i += n_batch;
    if (n_batch < kBatch) return i;
  }
}

float largest_gain(const std::uint8_t* counts, const std::uint32_t* lengths, std::size_t n,
                   const TokenGain& gain) {
  const GainLanes lanes(gain);
  __m512 most = _mm512_setzero_ps();
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const __m128i count = _mm_loadu_si128(reinterpret_cast<const __m128i*>(counts + i));
    most = _mm512_max_ps(most, gains_of(count, _mm512_loadu_si512(lengths + i), lanes));
  }
  float largest = _mm512_reduce_max_ps(most);
  for (; i < n; ++i) largest = std::max(largest, gain_of(counts[i], lengths[i], gain));
  return largest;
}

}  // namespace

constinit const TextKernels kTextKernels = {add_gains, largest_gain};

}  // namespace quiver::avx512
QV_TARGET_END
#endif
