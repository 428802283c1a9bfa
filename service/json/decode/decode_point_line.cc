// Points as lines of JSON files.
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {

Decoded<PointLine> decode_point_line(std::string& line) {
  const Path path;
  QV_TRY(const Object object, parse_object_body(line));
  QV_TRY(check_members(object, path, {"id", "vector", "vectors", "payload"}));
  if (find(object, "vector") && find(object, "vectors")) {
    return format_error(path, "found both `vector` and `vectors`, wanted one of them");
  }
  PointLine point;
  if (const auto id = find(object, "id")) {
    QV_TRY(point.id, decode_id(*id, path.member("id")));
  }
  if (const auto vectors = find(object, {"vector", "vectors"})) {
    QV_TRY(point.vectors, decode_vectors(*vectors, path.member("vector")));
  }
  if (const auto payload = find(object, "payload")) {
    QV_TRY(const Object members, get_object(*payload, path.member("payload")));
    point.payload = to_json(members);
  }
  return point;
}

}  // namespace quiver::service::json
