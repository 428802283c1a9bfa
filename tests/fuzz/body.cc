// Every decoder of a JSON body, chosen by the first byte: never a crash, and an error that says 400
// or 422.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

template <class T>
void check(const Decoded<T>& decoded) {
  if (decoded) return;
  const bool is_client_error = decoded.error().status == 400 || decoded.error().status == 422;
  if (!is_client_error || decoded.error().text.empty()) std::abort();
}

void check_collection(std::string& body) {
  const auto config = decode_collection(body, {});
  check(config);
  if (!config) return;
  engine::CollectionInfo info;
  info.config = *config;
  std::string out;
  Writer writer(out);
  write_collection_info(writer, info);
}

void check_patch(std::string& body) {
  const auto patch = CollectionPatch::decode(body);
  check(patch);
  if (!patch) return;
  engine::CollectionConfig config;
  config.client_settings = R"({"vectors":{"size":4,"distance":"Dot"},"hnsw_config":{"m":4}})";
  config.fields.emplace_back();
  [[maybe_unused]] const auto applied = patch->apply(config);
}

void decode(unsigned which, std::string& body) {
  switch (which % 20) {
    case 0:
      return check(decode_query(body));
    case 1:
      return check(decode_query_batch(body));
    case 2:
      return check(decode_search(body));
    case 3:
      return check(decode_search_batch(body));
    case 4:
      return check(decode_retrieve(body));
    case 5:
      return check(decode_scroll(body));
    case 6:
      return check(decode_count(body));
    case 7:
      return check(decode_upsert(body));
    case 8:
      return check(decode_delete_points(body));
    case 9:
      return check(decode_set_payload(body));
    case 10:
      return check(decode_overwrite_payload(body));
    case 11:
      return check(decode_delete_payload(body));
    case 12:
      return check(decode_clear_payload(body));
    case 13:
      return check(decode_update_vectors(body));
    case 14:
      return check(decode_delete_vectors(body));
    case 15:
      return check(decode_operations(body));
    case 16:
      return check_collection(body);
    case 17:
      return check_patch(body);
    case 18:
      check(decode_index(body));
      return check(decode_alias_actions(body));
    default:
      return check(decode_explain(body));
  }
}

}  // namespace
}  // namespace quiver::service::json

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  quiver::service::json::decode(data[0] - static_cast<unsigned>('a'), body);
  return 0;
}
