// AVX2 has no look-up of 64 bytes, and a look-up of 16 serves bytes of one place of the dwords
// only. So the bytes of 16 rows of two blocks are put side by side first; four of four look-ups of
// a dword with zeros for the other three bytes took twice the time. Words of 16 bits add the
// entries, whole and those of odd bytes apart, as in FAISS.
//
// vpshufb, vpunpck, vpsrlw ymm: latency 1, two a cycle on Zen 3 and Golden Cove; vpaddw, vpand:
// four and three. An addition of one cycle follows each look-up of two, so that two sums do not
// wait for each other. to_bytes is scalar code.
//
// Measured on Zen 3 (family 25, model 1), g++ 12.2, shared, by steps_bench, one thread, 384
// dimensions, before and now: scan 7.2 and 3.3 to 4.5 ns a row of 1 bit, 27 and 13 to 16 of 4 bits,
// prepare 2.3 and 1.3 to 1.6 ns a dimension, allowed 1.5 and .5 a row, keep_best 2.6 and 1.5 to 2.0
// a hit, 256 of 2,048; to_bytes .26 a value. By codes_bench from memory: 80 to 90 % of the
// bandwidth of reading.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/lane_moves.h"
#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

#include "kernels/codes/groups.inc"

/// Lanes 0 and 4 hold (|v0| + |v1|) + (|v2| + |v3|) of two groups.
QV_INLINE __m256 ranges_of(const float* query) {
  const __m256 sizes = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), _mm256_loadu_ps(query));
  const __m256 pairs = _mm256_add_ps(sizes, _mm256_permute_ps(sizes, 0b10110001));
  return _mm256_add_ps(pairs, _mm256_permute_ps(pairs, 0b01001110));
}

/// Four groups at a time.
Ranges measure(const float* query, std::size_t n_groups) {
  __m256 widest = _mm256_setzero_ps();
  __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  for (std::size_t g = 0; g < n_groups; g += 4) {
    QV_UNROLL for (std::size_t j = 0; j < 2; ++j) {
      const __m256 ranges = ranges_of(query + g * 4 + j * 8);
      sums[j] = _mm256_add_ps(sums[j], ranges);
      widest = _mm256_max_ps(widest, ranges);
    }
  }
  alignas(32) float lanes[3][8];
  _mm256_store_ps(lanes[0], sums[0]);
  _mm256_store_ps(lanes[1], sums[1]);
  _mm256_store_ps(lanes[2], widest);
  return {std::max(lanes[2][0], lanes[2][4]),
          (lanes[0][0] + lanes[0][4]) + (lanes[1][0] + lanes[1][4])};
}

/// `sum`, plus value `k` in lanes whose number has bit `k`.
template <int k>
QV_INLINE __m256 add_where(__m256 sum, __m256 values) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i bit = _mm256_set1_epi32(1 << k);
  const __m256i set = _mm256_cmpeq_epi32(_mm256_and_si256(lanes, bit), bit);
  const __m256 value = _mm256_permute_ps(values, k * 0b01010101);
  return _mm256_add_ps(sum, _mm256_and_ps(_mm256_castsi256_ps(set), value));
}

/// Entry i of a table adds the dimensions set in i, in their order, in units of 1 / per_unit.
/// `values` holds the group in both lanes, `least` the sum of its negative values everywhere.
QV_INLINE __m128i table_of_group(__m256 values, __m256 least, __m256 per_unit) {
  __m256 sum = _mm256_sub_ps(_mm256_setzero_ps(), least);
  sum = add_where<0>(sum, values);
  sum = add_where<1>(sum, values);
  sum = add_where<2>(sum, values);
  const __m256 with_last = _mm256_add_ps(sum, _mm256_permute_ps(values, 0b11111111));
  const __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(sum, per_unit)),
                                           _mm256_cvtps_epi32(_mm256_mul_ps(with_last, per_unit)));
  const __m256i bytes = _mm256_packus_epi16(words, words);  // 0-3, 8-11 | 4-7, 12-15
  return _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
}

