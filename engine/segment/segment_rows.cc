#include "engine/segment/segment_rows.h"

namespace quiver::engine {
namespace {

void add_part(const payload::AttributeSet& set, std::string_view path, std::uint32_t first_row,
              std::uint32_t n_rows, std::vector<payload::AttributePart>& parts) {
  const auto* view = set.find(path);
  if (view != nullptr || set.leads_nowhere(path)) parts.push_back({first_row, n_rows, view});
}

}  // namespace

std::vector<payload::AttributePart> SegmentRows::attributes(std::string_view path) const {
  std::vector<payload::AttributePart> parts;
  if (data_.attributes != nullptr) {
    add_part(data_.attributes->set, path, 0, data_.n_rows, parts);
  } else if (data_.growing_attributes != nullptr) {
    if (growing_.empty()) {
      growing_ = data_.growing_attributes->of_rows(
          data_.n_rows, [this](std::uint32_t row) { return data_.documents[row]; });
    }
    for (const auto& part : growing_) {
      add_part(part->set, path, part->first_row, part->n_rows, parts);
    }
  }
  return parts;
}

}  // namespace quiver::engine
