#include "index/multi/token_source.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace quiver::index::multi {

// Rows of other types were of unit length before they were stored.
TokenSource::TokenSource(const FieldColumn& column)
    : tokens_(column.multi().tokens),
      offsets_(column.multi().offsets.span()),
      normalise_(column.schema.metric == Metric::kCosine && tokens_.dtype == DType::kU8) {}

void TokenSource::read(std::uint64_t token, float* out) const {
  const auto& convert = kernels().convert;
  const std::byte* from = tokens_.bytes.data() + token * tokens_.stride();
  const std::size_t n = tokens_.dim;
  switch (tokens_.dtype) {
    case DType::kF32:
      std::copy_n(reinterpret_cast<const float*>(from), n, out);
      break;
    case DType::kF16:
      convert.f16_to_f32(reinterpret_cast<const std::uint16_t*>(from), n, out);
      break;
    case DType::kU8:
      convert.u8_to_f32(reinterpret_cast<const std::uint8_t*>(from), n, out);
      break;
  }
  if (!normalise_) return;
  const double norm = convert.norm(out, n);
  if (norm > 0) convert.scale(out, n, 1.0 / norm, out);
}

}  // namespace quiver::index::multi
