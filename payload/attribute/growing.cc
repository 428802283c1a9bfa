#include "payload/attribute/growing.h"

#include <limits>

#include "payload/attribute/builder.h"
#include "payload/json/document.h"

namespace quiver::payload {
namespace {

/// Few rows are described soon; many are described again as one part, which is faster to ask.
constexpr std::uint32_t kSmallPart = kRowsPerCellRange;
constexpr std::uint32_t kLargePart = 8 * kSmallPart;

using DocumentOfRow = std::function<std::string_view(std::uint32_t)>;

/// nullptr if a document is not JSON.
std::shared_ptr<const AttributeRows> describe(std::uint32_t first_row, std::uint32_t n_rows,
                                              const DocumentOfRow& document_of_row) {
  AttributeLimits limits;
  limits.max_bytes = std::numeric_limits<std::uint64_t>::max();
  AttributeBuilder builder(limits);
  for (std::uint32_t row = first_row; row < first_row + n_rows; ++row) {
    const auto document = parse_json(document_of_row(row));
    if (!document) return nullptr;
    builder.add(*document);
  }
  return std::make_shared<const AttributeRows>(AttributeRows{first_row, n_rows, builder.finish()});
}

std::uint32_t end_of(const GrowingAttributes::Parts& parts) {
  return parts.empty() ? 0 : parts.back()->first_row + parts.back()->n_rows;
}

/// Rows that large parts cover.
std::uint32_t large_end(const GrowingAttributes::Parts& parts) {
  std::uint32_t end = 0;
  for (const auto& part : parts) end += part->n_rows == kLargePart ? kLargePart : 0;
  return end;
}

}  // namespace

GrowingAttributes::Parts GrowingAttributes::of_rows(std::uint32_t n_rows,
                                                    const DocumentOfRow& document_of_row) {
  MutexLock lock(mutex_);
  while (n_rows - large_end(parts_) >= kLargePart && n_rows > large_end(parts_)) {
    const std::uint32_t first = large_end(parts_);
    auto part = describe(first, kLargePart, document_of_row);
    if (part == nullptr) return parts_;
    std::erase_if(parts_, [first](const auto& other) { return other->first_row >= first; });
    parts_.push_back(std::move(part));
  }
  while (end_of(parts_) + kSmallPart <= n_rows) {
    auto part = describe(end_of(parts_), kSmallPart, document_of_row);
    if (part == nullptr) return parts_;
    parts_.push_back(std::move(part));
  }
  // An older snapshot has fewer rows than the parts.
  Parts known;
  for (const auto& part : parts_) {
    if (part->first_row + part->n_rows <= n_rows) known.push_back(part);
  }
  return known;
}

}  // namespace quiver::payload
