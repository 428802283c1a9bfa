// One query read twice: as it is, so that a plain vector is read past the JSON tree, and with a
// name escaped before it, so that the tree reads it. The input is what follows the vector's name.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <variant>

#include "service/json/decode/decode.h"

namespace quiver::service::json {
namespace {

using engine::Query;

[[noreturn]] void fail(const char* what, const std::string& rest) {
  std::fprintf(stderr, "the two ways disagree in %s: %s\n", what, rest.c_str());
  std::abort();
}

const engine::VectorValue* vector_of(const Query& query) {
  const auto* nearest = std::get_if<engine::Nearest>(&query.kind);
  return nearest == nullptr ? nullptr : std::get_if<engine::VectorValue>(&nearest->vector);
}

void compare(const Query& quick, const Query& slow, const std::string& rest) {
  if (quick.kind.index() != slow.kind.index()) fail("the kind", rest);
  if (quick.limit != slow.limit || quick.using_field != slow.using_field) fail("a member", rest);
  const auto* values = vector_of(quick);
  const auto* expected = vector_of(slow);
  if ((values == nullptr) != (expected == nullptr)) fail("what the vector is", rest);
  // The sign of a zero may differ: the tree reads "-0" as an integer.
  if (values != nullptr && *values != *expected) fail("the values", rest);
}

template <class Decode>
void read_twice(Decode decode, const std::string& member, const std::string& rest) {
  std::string plain = R"({"limit":3,")" + member + "\":" + rest;
  std::string escaped = R"({"l\u0069mit":3,")" + member + "\":" + rest;
  const auto quick = decode(plain);
  const auto slow = decode(escaped);
  if (quick.has_value() != slow.has_value()) fail("whether it is one", rest);
  if (quick) return compare(*quick, *slow, rest);
  if (quick.error().status != slow.error().status) fail("the status", rest);
}

}  // namespace
}  // namespace quiver::service::json

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace json = quiver::service::json;
  const std::string rest(reinterpret_cast<const char*>(data), size);
  json::read_twice(json::decode_query, "query", rest);
  json::read_twice(json::decode_search, "vector", rest);
  return 0;
}
