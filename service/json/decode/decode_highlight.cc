// Which words of an answer's payloads are to be marked.
#include <fmt/format.h>

#include <algorithm>

#include "payload/json/path.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {
namespace {

using engine::Highlight;
using payload::HighlightOptions;

Decoded<std::vector<std::string>> decode_fields(Element element, const Path& path) {
  QV_TRY(auto fields, decode_strings(element, path));
  if (fields.empty() || fields.size() > Highlight::kMaxFields) {
    return validation_error(path, fmt::format("number of fields {} invalid, must be from 1 to {}",
                                              fields.size(), Highlight::kMaxFields));
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto valid = payload::JsonPath::parse(fields[i]);
    if (!valid) return format_error(path.item(i), valid.error().message());
    if (std::find(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(i), fields[i]) !=
        fields.begin() + static_cast<std::ptrdiff_t>(i)) {
      return validation_error(path.item(i), fmt::format("`{}` is there twice", fields[i]));
    }
  }
  return fields;
}

Decoded<> read_mark(Object object, std::string_view name, const Path& path, std::string& mark) {
  const auto element = find(object, name);
  if (!element) return {};
  const Path here = path.member(name);
  QV_TRY(mark, get_string(*element, here));
  if (mark.size() <= HighlightOptions::kMaxMarkBytes) return {};
  return validation_error(here, fmt::format("a mark of {} bytes is invalid, must have at most {}",
                                            mark.size(), HighlightOptions::kMaxMarkBytes));
}

struct Bounds {
  std::uint32_t min;
  std::uint32_t max;
};

Decoded<> read_number(Object object, std::string_view name, const Path& path, Bounds bounds,
                      std::uint32_t& number) {
  const auto element = find(object, name);
  if (!element) return {};
  const Path here = path.member(name);
  QV_TRY(const std::uint64_t given, get_u64(*element, here));
  if (given < bounds.min || given > bounds.max) {
    return out_of_range(here, to_json(*element),
                        fmt::format("from {} to {}", bounds.min, bounds.max));
  }
  number = static_cast<std::uint32_t>(given);
  return {};
}

Decoded<payload::HighlightEscape> decode_escape(Element element, const Path& path) {
  QV_TRY(const auto name, get_string(element, path));
  if (name == "none") return payload::HighlightEscape::kNone;
  if (name == "html") return payload::HighlightEscape::kHtml;
  return format_error(path, fmt::format("unknown variant `{}`, expected `none` or `html`", name));
}

Decoded<Highlight> decode_highlight(Element element, const Path& path) {
  Highlight highlight;
  HighlightOptions& options = highlight.options;
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(check_members(
      object, path, {"fields", "query", "pre", "post", "fragments", "fragment_length", "escape"}));
  QV_TRY(const Element fields, require(object, "fields", path));
  QV_TRY(highlight.fields, decode_fields(fields, path.member("fields")));
  if (const auto query = find(object, "query")) {
    QV_TRY(highlight.query, get_string(*query, path.member("query")));
  }
  QV_TRY(read_mark(object, "pre", path, options.pre));
  QV_TRY(read_mark(object, "post", path, options.post));
  QV_TRY(read_number(object, "fragments", path, {0, HighlightOptions::kMaxFragments},
                     options.n_fragments));
  QV_TRY(read_number(object, "fragment_length", path,
                     {HighlightOptions::kMinFragmentLength, HighlightOptions::kMaxFragmentLength},
                     options.fragment_length));
  if (const auto escape = find(object, "escape")) {
    QV_TRY(options.escape, decode_escape(*escape, path.member("escape")));
  }
  return highlight;
}

}  // namespace

Decoded<std::optional<Highlight>> decode_optional_highlight(Object object, const Path& path) {
  const auto element = find(object, "highlight");
  if (!element) return std::optional<Highlight>();
  QV_TRY(auto highlight, decode_highlight(*element, path.member("highlight")));
  return std::optional<Highlight>(std::move(highlight));
}

}  // namespace quiver::service::json
