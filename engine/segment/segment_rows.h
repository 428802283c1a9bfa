// A segment as payload predicates see it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/segment/segment.h"
#include "payload/filter/predicate.h"

namespace quiver::engine {

/// Borrows `data`.
class SegmentRows final : public payload::RowsView {
 public:
  explicit SegmentRows(const SegmentData& data) : data_(data) {}

  [[nodiscard]] std::uint32_t n_rows() const override { return data_.n_rows; }
  [[nodiscard]] std::span<const PointId> ids() const override { return data_.ids.span(); }
  [[nodiscard]] bool sorted_ids() const override { return data_.has_sorted_ids(); }
  [[nodiscard]] std::span<const std::uint32_t> id_order() const override {
    return data_.id_order.span();
  }
  [[nodiscard]] Result<std::string_view> document(std::uint32_t row) const override {
    return data_.documents[row];
  }
  [[nodiscard]] const payload::ColumnView* column(std::string_view key) const override {
    const auto found = data_.columns.find(key);
    return found == data_.columns.end() ? nullptr : &found->second;
  }
  [[nodiscard]] std::vector<payload::AttributePart> attributes(
      std::string_view path) const override;
  [[nodiscard]] const std::uint8_t* present(std::string_view field_name) const override {
    for (const auto& field : data_.fields) {
      if (field.schema.name == field_name) return field.present.data();
    }
    return nullptr;
  }

 private:
  const SegmentData& data_;
  mutable payload::GrowingAttributes::Parts growing_;  ///< kept for what was returned
};

/// The live rows of `segment` that match, ascending; nullopt, at once, unless columns or ids show
/// that they are few. Errors are those of `Predicate::evaluate`.
[[nodiscard]] Result<std::optional<std::vector<std::uint32_t>>> few_matching_rows(
    const Segment& segment, const payload::Predicate& predicate, const Cancel& cancel);

/// The live rows of `segment` that match, in passes over all rows. Errors are those of
/// `Predicate::evaluate`. Filters that are asked again are looked up (`VerdictCache`).
[[nodiscard]] Result<Bitset> many_matching_rows(const Segment& segment,
                                                const payload::Predicate& predicate,
                                                const Cancel& cancel);

/// The live rows of `segment` that match; all live rows if `predicate` is nullptr. Errors are those
/// of `Predicate::evaluate`.
[[nodiscard]] Result<Bitset> matching_rows(const Segment& segment,
                                           const payload::Predicate* predicate,
                                           const Cancel& cancel);

}  // namespace quiver::engine
