// A line of 16 rows takes two look-ups of 64 bytes and two instructions that add the four bytes of
// each dword. Byte i of a dword is looked up in quarter i of the table. Rows that pass are
// compressed inside a register: a compressing store is microcoded on Zen 4.
//
// vpermb zmm: one per cycle on Zen 4 and Golden Cove (latency 3 there); vpdpbusd zmm: latency 4 and
// 5 to 6, one per cycle on Zen 4, two on Golden Cove; vpternlogd: 1, two per cycle on both;
// vpcompressd zmm: one in two cycles on both. There are two sums, one for the look-ups of low
// halves and one for those of high halves. Blocks do not wait for each other, and four sums were no
// faster on Golden Cove. Blocks are prefetched into L2: prefetching into L1 halved the bandwidth on
// Zen 4 and was no faster on Golden Cove.
//
// Measured on Zen 4 (family 25, model 17), g++ 12.2, by codes_bench: 1.28 ns a row of 384 bits from
// L2; the instructions alone take .89 on registers. On an Intel processor of two products a cycle
// (family 6; it calls itself model 167; 2.2 GHz), shared, medians: 3.5 ns from L2 (56 %), 4.6 from
// L3 (67 % of the bandwidth of reading), 8.0 from memory (85 %). By steps_bench: 4 bits 12.6 ns a
// row (67 %), prepare 1.7 ns a dimension (59 %), allowed .34 a row (96 % of gathers), to_bytes .13
// a value (86 %), keep_best 1.3 a hit, 256 of 2,048.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

#include "kernels/codes/groups.inc"

/// Lane 4 j holds (v0 + v1) + (v2 + v3) of group j.
QV_INLINE __m512 add_by_pairs(__m512 values) {
  const __m512 pairs = _mm512_add_ps(values, _mm512_permute_ps(values, 0b10110001));
  return _mm512_add_ps(pairs, _mm512_permute_ps(pairs, 0b01001110));
}

/// Lane 4 j holds ((v0 + v1) + v2) + v3 of group j.
QV_INLINE __m512 add_in_order(__m512 values) {
  __m512 sum = _mm512_add_ps(values, _mm512_permute_ps(values, 0b01010101));
  sum = _mm512_add_ps(sum, _mm512_permute_ps(values, 0b10101010));
  return _mm512_add_ps(sum, _mm512_permute_ps(values, 0b11111111));
}

/// Four groups at a time.
Ranges measure(const float* query, std::size_t n_groups) {
  __m512 widest = _mm512_setzero_ps();
  __m512 sums = _mm512_setzero_ps();
  for (std::size_t g = 0; g < n_groups; g += 4) {
    const __m512 ranges = add_by_pairs(_mm512_abs_ps(_mm512_loadu_ps(query + g * 4)));
    sums = _mm512_add_ps(sums, ranges);
    widest = _mm512_max_ps(widest, ranges);
  }
  alignas(64) float lanes[16];
  _mm512_store_ps(lanes, sums);
  return {_mm512_reduce_max_ps(widest), (lanes[0] + lanes[4]) + (lanes[8] + lanes[12])};
}

/// Broadcasts lane `lane` of `values`.
QV_INLINE __m512 everywhere(__m512 values, std::size_t lane) {
  return _mm512_permutexvar_ps(_mm512_set1_epi32(static_cast<int>(lane)), values);
}

/// Lane i adds the dimensions that are set in i, in their order.
QV_INLINE __m128i table_of_group(__m512 values, __m512 least, std::size_t group, __m512 per_unit) {
  constexpr __mmask16 kSets[4] = {0xAAAA, 0xCCCC, 0xF0F0, 0xFF00};
  __m512 sum = _mm512_sub_ps(_mm512_setzero_ps(), everywhere(least, group * 4));
  QV_UNROLL for (std::size_t k = 0; k < 4; ++k) {
    sum = _mm512_mask_add_ps(sum, kSets[k], sum, everywhere(values, group * 4 + k));
  }
  const __m512i units = _mm512_cvtps_epi32(_mm512_mul_ps(sum, per_unit));
  return _mm512_cvtusepi32_epi8(_mm512_max_epi32(units, _mm512_setzero_si512()));
}

