#include "app/import/reading/point_line.h"

#include <utility>

#include "service/json/decode/decode.h"

namespace quiver::app {

Result<LinePoint> read_payload_line(const std::string& line, const PayloadRules& rules) {
  QV_TRY(PayloadLine read, read_payload(line, rules));
  return LinePoint{read.id, std::move(read.payload), {}};
}

Result<LinePoint> read_point_line(std::string& line, const PayloadRules& rules) {
  auto decoded = service::json::decode_point_line(line);
  if (!decoded) return fail(Code::kInvalidArgument, decoded.error().text);
  LinePoint point{decoded->id, std::move(decoded->payload), std::move(decoded->vectors)};
  if (rules.keys.empty() && !rules.id_column) return point;
  QV_TRY(PayloadLine read, read_payload(point.payload.empty() ? "{}" : point.payload, rules));
  point.payload = std::move(read.payload);
  if (read.id) point.id = read.id;
  return point;
}

}  // namespace quiver::app
