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

/// Looks up byte y of each dword in quarter y of the table's 64 bytes.
QV_INLINE __m256i look_up(const std::uint8_t* table, __m256i nibbles) {
  __m256i found = _mm256_setzero_si256();
  for (int y = 0; y < 4; ++y) {
    const auto others = static_cast<int>(0x80808080U & ~(0x80U << (8 * y)));
    const __m256i quarter = _mm256_broadcastsi128_si256(
        _mm_load_si128(reinterpret_cast<const __m128i*>(table + y * 16)));
    found = _mm256_or_si256(
        found, _mm256_shuffle_epi8(quarter, _mm256_or_si256(nibbles, _mm256_set1_epi32(others))));
  }
  return found;
}

/// Sums of one line for eight rows.
QV_INLINE __m256i line_sums(const std::byte* half_line, const std::uint8_t* tables) {
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i ones = _mm256_set1_epi8(1);
  const __m256i codes = _mm256_load_si256(reinterpret_cast<const __m256i*>(half_line));
  const __m256i low = look_up(tables, _mm256_and_si256(codes, nibble));
  const __m256i high = look_up(tables + 64, _mm256_and_si256(_mm256_srli_epi32(codes, 4), nibble));
  const __m256i words =
      _mm256_add_epi16(_mm256_maddubs_epi16(low, ones), _mm256_maddubs_epi16(high, ones));
  return _mm256_madd_epi16(words, _mm256_set1_epi16(1));
}

struct Sums {
  __m256i first;
  __m256i last;
};

QV_INLINE Sums block_sums(const std::byte* block, const CodeTables& query,
                          const CodeBlocks& blocks) {
  Sums sums{_mm256_setzero_si256(), _mm256_setzero_si256()};
  for (std::uint32_t bit = 0; bit < blocks.n_bits; ++bit) {
    sums.first = _mm256_slli_epi32(sums.first, 1);
    sums.last = _mm256_slli_epi32(sums.last, 1);
    for (std::uint32_t line = 0; line < blocks.n_lines; ++line, block += 64) {
      const std::uint8_t* tables = query.tables + std::size_t{line} * 128;
      sums.first = _mm256_add_epi32(sums.first, line_sums(block, tables));
      sums.last = _mm256_add_epi32(sums.last, line_sums(block + 32, tables));
    }
  }
  return sums;
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
  const float offset = -0.5F * static_cast<float>((1U << blocks.n_bits) - 1) * query.absolute;
  const Scale scale{_mm256_set1_ps(query.step), _mm256_set1_ps(offset), _mm256_set1_ps(base)};
  const std::size_t block_bytes = blocks.block_bytes();
  alignas(32) float values[CodeBlocks::kRows];
  for (std::size_t b = 0; b < blocks.n; ++b) {
    if (hits.n + CodeBlocks::kRows > hits.room) return b;
    const unsigned wanted = allowed == nullptr ? 0xFFFF : allowed[b];
    if (wanted == 0) continue;
    const std::byte* block = blocks.first + b * block_bytes;
    const std::byte* factors = block + block_bytes - 128;
    const Sums sums = block_sums(block, query, blocks);
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
