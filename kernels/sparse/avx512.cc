// Few entries of a row are in the query (4 of 193 for SPLADE), and gathers cost the most. So a
// filter of 1,024 bits in two registers first rejects the other entries: shift, vpermi2d, vprolvd,
// vpmovd2m for sixteen of them. vpcompressd packs what remains, one gather looks it up, and
// vpexpandps spreads it back. One register holds the sums (lane = position in the row mod 16); the
// next row hides its latency.
//
// Cycles of one on Zen 4 (Golden Cove): vgatherdps zmm 21 (11); vpermi2d, vprolvd 1 (1);
// vpcompressd and vexpandps from and to registers 2 (2).
//
// Measured on Zen 4 (family 25, model 17), g++ 12.2, by sparse_bench: 100,000 rows of 193 entries
// of 30,522 dimensions, queries of 26, from memory: 82-98 ns a row, 75-90 % of the bandwidth of
// reading; a gather for every entry takes 145 ns, generic 282. Walking the bits of the masks
// instead of packing them takes 165, a branch for registers without a candidate 150: both
// mispredict too often. Software prefetch was no faster.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

constexpr std::size_t kWidth = 16;
using Mask = __mmask16;

Mask first_lanes(std::size_t n) { return static_cast<Mask>(n < kWidth ? (1u << n) - 1u : 0xffffu); }

// The next 16 entries; `n` remain, and lanes beyond them are zero.
__m512i load_indices(const std::uint32_t* indices, std::size_t n) {
  return _mm512_maskz_loadu_epi32(first_lanes(n), indices);
}
__m512 load_values(const float* values, std::size_t n) {
  return _mm512_maskz_loadu_ps(first_lanes(n), values);
}

struct FilterRegisters {
  explicit FilterRegisters(const SparseFilter& filter)
      : low(_mm512_loadu_si512(filter.words)), high(_mm512_loadu_si512(filter.words + 16)) {}

  Mask test(__m512i indices, std::size_t n) const {
    const __m512i word = _mm512_permutex2var_epi32(low, _mm512_srli_epi32(indices, 5), high);
    const Mask set = _mm512_movepi32_mask(_mm512_rolv_epi32(word, indices));
    return static_cast<Mask>(set & first_lanes(n));
  }

  __m512i low;
  __m512i high;
};

void pack(Mask mask, __m512i indices, std::uint32_t* out) {
  _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(mask, indices));
}
__m512 spread(Mask mask, const float* packed) {
  return _mm512_maskz_expand_ps(mask, _mm512_loadu_ps(packed));
}

// An implicit constructor would not belong to the region.
struct Sums {
  Sums() : lanes(_mm512_setzero_ps()) {}
  void add(std::size_t, __m512 weights, __m512 values) {
    lanes = _mm512_fmadd_ps(weights, values, lanes);
  }
  // Adding +0 turns -0 into +0, see generic.cc.
  [[nodiscard]] float total() const {
    const __m256 eight =
        _mm256_add_ps(_mm512_castps512_ps256(lanes), _mm512_extractf32x8_ps(lanes, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two))) + 0.0f;
  }

  __m512 lanes;
};

struct RowCandidates;
bool look_up_scattered(const SparseQuery& query, RowCandidates& row);

#include "kernels/sparse/candidates.inc"

bool look_up_scattered(const SparseQuery& query, RowCandidates& row) {
  const __m512i beyond = _mm512_set1_epi32(static_cast<int>(query.dim));
  __m512i found = _mm512_setzero_si512();
  for (std::size_t c = 0; c < row.n; c += kWidth) {
    const Mask left = first_lanes(row.n - c);
    const __m512i at = _mm512_min_epu32(_mm512_load_si512(row.indices + c), beyond);
    const __m512 weights =
        _mm512_mask_i32gather_ps(_mm512_setzero_ps(), left, at, query.scattered, 4);
    found = _mm512_or_epi32(found, _mm512_castps_si512(weights));
    _mm512_store_ps(row.weights + c, weights);
  }
  return _mm512_test_epi32_mask(found, found) != 0;
}

#include "kernels/sparse/rows.inc"

}  // namespace

constinit const SparseKernels kSparseKernels = {many, gather};

}  // namespace quiver::avx512
QV_TARGET_END
#endif
