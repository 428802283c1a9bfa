#include "engine/shard/state/segment_placement.h"

#include <fmt/format.h>

#include <span>
#include <string_view>
#include <utility>

namespace quiver::engine {
namespace {

/// Places one part after another and keeps the first error.
class SegmentPlacer {
 public:
  explicit SegmentPlacer(const SegmentData& data) : data_(data) {}

  template <class T>
  void rows(std::span<const T> elements, MemoryPlacement place, std::string_view what) {
    note(data_.file->place(std::as_bytes(elements), place), what);
  }
  void vectors(const index::FieldColumn& field, MemoryPlacement place) {
    if (field.n_present == 0) return;
    const std::string_view name = field.schema.name;
    switch (field.schema.kind) {
      case FieldKind::kDense:
        return rows(field.dense().bytes.span(), place, name);
      case FieldKind::kMulti:
        rows(field.multi().offsets.span(), place, name);
        return rows(field.multi().tokens.bytes.span(), place, name);
      case FieldKind::kSparse:
        rows(field.sparse().offsets.span(), place, name);
        rows(field.sparse().indices.span(), place, name);
        return rows(field.sparse().values.span(), place, name);
    }
  }
  void note(Result<> placed, std::string_view what) {
    if (placed || !first_) return;
    first_ = fail(placed.error().code(), fmt::format("`{}` of segment {} is not pinned: {}", what,
                                                     data_.id, placed.error().message()));
  }
  [[nodiscard]] Result<> result() { return std::move(first_); }

 private:
  const SegmentData& data_;
  Result<> first_;
};

}  // namespace

Result<> place_segment(const SegmentData& data, const MemoryPlan& plan) {
  if (!data.sealed || data.file == nullptr) return {};
  SegmentPlacer placer(data);
  placer.rows(data.ids.span(), plan.ids, "id_tracker");
  placer.rows(data.seqs.span(), plan.ids, "id_tracker");
  placer.rows(data.documents.offsets.span(), plan.payloads, "payload");
  placer.rows(data.documents.bytes.span(), plan.payloads, "payload");
  for (std::size_t i = 0; i < data.fields.size(); ++i) {
    const auto& name = data.fields[i].schema.name;
    const FieldPlacement place = plan.field(name);
    placer.vectors(data.fields[i], place.vectors);
    if (data.index_files[i] != nullptr) placer.note(data.index_files[i]->place(place.index), name);
  }
  for (const auto& [key, column] : data.columns) {
    if (column.file == nullptr) continue;
    placer.note(column.file->place(column.file->bytes(), plan.column(key)), key);
  }
  if (data.attributes != nullptr) {
    const auto& file = *data.attributes->file;
    placer.note(file.place(file.bytes(), plan.payloads), "attributes");
  }
  return placer.result();
}

}  // namespace quiver::engine
