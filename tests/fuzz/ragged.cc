// Ragged bodies: never a crash, and an error that says 400.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "service/binary/ragged.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quiver;
  const std::string body(reinterpret_cast<const char*>(data), size);
  const FieldSchema field{"tokens", FieldKind::kMulti, 2, DType::kF32, Metric::kDot, {}};
  const auto decoded = service::decode_ragged(body, field, service::RaggedPayloads::kTaken);
  const auto joined = service::decode_ragged_points(body, std::span(&field, 1));
  if (!joined && (joined.error().status / 100 != 4 || joined.error().text.empty())) std::abort();
  if (!decoded && (decoded.error().status != 400 || decoded.error().text.empty())) std::abort();
  return 0;
}
