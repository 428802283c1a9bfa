// Like avx512.cc, eight entries at a time. vpermd and vblendvps select from the filter's four
// registers. vpermd packs and spreads entries, with a table of the 256 masks. Weights are plain
// loads: the gather instruction is slower on Zen 4. Two registers hold the sums (lane = position in
// the row mod 16).
//
// Cycles of one on Zen 4 (Haswell): vpermd .5 (1), vblendvps .5 (2), vpmovzxbd .5 (1).
// Measured on Zen 4, as in avx512.cc: 159 ns a row, 44 % of the bandwidth of reading.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/lane_moves.h"
#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX2)
namespace quiver::avx2 {
namespace {

constexpr std::size_t kWidth = 8;
using Mask = std::uint8_t;

__m128i load_eight(const std::uint8_t* bytes) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
}

__m256i first_lanes(std::size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n < kWidth ? n : kWidth)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// The next 8 entries; `n` remain, and lanes beyond them are zero.
__m256i load_indices(const std::uint32_t* indices, std::size_t n) {
  if (n >= kWidth) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(indices));
  return _mm256_maskload_epi32(reinterpret_cast<const int*>(indices), first_lanes(n));
}
__m256 load_values(const float* values, std::size_t n) {
  return n >= kWidth ? _mm256_loadu_ps(values) : _mm256_maskload_ps(values, first_lanes(n));
}

struct FilterRegisters {
  explicit FilterRegisters(const SparseFilter& filter) {
    for (std::size_t i = 0; i < 4; ++i) {
      words[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(filter.words + 8 * i));
    }
  }
  [[nodiscard]] __m256 pick(std::size_t i, __m256i at) const {
    return _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(words[i], at));
  }

  [[nodiscard]] Mask test(__m256i indices, std::size_t n) const {
    const __m256i at = _mm256_srli_epi32(indices, 5);
    const __m256 bit8 = _mm256_castsi256_ps(_mm256_slli_epi32(indices, 23));
    const __m256 bit9 = _mm256_castsi256_ps(_mm256_slli_epi32(indices, 22));
    const __m256 word = _mm256_blendv_ps(_mm256_blendv_ps(pick(0, at), pick(1, at), bit8),
                                         _mm256_blendv_ps(pick(2, at), pick(3, at), bit8), bit9);
    const __m256i shift = _mm256_and_si256(indices, _mm256_set1_epi32(31));
    const __m256i set = _mm256_sllv_epi32(_mm256_castps_si256(word), shift);
    const unsigned all = n < kWidth ? (1u << n) - 1u : 0xffu;
    return static_cast<Mask>(static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(set))) &
                             all);
  }

  __m256i words[4];
};

void pack(Mask mask, __m256i indices, std::uint32_t* out) {
  const __m256i order = _mm256_cvtepu8_epi32(load_eight(kLaneMoves.order[mask]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_permutevar8x32_epi32(indices, order));
}
__m256 spread(Mask mask, const float* packed) {
  const __m256i rank = _mm256_cvtepi8_epi32(load_eight(kLaneMoves.rank[mask]));
  const __m256 moved = _mm256_permutevar8x32_ps(_mm256_loadu_ps(packed), rank);
  return _mm256_andnot_ps(_mm256_castsi256_ps(_mm256_srai_epi32(rank, 31)), moved);
}

// An implicit constructor would not belong to the region.
struct Sums {
  Sums() : low(_mm256_setzero_ps()), high(_mm256_setzero_ps()) {}
  void add(std::size_t j, __m256 weights, __m256 values) {
    __m256& sum = j % 16 == 0 ? low : high;
    sum = _mm256_fmadd_ps(weights, values, sum);
  }
  // Adding +0 turns -0 into +0, see generic.cc.
  [[nodiscard]] float total() const {
    const __m256 eight = _mm256_add_ps(low, high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two))) + 0.0f;
  }

  __m256 low;
  __m256 high;
};

struct RowCandidates;
bool look_up_scattered(const SparseQuery& query, RowCandidates& row);

#include "kernels/sparse/candidates.inc"

bool look_up_scattered(const SparseQuery& query, RowCandidates& row) {
  std::uint32_t found = 0;
  for (std::size_t c = 0; c < row.n; ++c) {
    const std::uint32_t index = row.indices[c];
    const float weight = query.scattered[index < query.dim ? index : query.dim];
    found |= __builtin_bit_cast(std::uint32_t, weight);
    row.weights[c] = weight;
  }
  return found != 0;
}

#include "kernels/sparse/rows.inc"

}  // namespace

constinit const SparseKernels kSparseKernels = {many, gather};

}  // namespace quiver::avx2
QV_TARGET_END
#endif
