#include "kernels/half.h"
#include "kernels/levels.h"

namespace quiver::generic {
namespace {

float to_float(float value) { return value; }
float to_float(std::uint16_t half) { return half_to_float(half); }
float to_float(std::uint8_t code) { return code; }

template <class Term, class Value>
float score(const float* table, const std::byte* terms, const std::byte* values, std::size_t n) {
  const auto* term = reinterpret_cast<const Term*>(terms);
  const auto* value = reinterpret_cast<const Value*>(values);
  float sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += table[term[i]] * to_float(value[i]);
  return sum;
}

}  // namespace

constinit const RecordKernels kRecordKernels = {
    {{score<std::uint16_t, float>, score<std::uint16_t, std::uint16_t>,
      score<std::uint16_t, std::uint8_t>},
     {score<std::uint32_t, float>, score<std::uint32_t, std::uint16_t>,
      score<std::uint32_t, std::uint8_t>}}};

}  // namespace quiver::generic
