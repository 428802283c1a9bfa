// AVX2 has no look-up of 64 bytes. Each of the four bytes of a dword takes one look-up, which
// yields zero for the other three. Multiplications by one add the bytes.
//
// vpshufb ymm: latency 1 on Golden Cove, two per cycle there and on Zen 4; vpmaddubsw, vpmaddwd
// ymm: latency 3 on Zen 4, 5 on Golden Cove, two per cycle on both. There are two sums, one for
// each eight rows: eight look-ups take longer than the latency of an addition. allowed, to_bytes
// and the compression in keep_best are scalar code.
//
// Measured on an Intel processor of two products a cycle (family 6; it calls itself model 167; 2.2
// GHz), g++ 12.2, shared, by steps_bench, one thread, medians, 384 dimensions. Percentages: time of
// the loop's instructions on registers alone, divided by the measured time. scan 11.6 ns a row of 1
// bit (70 %), 42 of 4 bits (75 %), prepare 3.1 ns a dimension (32 %), allowed 1.8 a row, to_bytes
// .51 a value, keep_best 3.0 a hit, 256 of 2,048.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

/// Entries `first` to `first + 7` of a table: lane i adds the dimensions set in `first` + i, in
/// units of 1 / per_unit.
QV_INLINE __m256i units(const float* v, float least, float per_unit, int first) {
  const __m256i lanes =
      _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first));
  __m256 sum = _mm256_set1_ps(0 - least);
  for (int k = 0; k < 4; ++k) {
    const __m256i bit = _mm256_set1_epi32(1 << k);
    const __m256i set = _mm256_cmpeq_epi32(_mm256_and_si256(lanes, bit), bit);
    sum = _mm256_add_ps(sum, _mm256_and_ps(_mm256_castsi256_ps(set), _mm256_set1_ps(v[k])));
  }
  return _mm256_cvtps_epi32(_mm256_mul_ps(sum, _mm256_set1_ps(per_unit)));
}

void write_group(const float* v, float per_unit, std::uint8_t* table) {
  float least = 0;
  for (int k = 0; k < 4; ++k) least += std::min(v[k], 0.0F);
  const __m256i words =
      _mm256_packs_epi32(units(v, least, per_unit, 0), units(v, least, per_unit, 8));
  const __m256i bytes = _mm256_packus_epi16(words, words);  // 0-3, 8-11 | 4-7, 12-15
  const __m256i ordered =
      _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(table), _mm256_castsi256_si128(ordered));
}

#include "kernels/codes/groups.inc"
#include "kernels/codes/tables.inc"

/// Codes of one line, bytes of equal place side by side: byte y of the dwords of rows 0-3, 8-11,
/// 4-7, 12-15 is lane y of `low`, or lane y - 2 of `high`.
struct Bytes {
  __m256i low;
  __m256i high;
};

QV_INLINE Bytes bytes_of(const std::byte* line) {
  const __m256i by_place = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const auto* halves = reinterpret_cast<const __m256i*>(line);
  const __m256i first = _mm256_shuffle_epi8(_mm256_load_si256(halves), by_place);
  const __m256i last = _mm256_shuffle_epi8(_mm256_load_si256(halves + 1), by_place);
  constexpr int kEvenFirst = 0b11011000;
  return {_mm256_permute4x64_epi64(_mm256_unpacklo_epi32(first, last), kEvenFirst),
          _mm256_permute4x64_epi64(_mm256_unpackhi_epi32(first, last), kEvenFirst)};
}

/// Sums of 16 bits modulo 2^16, in the order of `Bytes`. `all` adds whole words, so its bytes of
/// odd places disturb those of even ones; they are known from `odd`.
struct WordSums {
  __m256i all;
  __m256i odd;
};

QV_INLINE void look_up(const std::uint8_t* tables, __m256i nibbles, WordSums& sums) {
  const __m256i found =
      _mm256_shuffle_epi8(_mm256_load_si256(reinterpret_cast<const __m256i*>(tables)), nibbles);
  sums.all = _mm256_add_epi16(sums.all, found);
  sums.odd = _mm256_add_epi16(sums.odd, _mm256_srli_epi16(found, 8));
}

QV_INLINE void add_line(const std::byte* line, const std::uint8_t* tables, WordSums& sums) {
  const __m256i nibble = _mm256_set1_epi8(15);
  const Bytes bytes = bytes_of(line);
  look_up(tables, _mm256_and_si256(bytes.low, nibble), sums);
  look_up(tables + 32, _mm256_and_si256(bytes.high, nibble), sums);
  look_up(tables + 64, _mm256_and_si256(_mm256_srli_epi16(bytes.low, 4), nibble), sums);
  look_up(tables + 96, _mm256_and_si256(_mm256_srli_epi16(bytes.high, 4), nibble), sums);
}

/// Of rows 0 to 7 and 8 to 15.
struct Sums {
  __m256i first;
  __m256i last;
};

/// Adds both lanes.
QV_INLINE void add_words(const WordSums& words, Sums& sums) {
  const __m256i even = _mm256_sub_epi16(words.all, _mm256_slli_epi16(words.odd, 8));
  const __m128i of_even =
      _mm_add_epi16(_mm256_castsi256_si128(even), _mm256_extracti128_si256(even, 1));
  const __m128i of_odd =
      _mm_add_epi16(_mm256_castsi256_si128(words.odd), _mm256_extracti128_si256(words.odd, 1));
  const __m128i front = _mm_unpacklo_epi16(of_even, of_odd);  // rows 0-3, 8-11
  const __m128i back = _mm_unpackhi_epi16(of_even, of_odd);   // rows 4-7, 12-15
  sums.first = _mm256_add_epi32(sums.first, _mm256_cvtepu16_epi32(_mm_unpacklo_epi64(front, back)));
  sums.last = _mm256_add_epi32(sums.last, _mm256_cvtepu16_epi32(_mm_unpackhi_epi64(front, back)));
}