void write_tables(const float* query, std::size_t n_groups, float per_unit, std::uint8_t* tables) {
  const __m256 factor = _mm256_set1_ps(per_unit);
  for (std::size_t g = 0; g < n_groups; ++g) {
    const __m256 values = _mm256_broadcast_ps(reinterpret_cast<const __m128*>(query + g * 4));
    const __m256 negative = _mm256_min_ps(values, _mm256_setzero_ps());
    __m256 least = _mm256_add_ps(_mm256_permute_ps(negative, 0b00000000),
                                 _mm256_permute_ps(negative, 0b01010101));
    least = _mm256_add_ps(least, _mm256_permute_ps(negative, 0b10101010));
    least = _mm256_add_ps(least, _mm256_permute_ps(negative, 0b11111111));
    _mm_store_si128(reinterpret_cast<__m128i*>(table_of(tables, g)),
                    table_of_group(values, least, factor));
  }
}

#include "kernels/codes/tables.inc"

/// A line of two blocks, bytes of equal place side by side: byte y of the dwords of 32 rows, of
/// rows 0-3 and 8-11 of both blocks, then of rows 4-7 and 12-15 of both.
struct Bytes {
  __m256i of_place[4];
};

QV_INLINE Bytes bytes_of(const std::byte* line, const std::byte* other_line) {
  const __m256i by_place = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const auto half = [by_place](const std::byte* at) QV_INLINE_LAMBDA {
    return _mm256_shuffle_epi8(_mm256_load_si256(reinterpret_cast<const __m256i*>(at)), by_place);
  };
  const __m256i first[2] = {half(line), half(other_line)};
  const __m256i last[2] = {half(line + 32), half(other_line + 32)};
  const __m256i low[2] = {_mm256_unpacklo_epi32(first[0], last[0]),
                          _mm256_unpacklo_epi32(first[1], last[1])};
  const __m256i high[2] = {_mm256_unpackhi_epi32(first[0], last[0]),
                           _mm256_unpackhi_epi32(first[1], last[1])};
  return {{_mm256_unpacklo_epi64(low[0], low[1]), _mm256_unpackhi_epi64(low[0], low[1]),
           _mm256_unpacklo_epi64(high[0], high[1]), _mm256_unpackhi_epi64(high[0], high[1])}};
}

/// Sums of 16 bits modulo 2^16, in the order of `Bytes`. `all` adds whole words, so its bytes of
/// odd places disturb those of even ones; they are known from `odd`.
struct WordSums {
  __m256i all;
  __m256i odd;
};

QV_INLINE void look_up(const std::uint8_t* table, __m256i nibbles, WordSums& sums) {
  const __m256i entries =
      _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
  const __m256i found = _mm256_shuffle_epi8(entries, nibbles);
  sums.all = _mm256_add_epi16(sums.all, found);
  sums.odd = _mm256_add_epi16(sums.odd, _mm256_srli_epi16(found, 8));
}

QV_INLINE void add_line(const Bytes& bytes, const std::uint8_t* tables, WordSums& sums) {
  const __m256i nibble = _mm256_set1_epi8(15);
  QV_UNROLL for (int y = 0; y < 4; ++y) {
    const __m256i codes = bytes.of_place[y];
    look_up(tables + y * 16, _mm256_and_si256(codes, nibble), sums);
    look_up(tables + y * 16 + 64, _mm256_and_si256(_mm256_srli_epi16(codes, 4), nibble), sums);
  }
}

/// Of rows 0 to 7 and 8 to 15.
struct Sums {
  __m256i first;
  __m256i last;
};

/// Adds words of rows 0-3, 8-11, 4-7, 12-15.
QV_INLINE void add_words(__m256i words, Sums& sums) {
  const __m256i ordered = _mm256_permute4x64_epi64(words, 0b11011000);
  sums.first = _mm256_add_epi32(sums.first, _mm256_cvtepu16_epi32(_mm256_castsi256_si128(ordered)));
  sums.last =
      _mm256_add_epi32(sums.last, _mm256_cvtepu16_epi32(_mm256_extracti128_si256(ordered, 1)));
}

QV_INLINE void double_sums(Sums& sums) {
  sums.first = _mm256_slli_epi32(sums.first, 1);
  sums.last = _mm256_slli_epi32(sums.last, 1);
}

/// So many lines add up to 255 * 8 * kMaxLines at most, which 16 bits hold.
constexpr std::uint32_t kMaxLines = 32;

