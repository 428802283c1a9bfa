// Messages about parts of collections: bytes become a question or are refused, and what was read is
// written as it was read.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cluster/parts/codec.h"
#include "cluster/parts/forms.h"
#include "engine/model/found.h"
#include "engine/model/operation.h"
#include "engine/model/query.h"

namespace quiver::fuzz {
namespace {

template <class T>
void read_and_write(std::string_view bytes) {
  namespace codec = cluster::codec;
  codec::Reader in(bytes);
  T value = codec::blank<T>();
  codec::take(in, value);
  if (!in.is_whole()) return;
  std::string first;
  codec::put(first, value);
  codec::Reader again(first);
  T copy = codec::blank<T>();
  codec::take(again, copy);
  std::string second;
  codec::put(second, copy);
  if (again.is_whole() && first == second) return;
  std::fprintf(stderr, "what was written is not what was read\n");
  std::abort();
}

}  // namespace
}  // namespace quiver::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quiver;  // NOLINT(google-build-using-namespace): one function
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      fuzz::read_and_write<engine::Query>(bytes);
      break;
    case 1:
      fuzz::read_and_write<std::vector<engine::Operation>>(bytes);
      break;
    default:
      fuzz::read_and_write<engine::FoundPoints>(bytes);
      break;
  }
  return 0;
}
