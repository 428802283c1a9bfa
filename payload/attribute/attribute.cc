#include "payload/attribute/attribute.h"

#include <algorithm>

#include "base/views.h"

namespace quiver::payload {

std::uint32_t AttributeView::n_texts() const {
  if (text_offsets.empty()) return 0;
  const auto n = static_cast<std::uint32_t>(text_offsets.size() - 1);
  return has_text_highs ? n / 2 : n;
}

std::uint32_t AttributeView::first_double() const {
  return kSpecialEntries + static_cast<std::uint32_t>(integer_lows.size());
}
std::uint32_t AttributeView::first_text() const {
  return first_double() + static_cast<std::uint32_t>(double_lows.size());
}
std::uint32_t AttributeView::n_entries() const { return first_text() + n_texts(); }

std::string_view AttributeView::text_low(std::uint32_t text) const {
  const auto bytes = part_of(text_bytes.span(), text_offsets[text], text_offsets[text + 1]);
  return {bytes.data(), bytes.size()};
}
std::string_view AttributeView::text_high(std::uint32_t text) const {
  return text_low(has_text_highs ? n_texts() + text : text);
}
bool AttributeView::is_exact_text(std::uint32_t text) const {
  const auto low = text_low(text);
  return low.size() < kMaxTextBytes && (!has_text_highs || low == text_high(text));
}

std::uint64_t AttributeView::n_bytes() const {
  const auto bytes = [](const auto&... spans) { return (spans.span().size_bytes() + ...); };
  return bytes(cells, rests, offsets, ranges, counts, objects, integer_lows, integer_highs,
               double_lows, double_highs, text_offsets, text_bytes, moment_lows, moment_highs);
}

std::string attribute_path(const JsonPath& path) {
  const auto steps = path.steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool is_key = steps[i].kind == PathStep::Kind::kKey && is_plain_key(steps[i].key);
    const bool enters_objects = steps[i].kind == PathStep::Kind::kEach && i + 1 < steps.size() &&
                                steps[i + 1].kind == PathStep::Kind::kKey;
    if (!is_key && !enters_objects) return {};
  }
  return path.to_string();
}

std::string objects_path(const JsonPath& elements) {
  const auto steps = elements.steps();
  const auto array = attribute_path(JsonPath(std::vector(steps.begin(), steps.end() - 1)));
  return array.empty() ? array : array + "[]";
}

const AttributeView* AttributeSet::find(std::string_view path) const {
  const auto found = std::lower_bound(attributes.begin(), attributes.end(), path,
                                      [](const AttributeView& attribute, std::string_view wanted) {
                                        return attribute.path < wanted;
                                      });
  return found == attributes.end() || found->path != path ? nullptr : &*found;
}

bool AttributeSet::leads_nowhere(std::string_view path) const {
  if (find(path) != nullptr || left_out.size() >= kMaxLeftOutPaths) return false;
  if (!has_objects && path.ends_with("[]")) return false;
  return std::none_of(left_out.begin(), left_out.end(), [path](const LeftOutPath& other) {
    return other.path == path || (other.reason == kMoreBelow && path.starts_with(other.path));
  });
}

std::uint64_t AttributeSet::n_bytes() const {
  std::uint64_t n = 0;
  for (const auto& attribute : attributes) n += attribute.n_bytes();
  return n;
}

}  // namespace quiver::payload
