// One bit a dimension: 64 bytes of a code against the query, one vpopcntq a register, the counts
// added in 64-bit lanes; the query comes from L1, once for four codes.
//
// vpopcntq zmm: latency 2 on Zen 4, 3 on Golden Cove, one per cycle on both. Four codes a pass:
// four chains of additions, and one transposition that adds the lanes of all four.
//
// QV_MEASURED
#if defined(__x86_64__)
#include <immintrin.h>

#include <utility>

#include "kernels/levels.h"
#include "kernels/target.h"

QV_TARGET_BEGIN(QV_AVX512)
namespace quiver::avx512 {
namespace {

#include "kernels/forms.inc"
#include "kernels/unroll.inc"

struct Shape {
  static constexpr std::size_t kManyRows = 4;
  static constexpr std::size_t kGatherRows = 4;
  static constexpr std::size_t kGatherAhead = 8;
  static constexpr std::size_t kGatherBytes = 512;
  static constexpr std::size_t kTileQueries = 4;
  static constexpr std::size_t kTileRows = 4;
  static constexpr std::size_t kLongRow = 257;
};

#include "kernels/avx512_bytes.inc"

#include "kernels/byte_rows.inc"

using Codes = Plain<std::uint8_t, std::uint32_t>;

struct Hamming : Codes {
  static V add(V sum, V q, V r) {
    return _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_xor_si512(q, r)));
  }
};

inline __m512i count_common(__m512i q, __m512i r) {
  return _mm512_popcnt_epi64(_mm512_and_si512(q, r));
}

struct Common : Codes {
  static V add(V sum, V q, V r) { return _mm512_add_epi64(sum, count_common(q, r)); }
};

// The sum of one plane, worth 2^plane each.
template <int plane>
struct Plane : Codes {
  static V add(V sum, V q, V r) {
    return _mm512_add_epi64(sum, _mm512_slli_epi64(count_common(q, r), plane));
  }
};

#include "kernels/binary/planes.inc"

}  // namespace

constinit const BinaryKernels kBinaryKernels = {kForms<Bytes<Hamming>>, kForms<Bytes<Common>>,
                                                kForms<Planes>};

}  // namespace quiver::avx512
QV_TARGET_END
#endif