/// Not inlined: among the values of a scan g++ 12 keeps the sums in memory.
__attribute__((noinline)) WordSums sum_lines(const std::byte* block, const std::byte* other,
                                             const std::uint8_t* tables, std::uint32_t n_lines) {
  const __m256i zero = _mm256_setzero_si256();
  WordSums sums{zero, zero};
  for (std::uint32_t line = 0; line < n_lines; ++line, block += 64, other += 64, tables += 128) {
    add_line(bytes_of(block, other), tables, sums);
  }
  return sums;
}

struct PairSums {
  Sums of[2];
};

QV_INLINE PairSums pair_sums(const std::byte* block, const std::byte* other,
                             const std::uint8_t* tables, std::uint32_t n_lines,
                             std::uint32_t n_bits) {
  const __m256i zero = _mm256_setzero_si256();
  PairSums sums{{{zero, zero}, {zero, zero}}};
  for (std::uint32_t bit = 0; bit < n_bits; ++bit) {
    double_sums(sums.of[0]);
    double_sums(sums.of[1]);
    for (std::uint32_t line = 0; line < n_lines; line += kMaxLines) {
      const std::uint32_t n = std::min(n_lines - line, kMaxLines);
      const WordSums words = sum_lines(block, other, tables + std::size_t{line} * 128, n);
      block += std::size_t{n} * 64;
      other += std::size_t{n} * 64;
      const __m256i even = _mm256_sub_epi16(words.all, _mm256_slli_epi16(words.odd, 8));
      add_words(_mm256_unpacklo_epi16(even, words.odd), sums.of[0]);
      add_words(_mm256_unpackhi_epi16(even, words.odd), sums.of[1]);
    }
  }
  return sums;
}

#include "kernels/codes/ahead.inc"

struct Scale {
  __m256 step;
  __m256 offset;
  __m256 base;
  __m256 threshold;
};

/// Bits of the eight rows that are above the threshold.
QV_INLINE unsigned estimate(__m256i sums, const std::byte* factors, const Scale& scale,
                            float* out) {
  const auto* values = reinterpret_cast<const float*>(factors);
  const __m256 product =
      _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sums), scale.step), scale.offset);
  const __m256 estimates = _mm256_add_ps(_mm256_mul_ps(product, _mm256_load_ps(values)),
                                         _mm256_add_ps(_mm256_load_ps(values + 16), scale.base));
  _mm256_store_ps(out, estimates);
  return static_cast<unsigned>(
      _mm256_movemask_ps(_mm256_cmp_ps(estimates, scale.threshold, _CMP_GT_OQ)));
}

/// Writes the 32 estimates of two blocks; returns the bits of those above the threshold.
QV_INLINE unsigned estimate_pair(const std::byte* block, const std::byte* other,
                                 const CodeTables& query, const CodeBlocks& blocks,
                                 const Scale& scale, float* out) {
  const PairSums sums = pair_sums(block, other, query.tables, blocks.n_lines, blocks.n_bits);
  const std::size_t factors = blocks.block_bytes() - 128;
  unsigned above = estimate(sums.of[0].first, block + factors, scale, out);
  above |= estimate(sums.of[0].last, block + factors + 32, scale, out + 8) << 8;
  above |= estimate(sums.of[1].first, other + factors, scale, out + 16) << 16;
  above |= estimate(sums.of[1].last, other + factors + 32, scale, out + 24) << 24;
  return above;
}

/// Writes the lanes of `mask` side by side. All eight places are written.
QV_INLINE void store_packed(unsigned mask, __m256 scores, __m256i positions, std::size_t at,
                            const CodeHits& hits) {
  const __m256i order = _mm256_cvtepu8_epi32(
      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kLaneMoves.order[mask])));
  _mm256_storeu_ps(hits.scores + at, _mm256_permutevar8x32_ps(scores, order));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(hits.positions + at),
                      _mm256_permutevar8x32_epi32(positions, order));
}

/// `position` is that of row 0 of 32.
QV_INLINE void append(unsigned kept, const float* estimates, std::uint32_t position,
                      CodeHits& hits) {
  __m256i positions = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                       _mm256_set1_epi32(static_cast<int>(position)));
  for (; kept != 0; kept >>= 8, estimates += 8) {
    const unsigned mask = kept & 0xFF;
    if (mask != 0) store_packed(mask, _mm256_load_ps(estimates), positions, hits.n, hits);
    hits.n += static_cast<std::size_t>(__builtin_popcount(mask));
    positions = _mm256_add_epi32(positions, _mm256_set1_epi32(8));
  }
}

