// What operations make of a shard, said as simply as possible: a map that is changed one point at a
// time. Tests hold the engine against it.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/write/prepared.h"
#include "payload/json/document.h"
#include "payload/json/edit.h"

namespace quiver::engine::testing {

using Model = std::map<PointId, Row>;

/// What `Staging` must do, said as simply as possible. False: refused, nothing changed.
class Reference {
 public:
  Reference(std::vector<FieldSchema> fields, Model model, std::uint64_t next)
      : fields_(std::move(fields)), model_(std::move(model)), next_(next) {}

  bool apply(const PreparedOperation& operation) {
    const Reference before = *this;
    const auto* points = std::get_if<PreparedPoints>(&operation);
    const bool applied =
        points != nullptr ? put(*points) : change(std::get<PreparedChange>(operation));
    if (!applied) *this = before;
    return applied;
  }
  void set_fields(std::vector<FieldSchema> fields) {
    for (auto& [id, row] : model_) {
      row.vectors.resize(fields.size());
      for (std::size_t f = 0; f < fields.size(); ++f) {
        if (is_dropped(fields[f])) row.vectors[f] = {};
      }
    }
    fields_ = std::move(fields);
  }
  /// From the document alone, no columns involved.
  [[nodiscard]] bool matches(const payload::Predicate& predicate, const Row& row) const {
    const auto document = payload::parse_json(row.payload).value();
    return predicate.matches(document, row.id, [&](std::string_view name) {
      for (std::size_t f = 0; f < fields_.size(); ++f) {
        if (fields_[f].name == name) return is_present(row.vectors[f]);
      }
      return false;
    });
  }
  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] std::uint64_t next() const { return next_; }

 private:
  bool put(const PreparedPoints& points) {
    for (Row row : points.rows) {
      const auto old = model_.find(row.id);
      const bool here = old != model_.end();
      if (points.vectors_only && !here) return false;
      if (points.mode == UpsertMode::kInsertOnly && here) continue;
      if (points.mode == UpsertMode::kUpdateOnly && !here) continue;
      if (here && points.update_filter && !matches(*points.update_filter, old->second)) continue;
      if (points.vectors_only) {
        row.payload = old->second.payload;
        for (std::size_t f = 0; f < row.vectors.size(); ++f) {
          if (!is_present(row.vectors[f])) row.vectors[f] = old->second.vectors[f];
        }
      }
      row.seq = Seq{next_++};
      model_[row.id] = row;
    }
    return true;
  }
  bool change(const PreparedChange& change) {
    using Kind = PreparedChange::Kind;
    std::vector<PointId> ids;
    if (const auto* named = std::get_if<std::vector<PointId>>(&change.points)) {
      ids = *named;
    } else {
      for (const auto& [id, row] : model_) {
        if (matches(*std::get<PredicatePtr>(change.points), row)) ids.push_back(id);
      }
    }
    for (const auto& id : ids) {
      const auto old = model_.find(id);
      if (old == model_.end() && change.kind != Kind::kDelete) return false;
      if (old == model_.end()) continue;
      Row& row = old->second;
      row.seq = Seq{next_++};
      if (change.kind == Kind::kSetPayload) {
        row.payload = payload::set(row.payload, change.payload, change.key).value();
      }
      if (change.kind == Kind::kOverwritePayload) row.payload = change.payload;
      if (change.kind == Kind::kDeleteKeys) {
        row.payload = payload::remove_keys(row.payload, change.keys).value();
      }
      if (change.kind == Kind::kClearPayload) row.payload = "{}";
      for (const std::size_t field : change.fields) row.vectors[field] = {};
      if (change.kind == Kind::kDelete) model_.erase(id);
    }
    return true;
  }

  std::vector<FieldSchema> fields_;
  Model model_;
  std::uint64_t next_;
};

}  // namespace quiver::engine::testing