void write_tables(const float* query, std::size_t n_groups, float per_unit, std::uint8_t* tables) {
  const __m512 factor = _mm512_set1_ps(per_unit);
  for (std::size_t g = 0; g < n_groups; g += 4) {
    const __m512 values = _mm512_loadu_ps(query + g * 4);
    const __m512 least = add_in_order(_mm512_min_ps(values, _mm512_setzero_ps()));
    QV_UNROLL for (std::size_t j = 0; j < 4; ++j) {
      auto* table = reinterpret_cast<__m128i*>(table_of(tables, g + j));
      _mm_store_si128(table, table_of_group(values, least, j, factor));
    }
  }
}

#include "kernels/codes/tables.inc"

struct Sums {
  __m512i low;
  __m512i high;
};

QV_INLINE void add_line(const std::byte* line, const std::uint8_t* tables, Sums& sums) {
  constexpr int kAndOr = 0xEA;  // (a & b) | c
  const __m512i nibble = _mm512_set1_epi8(15);
  const __m512i quarter = _mm512_set1_epi32(0x30201000);
  const __m512i ones = _mm512_set1_epi8(1);
  const __m512i codes = _mm512_load_si512(line);
  const __m512i low = _mm512_ternarylogic_epi32(codes, nibble, quarter, kAndOr);
  const __m512i high =
      _mm512_ternarylogic_epi32(_mm512_srli_epi32(codes, 4), nibble, quarter, kAndOr);
  sums.low =
      _mm512_dpbusd_epi32(sums.low, _mm512_permutexvar_epi8(low, _mm512_load_si512(tables)), ones);
  sums.high = _mm512_dpbusd_epi32(
      sums.high, _mm512_permutexvar_epi8(high, _mm512_load_si512(tables + 64)), ones);
}

QV_INLINE __m512i block_sums(const std::byte* block, const std::uint8_t* tables,
                             std::uint32_t n_lines, std::uint32_t n_bits) {
  Sums sums{_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (std::uint32_t bit = 0; bit < n_bits; ++bit) {
    sums.low = _mm512_slli_epi32(sums.low, 1);
    sums.high = _mm512_slli_epi32(sums.high, 1);
    for (std::uint32_t line = 0; line < n_lines; ++line, block += 64) {
      add_line(block, tables + std::size_t{line} * 128, sums);
    }
  }
  return _mm512_add_epi32(sums.low, sums.high);
}

QV_INLINE void append(__mmask16 kept, __m512 estimates, __m512i positions, CodeHits& hits) {
  _mm512_storeu_ps(hits.scores + hits.n, _mm512_maskz_compress_ps(kept, estimates));
  _mm512_storeu_si512(hits.positions + hits.n, _mm512_maskz_compress_epi32(kept, positions));
  hits.n += static_cast<std::size_t>(__builtin_popcount(kept));
}

#include "kernels/codes/ahead.inc"

template <bool one_bit>
std::size_t scan_blocks(const CodeTables& query, const CodeBlocks& blocks, float base,
                        float threshold, const std::uint16_t* allowed, std::uint32_t first_position,
                        CodeHits& hits) {
  const std::uint32_t n_bits = one_bit ? 1 : blocks.n_bits;
  const std::size_t block_bytes = blocks.block_bytes();
  const __m512 step = _mm512_set1_ps(query.step);
  const __m512 offset =
      _mm512_set1_ps(-0.5F * static_cast<float>((1U << n_bits) - 1) * query.absolute);
  const __m512 bases = _mm512_set1_ps(base);
  const __m512 bar = _mm512_set1_ps(threshold);
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const std::size_t n_ahead = blocks_ahead(blocks);
  const std::byte* block = blocks.first;
  for (std::size_t b = 0; b < blocks.n; ++b, block += block_bytes) {
    if (hits.n + CodeBlocks::kRows > hits.room) return b;
    const __mmask16 wanted = allowed == nullptr ? 0xFFFF : allowed[b];
    if (wanted == 0) continue;
    prefetch(blocks, b + n_ahead);
    const __m512 sums = _mm512_cvtepi32_ps(block_sums(block, query.tables, blocks.n_lines, n_bits));
    const std::byte* factors = block + block_bytes - 128;
    const __m512 product = _mm512_add_ps(_mm512_mul_ps(sums, step), offset);
    const __m512 estimates = _mm512_add_ps(_mm512_mul_ps(product, _mm512_load_ps(factors)),
                                           _mm512_add_ps(_mm512_load_ps(factors + 64), bases));
    const __mmask16 kept = _mm512_mask_cmp_ps_mask(wanted, estimates, bar, _CMP_GT_OQ);
    if (kept == 0) continue;
    const auto first = static_cast<int>(first_position + b * CodeBlocks::kRows);
    append(kept, estimates, _mm512_add_epi32(lanes, _mm512_set1_epi32(first)), hits);
  }
  return blocks.n;
}

std::size_t scan(const CodeTables& query, const CodeBlocks& blocks, float base, float threshold,
                 const std::uint16_t* allowed, std::uint32_t first_position, CodeHits& hits) {
  const auto run = blocks.n_bits == 1 ? scan_blocks<true> : scan_blocks<false>;
  return run(query, blocks, base, threshold, allowed, first_position, hits);
}

void allowed_of(const std::uint32_t* rows, std::size_t n_blocks, const std::uint64_t* bits,
                std::uint32_t last, std::uint16_t* allowed) {
  const __m512i most = _mm512_set1_epi32(static_cast<int>(last));
  const __m512i low_five = _mm512_set1_epi32(31);
  for (std::size_t b = 0; b < n_blocks; ++b, rows += CodeBlocks::kRows) {
    const __m512i row = _mm512_min_epu32(_mm512_loadu_si512(rows), most);
    const __m512i words = _mm512_i32gather_epi32(_mm512_srli_epi32(row, 5), bits, 4);
    const __m512i bit = _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(row, low_five));
    allowed[b] = _mm512_test_epi32_mask(words, bit);
  }
}

