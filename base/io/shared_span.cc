#include "base/io/shared_span.h"

#include <fmt/format.h>

namespace quiver::detail {

Result<> check_span_shape(const void* data, std::size_t n_bytes, std::size_t element_size,
                          std::size_t alignment) {
  if (n_bytes % element_size != 0) {
    return fail(Code::kDataLoss, fmt::format("{} bytes do not hold whole elements of {} bytes",
                                             n_bytes, element_size));
  }
  if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0) {
    return fail(Code::kDataLoss,
                fmt::format("elements of {} bytes do not start on a boundary of {} bytes",
                            element_size, alignment));
  }
  return {};
}

}  // namespace quiver::detail