/// Two blocks at a time; a last one, or one for which there is little room, is its own other.
std::size_t scan(const CodeTables& query, const CodeBlocks& blocks, float base, float threshold,
                 const std::uint16_t* allowed, std::uint32_t first_position, CodeHits& hits) {
  constexpr std::size_t kRows = CodeBlocks::kRows;
  const std::size_t block_bytes = blocks.block_bytes();
  const std::size_t n_ahead = blocks_ahead(blocks);
  const float offset = -0.5F * static_cast<float>((1U << blocks.n_bits) - 1) * query.absolute;
  const Scale scale{_mm256_set1_ps(query.step), _mm256_set1_ps(offset), _mm256_set1_ps(base),
                    _mm256_set1_ps(threshold)};
  alignas(32) float estimates[2 * kRows];
  for (std::size_t b = 0; b < blocks.n;) {
    if (hits.n + kRows > hits.room) return b;
    const bool is_single = b + 1 == blocks.n || hits.n + 2 * kRows > hits.room;
    const std::size_t first = std::exchange(b, b + (is_single ? 1 : 2));
    const std::size_t other = b - 1;
    unsigned wanted =
        allowed == nullptr ? 0xFFFF'FFFF : allowed[first] | unsigned{allowed[other]} << 16;
    if (is_single) wanted &= 0xFFFF;
    if (wanted == 0) continue;
    for (std::size_t ahead = first; ahead < b; ++ahead) prefetch(blocks, ahead + n_ahead);
    const unsigned kept =
        wanted & estimate_pair(blocks.first + first * block_bytes,
                               blocks.first + other * block_bytes, query, blocks, scale, estimates);
    const auto position = first_position + static_cast<std::uint32_t>(first * kRows);
    append(kept, estimates, position, hits);
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

/// Bits of eight rows, from a bitmap; rows above `last` count as it.
QV_INLINE unsigned bits_of(const std::uint32_t* rows, const std::uint64_t* bits, __m256i last) {
  const __m256i row =
      _mm256_min_epu32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows)), last);
  const __m256i words =
      _mm256_i32gather_epi32(reinterpret_cast<const int*>(bits), _mm256_srli_epi32(row, 5), 4);
  const __m256i to_sign = _mm256_andnot_si256(row, _mm256_set1_epi32(31));
  return static_cast<unsigned>(
      _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sllv_epi32(words, to_sign))));
}

void allowed_of(const std::uint32_t* rows, std::size_t n_blocks, const std::uint64_t* bits,
                std::uint32_t last, std::uint16_t* allowed) {
  const __m256i most = _mm256_set1_epi32(static_cast<int>(last));
  for (std::size_t b = 0; b < n_blocks; ++b, rows += CodeBlocks::kRows) {
    allowed[b] =
        static_cast<std::uint16_t>(bits_of(rows, bits, most) | bits_of(rows + 8, bits, most) << 8);
  }
}

#include "kernels/codes/scalar.inc"

/// Stores never pass the loads, because the count never passes the position.
void compress(CodeHits& hits, float bar) {
  const std::size_t n = std::exchange(hits.n, 0);
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 scores = _mm256_loadu_ps(hits.scores + i);
    const __m256i positions =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(hits.positions + i));
    const auto mask = static_cast<unsigned>(
        _mm256_movemask_ps(_mm256_cmp_ps(scores, _mm256_set1_ps(bar), _CMP_GE_OQ)));
    store_packed(mask, scores, positions, hits.n, hits);
    hits.n += static_cast<std::size_t>(__builtin_popcount(mask));
  }
  for (; i < n; ++i) {
    hits.scores[hits.n] = hits.scores[i];
    hits.positions[hits.n] = hits.positions[i];
    hits.n += hits.scores[hits.n] >= bar;
  }
}

#include "kernels/codes/select.inc"

}  // namespace

constinit const CodeKernels kCodeKernels = {prepare, scan, allowed_of, to_bytes, keep_best};

}  // namespace quiver::avx2
QV_TARGET_END
#endif
