#include <algorithm>

#include "kernels/half.h"
#include "kernels/levels.h"

namespace quiver::generic {
namespace {

float to_float(float value) { return value; }
float to_float(std::uint16_t half) { return half_to_float(half); }
float to_float(std::uint8_t code) { return code; }

template <class Term, class Value>
float score(const float* table, std::uint32_t last, const std::byte* terms, const std::byte* values,
            std::size_t n) {
  const auto* term = reinterpret_cast<const Term*>(terms);
  const auto* value = reinterpret_cast<const Value*>(values);
  float sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += table[std::min<std::uint32_t>(term[i], last)] * to_float(value[i]);
  }
  return sum;
}

float score_gaps(const float* table, std::uint32_t last, const std::byte* record, std::size_t n) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(record);
  const std::uint8_t* codes = bytes + n / 8;
  const std::uint8_t* gap = codes + n;
  std::uint32_t term = 0;
  float sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    term += *gap++;
    if ((bytes[i / 8] >> i % 8 & 1) != 0) term += static_cast<std::uint32_t>(*gap++) << 8;
    sum += table[std::min(term, last)] * codes[i];
  }
  return sum;
}

}  // namespace

constinit const RecordKernels kRecordKernels = {
    {{score<std::uint16_t, float>, score<std::uint16_t, std::uint16_t>,
      score<std::uint16_t, std::uint8_t>},
     {score<std::uint32_t, float>, score<std::uint32_t, std::uint16_t>,
      score<std::uint32_t, std::uint8_t>}},
    score_gaps};

}  // namespace quiver::generic
