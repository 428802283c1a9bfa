// Marked texts of a point.
#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

void write_highlight(Writer& out, const payload::HighlightFragment& fragment, bool has_several) {
  out.begin_object();
  out.member("text", std::string_view(fragment.text));
  if (has_several) out.member("element", std::uint64_t{fragment.text_number});
  out.member("offset", std::uint64_t{fragment.offset});
  out.key("matches");
  out.begin_array();
  for (const auto& match : fragment.matches) {
    out.begin_array();
    out.u64(match.begin);
    out.u64(match.end);
    out.end_array();
  }
  out.end_array();
  out.end_object();
}

}  // namespace

void write_highlights(Writer& out, std::span<const engine::FieldHighlights> highlights) {
  out.begin_object();
  for (const auto& field : highlights) {
    out.escaped_key(field.field);
    out.begin_array();
    for (const auto& fragment : field.fragments) {
      write_highlight(out, fragment, field.has_several_texts);
    }
    out.end_array();
  }
  out.end_object();
}

}  // namespace quiver::service::json
