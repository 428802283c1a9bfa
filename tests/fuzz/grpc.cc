// Every decoder of a gRPC message, chosen by the first byte: never a crash, and an error that says
// 400 or 422.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "service/grpc/messages/decode.h"

namespace quiver::service::rpc {
namespace {

template <class T>
void check(const Decoded<T>& decoded) {
  if (decoded) return;
  const bool is_client_error = decoded.error().status == 400 || decoded.error().status == 422;
  if (!is_client_error || decoded.error().text.empty()) std::abort();
}

/// Decodes the message if the bytes are one.
template <class Message, class Decode>
void read(const std::string& bytes, Decode decode_message) {
  Message message;
  if (message.ParseFromString(bytes)) check(decode_message(message));
}

#define QV_READ(Message, function) \
  return read<qdrant::Message>(bytes, [](const qdrant::Message& m) { return function(m); })

void decode_one(unsigned which, const std::string& bytes) {
  switch (which % 18) {
    case 0:
      QV_READ(QueryPoints, decode_query);
    case 1:
      QV_READ(QueryPointGroups, decode_query);
    case 2:
      QV_READ(SearchPoints, decode_search);
    case 3:
      QV_READ(SearchPointGroups, decode_search);
    case 4:
      QV_READ(RecommendPoints, decode_recommend);
    case 5:
      QV_READ(RecommendPointGroups, decode_recommend);
    case 6:
      QV_READ(DiscoverPoints, decode_discover);
    case 7:
      QV_READ(ScrollPoints, decode_scroll);
    case 8:
      QV_READ(GetPoints, decode_get);
    case 9:
      QV_READ(CountPoints, decode_count);
    case 10:
      QV_READ(UpsertPoints, decode);
    case 11:
      QV_READ(DeletePoints, decode);
    case 12:
      QV_READ(UpdatePointVectors, decode);
    case 13:
      QV_READ(DeletePointVectors, decode);
    case 14:
      read<qdrant::SetPayloadPoints>(bytes,
                                     [](const auto& m) { return decode_overwrite_payload(m); });
      QV_READ(SetPayloadPoints, decode_set_payload);
    case 15:
      QV_READ(DeletePayloadPoints, decode);
    case 16:
      QV_READ(ClearPayloadPoints, decode);
    default:
      QV_READ(UpdateBatchPoints, decode);
  }
}

}  // namespace
}  // namespace quiver::service::rpc

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  quiver::service::rpc::decode_one(data[0] - static_cast<unsigned>('a'), bytes);
  return 0;
}
