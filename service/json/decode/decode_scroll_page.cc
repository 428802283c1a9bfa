// Pages of points as a client reads them.
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {
namespace {

Decoded<engine::Record> decode_record(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  engine::Record record;
  QV_TRY(const Element id, require(object, "id", path));
  QV_TRY(record.id, decode_id(id, path.member("id")));
  if (const auto payload = find(object, "payload")) {
    QV_TRY(const Object members, get_object(*payload, path.member("payload")));
    record.payload = to_json(members);
  }
  if (const auto vectors = find(object, "vector")) {
    QV_TRY(record.vectors, decode_vectors(*vectors, path.member("vector")));
  }
  return record;
}

}  // namespace

Decoded<engine::ScrollPage> decode_scroll_page(std::string& body) {
  const Path root;
  const Path path = root.member("result");
  QV_TRY(const Object answer, parse_object_body(body));
  QV_TRY(const Element result, require(answer, "result", root));
  QV_TRY(const Object object, get_object(result, path));
  QV_TRY(const Element points, require(object, "points", path));
  const Path at_points = path.member("points");
  QV_TRY(const Array array, get_array(points, at_points));
  engine::ScrollPage page;
  for (const Element point : array) {
    QV_TRY(auto record, decode_record(point, at_points.item(page.points.size())));
    page.points.push_back(std::move(record));
  }
  if (const auto next = find(object, "next_page_offset")) {
    QV_TRY(page.next, decode_id(*next, path.member("next_page_offset")));
  }
  return page;
}

}  // namespace quiver::service::json
