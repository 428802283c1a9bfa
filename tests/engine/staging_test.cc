// Staged layers against a std::map, over a base of several segments.
#include "engine/staging.h"

#include <gtest/gtest.h>

#include <map>

#include "payload/document.h"
#include "payload/edit.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

using Model = std::map<PointId, Row>;
constexpr std::uint64_t kIds = 40;

PredicatePtr predicate_of(std::int64_t n) {
  payload::Filter filter;
  filter.must.emplace_back(
      payload::FieldCondition{"n", payload::MatchValue{payload::MatchScalar{n}}});
  return payload::compile(filter, {}).value();
}

bool matches(const PredicatePtr& predicate, const Row& row) {
  const auto document = payload::parse_json(row.payload).value();
  return predicate->matches(document, row.id, [](std::string_view) { return false; });
}

/// What `Staging` must do, said as simply as possible. False: refused, nothing changed.
class Reference {
 public:
  Reference(Model model, std::uint64_t next) : model_(std::move(model)), next_(next) {}

  bool apply(const PreparedOperation& operation) {
    const Reference before = *this;
    const auto* points = std::get_if<PreparedPoints>(&operation);
    const bool applied =
        points != nullptr ? put(*points) : change(std::get<PreparedChange>(operation));
    if (!applied) *this = before;
    return applied;
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
      if (here && points.update_filter && !matches(points.update_filter, old->second)) continue;
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
        if (matches(std::get<PredicatePtr>(change.points), row)) ids.push_back(id);
      }
    }
    for (const auto& id : ids) {
      const auto old = model_.find(id);
      const bool must_exist = change.kind == Kind::kSetPayload ||
                              change.kind == Kind::kOverwritePayload ||
                              change.kind == Kind::kDeleteKeys;
      if (old == model_.end() && must_exist) return false;
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

  Model model_;
  std::uint64_t next_;
};

PreparedOperation random_operation(const std::vector<FieldSchema>& fields, Random& random) {
  if (random() % 2 == 0) {
    PreparedPoints points;
    for (std::uint64_t i = random() % 6; i > 0; --i) {
      points.rows.push_back(random_row(random_id(kIds, random), 0, fields, random));
    }
    points.mode = static_cast<UpsertMode>(random() % 3);
    points.vectors_only = random() % 4 == 0;
    if (points.vectors_only) points.mode = UpsertMode::kUpdateOnly;
    if (random() % 3 == 0) points.update_filter = predicate_of(random() % 4);
    return points;
  }
  PreparedChange change;
  change.kind = static_cast<PreparedChange::Kind>(random() % 6);
  if (random() % 2 == 0) {
    change.points = predicate_of(random() % 10);
  } else {
    std::vector<PointId> ids;
    for (std::uint64_t i = random() % 4; i > 0; --i) ids.push_back(random_id(kIds, random));
    change.points = std::move(ids);
  }
  change.payload = R"({"n":)" + std::to_string(random() % 10) + "}";
  if (change.kind == PreparedChange::Kind::kSetPayload && random() % 3 == 0) {
    change.key = payload::Path::parse("deep.er").value();
  }
  if (change.kind == PreparedChange::Kind::kDeleteKeys) {
    change.keys.push_back(payload::Path::parse(random() % 2 == 0 ? "n" : "s").value());
  }
  if (change.kind == PreparedChange::Kind::kDeleteVectors) {
    change.fields.push_back(random() % fields.size());
  }
  return change;
}

Model merged(const Model& base, const Staging& staging) {
  Model model = base;
  for (const auto& change : staging.changes()) {
    if (change.row == nullptr) {
      model.erase(change.id);
    } else {
      EXPECT_EQ(change.row->seq, change.seq);
      model[change.id] = *change.row;
    }
  }
  return model;
}

TEST(Staging, SameAsAMap) {
  for (std::uint64_t seed = 101; seed < 141; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    CollectionConfig config;
    config.fields = mixed_fields();
    Model base_model;
    SegmentSet base;
    const auto rows = random_rows(20, config.fields, random);
    for (const std::size_t part : {0, 1}) {
      std::vector<Row> some;
      for (std::size_t i = part * 10; i < part * 10 + 10; ++i) {
        Row row = rows[i];
        row.id = PointId::number(i);  // overlaps the ids of the operations
        some.push_back(row);
        if (i % 10 != 4) base_model.emplace(row.id, row);
      }
      base.segments.push_back(with_deleted(segment_of(some, config.fields, part + 1), {4}));
    }
    Seq next{100};
    Reference reference(base_model, 100);
    Staging group(base, config, nullptr);
    for (int request = 0; request < 30; ++request) {
      Staging layer(base, config, &group);
      Reference attempt = reference;
      Seq numbered = next;
      bool applied = true;
      for (std::uint64_t n = 1 + random() % 3; n > 0 && applied; --n) {
        const auto operation = random_operation(config.fields, random);
        const auto result = layer.apply(operation, numbered);
        applied = attempt.apply(operation);
        ASSERT_EQ(result.has_value(), applied) << "request " << request;
        if (!result) {
          EXPECT_EQ(result.error().code(), Code::kNotFound);
        }
      }
      if (!applied) continue;  // the layer is thrown away, with all that came before in it
      group.absorb(std::move(layer));
      reference = attempt;
      next = numbered;
      ASSERT_EQ(to_number(next), reference.next()) << "request " << request;
      ASSERT_EQ(merged(base_model, group), reference.model()) << "request " << request;
    }
    EXPECT_FALSE(group.empty());
  }
}

TEST(Staging, ErrorNamesThePoint) {
  CollectionConfig config;
  config.fields = mixed_fields();
  const SegmentSet base;
  Staging staging(base, config, nullptr);
  PreparedChange change;
  change.kind = PreparedChange::Kind::kSetPayload;
  change.points = std::vector{PointId::number(77)};
  change.payload = R"({"a":1})";
  Seq next{1};
  const auto result = staging.apply(change, next);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "No point with id 77 found");
}

}  // namespace
}  // namespace quiver::engine::testing