/// So many lines add up to 255 * 8 * kMaxLines at most, which 16 bits hold.
constexpr std::uint32_t kMaxLines = 32;

__attribute__((noinline)) Sums block_sums(const std::byte* block, const std::uint8_t* tables,
                                          std::uint32_t n_lines, std::uint32_t n_bits) {
  Sums sums{_mm256_setzero_si256(), _mm256_setzero_si256()};
  for (std::uint32_t bit = 0; bit < n_bits; ++bit) {
    sums.first = _mm256_slli_epi32(sums.first, 1);
    sums.last = _mm256_slli_epi32(sums.last, 1);
    for (std::uint32_t line = 0; line < n_lines;) {
      const std::uint32_t end = std::min(n_lines, line + kMaxLines);
      WordSums words{_mm256_setzero_si256(), _mm256_setzero_si256()};
      for (; line < end; ++line, block += 64) {
        add_line(block, tables + std::size_t{line} * 128, words);
      }
      add_words(words, sums);
    }
  }
  return sums;
}

/// Block `b`, or behind the last block, memory at `blocks.next`.
QV_INLINE void prefetch(const CodeBlocks& blocks, std::size_t b) {
  const std::size_t n_bytes = blocks.block_bytes();
  if (b >= blocks.n && blocks.next == nullptr) return;
  const std::byte* from =
      b < blocks.n ? blocks.first + b * n_bytes : blocks.next + (b - blocks.n) * n_bytes;
  prefetch_bytes<Nearness::kL2>(from, n_bytes);
}

struct Scale {
  __m256 step;
  __m256 offset;
  __m256 base;
};

QV_INLINE __m256 estimates(__m256i sums, const Scale& scale, const std::byte* factors) {
  const auto* values = reinterpret_cast<const float*>(factors);
  const __m256 product =
      _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sums), scale.step), scale.offset);
  return _mm256_add_ps(_mm256_mul_ps(product, _mm256_load_ps(values)),
                       _mm256_add_ps(_mm256_load_ps(values + 16), scale.base));
}

QV_INLINE unsigned above(__m256 values, float threshold) {
  return static_cast<unsigned>(
      _mm256_movemask_ps(_mm256_cmp_ps(values, _mm256_set1_ps(threshold), _CMP_GT_OQ)));
}

std::size_t scan(const CodeTables& query, const CodeBlocks& blocks, float base, float threshold,
                 const std::uint16_t* allowed, std::uint32_t first_position, CodeHits& hits) {
  constexpr std::size_t kAheadBytes = 4096;
  const float offset = -0.5F * static_cast<float>((1U << blocks.n_bits) - 1) * query.absolute;
  const Scale scale{_mm256_set1_ps(query.step), _mm256_set1_ps(offset), _mm256_set1_ps(base)};
  const std::size_t block_bytes = blocks.block_bytes();
  const std::size_t n_ahead = kAheadBytes / block_bytes + 1;
  alignas(32) float values[CodeBlocks::kRows];
  for (std::size_t b = 0; b < blocks.n; ++b) {
    if (hits.n + CodeBlocks::kRows > hits.room) return b;
    const unsigned wanted = allowed == nullptr ? 0xFFFF : allowed[b];
    if (wanted == 0) continue;
    prefetch(blocks, b + n_ahead);
    const std::byte* block = blocks.first + b * block_bytes;
    const std::byte* factors = block + block_bytes - 128;
    const Sums sums = block_sums(block, query.tables, blocks.n_lines, blocks.n_bits);
    const __m256 first = estimates(sums.first, scale, factors);
    const __m256 last = estimates(sums.last, scale, factors + 32);
    unsigned kept = (above(first, threshold) | above(last, threshold) << 8) & wanted;
    if (kept == 0) continue;
    _mm256_store_ps(values, first);
    _mm256_store_ps(values + 8, last);
    for (; kept != 0; kept &= kept - 1) {
      const auto row = static_cast<std::uint32_t>(__builtin_ctz(kept));
      hits.scores[hits.n] = values[row];
      hits.positions[hits.n++] = first_position + static_cast<std::uint32_t>(b * 16) + row;
    }
  }
  return blocks.n;
}

std::pair<float, float> extremes(const float* scores, std::size_t n) {
  __m256 lows = _mm256_set1_ps(scores[0]);
  __m256 highs = lows;
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 values = _mm256_loadu_ps(scores + i);
    lows = _mm256_min_ps(lows, values);
    highs = _mm256_max_ps(highs, values);
  }
  float least[8];
  float most[8];
  _mm256_storeu_ps(least, lows);
  _mm256_storeu_ps(most, highs);
  float low = *std::min_element(least, least + 8);
  float high = *std::max_element(most, most + 8);
  for (; i < n; ++i) {
    low = std::min(low, scores[i]);
    high = std::max(high, scores[i]);
  }
  return {low, high};
}

std::size_t count_at_least(const float* scores, std::size_t n, float bar) {
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 reach =
        _mm256_cmp_ps(_mm256_loadu_ps(scores + i), _mm256_set1_ps(bar), _CMP_GE_OQ);
    count += static_cast<std::size_t>(__builtin_popcount(_mm256_movemask_ps(reach)));
  }
  for (; i < n; ++i) count += scores[i] >= bar;
  return count;
}

#include "kernels/codes/scalar.inc"
#include "kernels/codes/select.inc"

}  // namespace

constinit const CodeKernels kCodeKernels = {prepare, scan, allowed_of, to_bytes, keep_best};

}  // namespace quiver::avx2
QV_TARGET_END
#endif
