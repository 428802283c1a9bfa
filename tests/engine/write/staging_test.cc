// Staged layers against a std::map, over a base of several segments.
#include "engine/write/staging.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/engine/reference.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint64_t kIds = 40;

PredicatePtr predicate_of(std::int64_t n) {
  payload::Filter filter;
  filter.must.emplace_back(
      payload::FieldCondition{"n", payload::MatchValue{payload::MatchScalar{n}}});
  return payload::compile(filter, {}).value();
}

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
    change.key = payload::JsonPath::parse("deep.er").value();
  }
  if (change.kind == PreparedChange::Kind::kDeleteKeys) {
    change.keys.push_back(payload::JsonPath::parse(random() % 2 == 0 ? "n" : "s").value());
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
    Reference reference(config.fields, base_model, 100);
    Staging group(base, config, nullptr);
    for (int request = 0; request < 30; ++request) {
      Staging layer(base, config, &group);
      Reference attempt = reference;
      Seq numbered = next;
      bool applied = true;
      for (std::uint64_t n = 1 + random() % 3; n > 0 && applied; --n) {
        const auto operation = random_operation(config.fields, random);
        auto copy = operation;
        const bool takes_rows = random() % 2 == 0;
        const auto result =
            takes_rows ? layer.apply(std::move(copy), numbered) : layer.apply(operation, numbered);
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