std::int32_t to_bytes(const float* in, std::size_t n, float scale, std::int8_t* out) {
  const __m512 factor = _mm512_set1_ps(scale);
  const __m512 most = _mm512_set1_ps(127);
  const __m512 least = _mm512_set1_ps(-127);
  __m512i sum = _mm512_setzero_si512();
  for (std::size_t i = 0; i < n; i += 16) {
    const __m512 value = _mm512_mul_ps(_mm512_loadu_ps(in + i), factor);
    const __m512i whole = _mm512_cvtps_epi32(_mm512_max_ps(_mm512_min_ps(value, most), least));
    sum = _mm512_add_epi32(sum, whole);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm512_cvtepi32_epi8(whole));
  }
  return _mm512_reduce_add_epi32(sum);
}

std::pair<float, float> extremes(const float* scores, std::size_t n) {
  __m512 low = _mm512_set1_ps(scores[0]);
  __m512 high = low;
  for (std::size_t i = 0; i < n; i += 16) {
    const auto present = static_cast<__mmask16>(n - i >= 16 ? 0xFFFF : (1U << (n - i)) - 1);
    const __m512 values = _mm512_maskz_loadu_ps(present, scores + i);
    low = _mm512_mask_min_ps(low, present, low, values);
    high = _mm512_mask_max_ps(high, present, high, values);
  }
  return {_mm512_reduce_min_ps(low), _mm512_reduce_max_ps(high)};
}

std::size_t count_at_least(const float* scores, std::size_t n, float bar) {
  const __m512 bars = _mm512_set1_ps(bar);
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    count += static_cast<std::size_t>(
        __builtin_popcount(_mm512_cmp_ps_mask(_mm512_loadu_ps(scores + i), bars, _CMP_GE_OQ)));
  }
  for (; i < n; ++i) count += scores[i] >= bar;
  return count;
}

/// Stores never pass the loads, because the count never passes the position.
void compress(CodeHits& hits, float bar) {
  const __m512 bars = _mm512_set1_ps(bar);
  const std::size_t n = std::exchange(hits.n, 0);
  for (std::size_t i = 0; i < n; i += 16) {
    const auto present = static_cast<__mmask16>(n - i >= 16 ? 0xFFFF : (1U << (n - i)) - 1);
    const __m512 scores = _mm512_maskz_loadu_ps(present, hits.scores + i);
    const __m512i positions = _mm512_maskz_loadu_epi32(present, hits.positions + i);
    const __mmask16 kept = _mm512_mask_cmp_ps_mask(present, scores, bars, _CMP_GE_OQ);
    const auto n_kept = static_cast<unsigned>(__builtin_popcount(kept));
    const auto front = static_cast<__mmask16>((1U << n_kept) - 1);
    _mm512_mask_storeu_ps(hits.scores + hits.n, front, _mm512_maskz_compress_ps(kept, scores));
    _mm512_mask_storeu_epi32(hits.positions + hits.n, front,
                             _mm512_maskz_compress_epi32(kept, positions));
    hits.n += n_kept;
  }
}

#include "kernels/codes/select.inc"

}  // namespace

constinit const CodeKernels kCodeKernels = {prepare, scan, allowed_of, to_bytes, keep_best};

}  // namespace quiver::avx512
QV_TARGET_END
#endif
