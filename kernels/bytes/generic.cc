// Plain loops, which the other levels equal bit for bit.
#include "kernels/levels.h"

namespace quiver::generic {
namespace {

#include "kernels/forms.inc"

enum class Sum { kDot, kL2, kL1 };

inline std::int32_t signed_value(std::byte value) { return static_cast<std::int8_t>(value); }
inline std::int32_t unsigned_value(std::byte value) { return static_cast<std::uint8_t>(value); }

struct U8 {
  static std::int32_t at(std::byte value) { return unsigned_value(value); }
};
struct I8 {
  static std::int32_t at(std::byte value) { return signed_value(value); }
};
// i8 as u8, plus 128.
struct Raised {
  static std::int32_t at(std::byte value) { return signed_value(value) + 128; }
};

template <Sum sum, class Row, class QueryValue, class ScoreValue>
struct ByteSums {
  using Query = QueryValue;
  using Score = ScoreValue;
  static constexpr std::size_t kManyRows = 1;
  static constexpr std::size_t kGatherRows = 1;
  static constexpr std::size_t kGatherAhead = 4;
  static constexpr std::size_t kGatherBytes = 512;
  static constexpr std::size_t kTileQueries = 1;
  static constexpr std::size_t kTileRows = 1;
  static constexpr std::size_t kLongRow = kNeverLong;
  static std::size_t row_bytes(std::uint32_t dim) { return dim; }

  static std::uint32_t term(std::int32_t q, std::int32_t r) {
    const std::int32_t difference = q - r;
    return static_cast<std::uint32_t>(sum == Sum::kDot  ? q * r
                                      : sum == Sum::kL2 ? difference * difference
                                      : difference < 0  ? -difference
                                                        : difference);
  }

  template <std::size_t n_queries, std::size_t n_rows>
  static void score(const Query* query, std::size_t, std::size_t dim,
                    const std::byte* const (&rows)[n_rows], Score* out, std::size_t) {
    static_assert(n_queries == 1 && n_rows == 1);
    std::uint32_t total = 0;
    for (std::size_t i = 0; i < dim; ++i) total += term(query[i], Row::at(rows[0][i]));
    *out = static_cast<Score>(total);
  }
};

}  // namespace

constinit const ByteKernels kByteKernels = {
    {kForms<ByteSums<Sum::kDot, U8, std::uint8_t, std::uint32_t>>,
     kForms<ByteSums<Sum::kL2, U8, std::uint8_t, std::uint32_t>>,
     kForms<ByteSums<Sum::kL1, U8, std::uint8_t, std::uint32_t>>},
    kForms<ByteSums<Sum::kDot, U8, std::int8_t, std::int32_t>>,
    kForms<ByteSums<Sum::kDot, I8, std::uint8_t, std::int32_t>>,
    kForms<ByteSums<Sum::kL2, Raised, std::uint8_t, std::uint32_t>>,
    kForms<ByteSums<Sum::kL1, Raised, std::uint8_t, std::uint32_t>>};

}  // namespace quiver::generic
