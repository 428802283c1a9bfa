// Bounds on the score of a row, from codes of 8 bits. The same text runs on the device and on the
// CPU.
//
// q is about s q8 and x about t x8, with residuals of lengths e_q and e_x. Then |<q, x> - s t <q8,
// x8>| is at most |q| e_x + e_q |t x8| (Cauchy-Schwarz). Everything is divided by s, so that a
// row's margin is nearly the same for all queries: the largest of a group is taken, and costs
// nothing for each pair. Euclid compares <q, x> - |x|^2 / 2, which orders rows as -|q - x|^2 does.
#pragma once

#include "gpu/abi.h"

#ifdef __CUDACC__
#define QV_ON_BOTH __host__ __device__
#else
#define QV_ON_BOTH
#endif

namespace quiver::gpu::tiles {

/// Rows that share an entry of the sample, and rows of a tile.
inline constexpr unsigned kSlabRows = 16;
inline constexpr unsigned kTileRows = 128;

/// Rows that a query's buffer holds between the pass and its end.
QV_ON_BOTH constexpr unsigned room(unsigned k) { return 64 * k + 4096; }

/// Every how many tiles one is sampled, so that there are four times as many slabs as `k`; at most
/// every 16th.
QV_ON_BOTH constexpr unsigned sample_step(unsigned n_tiles, unsigned k) {
  const unsigned step = n_tiles / (k / 2 + 1);
  return step < 1 ? 1 : step > 16 ? 16 : step;
}

/// Half the width of the interval that holds the row's score, in units of the query's scale.
/// `query` may hold the largest numbers of a group. What comes last is for the f32 arithmetic here
/// and in `center`: 16 roundings of 2^-24.
QV_ON_BOTH inline float margin(const qv_row& row, const qv_query& query, float rounding) {
  const float longest = row.length + row.error;
  const float by_codes = query.length * row.error + query.error * row.length;
  const float by_caller = rounding * (query.length * longest + query.square +
                                      query.half_over_scale * longest * longest);
  const float by_floats =
      0x1p-20F * (row.length * (query.length + query.error) + query.half_over_scale * row.square);
  return (by_codes + by_caller + by_floats) * 1.00001F;
}

/// Half the width of the interval that holds a document's score. Each of the largest products is
/// off by what one product may be off by: |q| |x - half(x)| + |q - half(q)| |half(x)|.
QV_ON_BOTH inline float document_margin(const qv_document& document, const qv_token_query& query,
                                        float rounding) {
  const float longest = document.length + document.error;
  const float by_halves = query.length * document.error + query.error * document.length;
  return (by_halves + rounding * (query.length + query.error) * longest) * 1.00001F;
}

/// The middle of that interval. `sum`: <q8, x8>.
QV_ON_BOTH inline float center(const qv_row& row, const qv_query& query, int sum) {
  return row.scale * static_cast<float>(sum) - query.half_over_scale * row.square;
}

/// False only if the row is certainly worse than `bar`; a NaN is not.
QV_ON_BOTH inline bool may_reach(float upper, float bar) { return !(upper < bar); }

}  // namespace quiver::gpu::tiles
