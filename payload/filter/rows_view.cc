#include "payload/filter/rows_view.h"

#include <fmt/format.h>

namespace quiver::payload {

Result<Value> read_document(const RowsView& rows, std::uint32_t row) {
  QV_TRY(const std::string_view text, rows.document(row));
  if (text.empty()) return Value(Object());
  auto document = parse_json(text);
  if (document) return document;
  return fail(Code::kDataLoss, fmt::format("payload of point {}: {}", rows.ids()[row].to_string(),
                                           document.error().message()));
}

}  // namespace quiver::payload
