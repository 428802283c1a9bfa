// Lines of JSON to be imported, as points and as payloads.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "app/import/reading/point_line.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quiver;
  if (size == 0) return 0;
  std::string line(reinterpret_cast<const char*>(data) + 1, size - 1);
  app::PayloadRules rules;
  if ((data[0] & 1U) != 0) rules.keys = {"a", "id"};
  if ((data[0] & 2U) != 0) rules.id_column = "id";
  const auto payload = app::read_payload_line(line, rules);
  if (!payload && payload.error().message().empty()) std::abort();
  const auto point = app::read_point_line(line, rules);
  if (!point && point.error().message().empty()) std::abort();
  return 0;
}
