#include "engine/segment/mutable_segment.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/threads/published.h"
#include "engine/segment/id_table.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

TEST(MutableSegment, SnapshotsStayAsTheyWere) {
  Random random(91);
  const auto fields = mixed_fields();
  const auto rows = random_rows(500, fields, random);
  MutableSegment segment(3, fields, {});
  std::vector<std::shared_ptr<const SegmentData>> snapshots;
  for (const Row& row : rows) {
    snapshots.push_back(segment.snapshot());
    segment.append(row);
  }
  snapshots.push_back(segment.snapshot());
  for (std::size_t n = 0; n < snapshots.size(); n += 37) {
    const Segment view{snapshots[n], nullptr, 0};
    ASSERT_EQ(view.n_rows(), n);
    EXPECT_EQ(view.data->id, 3U);
    EXPECT_FALSE(view.data->sealed);
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      const auto found = view.find(rows[i].id);
      ASSERT_EQ(found.has_value(), i < n) << "row " << i << " of " << n;
      if (found) {
        EXPECT_EQ(view.row(*found), rows[i]);
      }
    }
  }
  EXPECT_EQ(segment.first_seq(), rows.front().seq);
}

TEST(MutableSegment, FindsTheLiveOneOfSeveralRowsOfAPoint) {
  Random random(92);
  const auto fields = mixed_fields();
  MutableSegment segment(1, fields, {});
  const PointId id = PointId::number(5);
  for (std::uint64_t seq = 1; seq <= 3; ++seq) {
    segment.append(random_row(id, seq, fields, random));
  }
  const Segment all{segment.snapshot(), nullptr, 0};
  EXPECT_EQ(with_deleted(all, {0, 1}).find(id), 2U);
  EXPECT_EQ(with_deleted(all, {0, 2}).find(id), 1U);
  EXPECT_EQ(with_deleted(all, {0, 1, 2}).find(id), std::nullopt);
  EXPECT_EQ(with_deleted(all, {0, 1}).live().count(), 1U);
}

TEST(MutableSegment, FirstSeqIsTheOldest) {
  Random random(93);
  const auto fields = mixed_fields();
  MutableSegment segment(1, fields, {});
  for (const std::uint64_t seq : {9, 4, 7}) {
    segment.append(random_row(PointId::number(seq), seq, fields, random));
  }
  EXPECT_EQ(segment.first_seq(), Seq{4});
}

TEST(MutableSegment, DataBytesGrowWithTheData) {
  const std::vector<FieldSchema> fields = {
      {"", FieldKind::kDense, 16, DType::kF32, Metric::kDot, SparseModifier::kNone}};
  MutableSegment segment(1, fields, {});
  EXPECT_EQ(segment.data_bytes(), 0U);
  Random random(94);
  Row row{PointId::number(1), Seq{1}, R"({"a":1})", {}};
  row.vectors.push_back(to_stored(fields[0], random_value(fields[0], random)).value());
  segment.append(row);
  EXPECT_EQ(segment.data_bytes(), 64 + row.payload.size());
  EXPECT_EQ(segment.snapshot()->data_bytes(), segment.data_bytes());
}

/// A change may be committed after the fields that it was checked with have changed.
TEST(MutableSegment, TakesRowsThatAreOlderThanItsFields) {
  Random random(97);
  const auto before = mixed_fields();
  CollectionConfig config;
  config.fields = before;
  ASSERT_TRUE(add_field(
      config, {"added", FieldKind::kDense, 8, DType::kF32, Metric::kDot, SparseModifier::kNone}));
  drop_field(config, before[1].name);
  MutableSegment segment(1, config.fields, {});
  const Row old = random_row(PointId::number(1), 1, before, random);
  const Row now = random_row(PointId::number(2), 2, config.fields, random);
  segment.append(old);
  segment.append(now);
  const Segment view{segment.snapshot(), nullptr, 0};
  Row expected = old;
  expected.vectors.resize(config.fields.size());
  expected.vectors[1] = {};
  EXPECT_EQ(view.row(0), expected);
  expected = now;
  expected.vectors[1] = {};
  EXPECT_EQ(view.row(1), expected);
}

payload::FieldIndex index_of(std::string key) {
  payload::FieldIndex index;
  index.key = std::move(key);
  index.kind = payload::IndexKind::kInteger;
  return index;
}

TEST(MutableSegment, IndexesAddedLaterCoverEarlierRows) {
  Random random(95);
  const auto fields = mixed_fields();
  MutableSegment segment(1, fields, {index_of("n")});
  for (const Row& row : random_rows(40, fields, random)) segment.append(row);
  segment.add_index(index_of("m"));
  segment.add_index(index_of("n"));
  auto data = segment.snapshot();
  ASSERT_EQ(data->columns.size(), 2U);
  for (const auto& [key, column] : data->columns) EXPECT_EQ(column.n_rows, 40U) << key;
  const auto& n = data->columns.find("n")->second;
  for (std::uint32_t row = 0; row < 40; ++row) {
    const bool has = data->documents[row] != "{}";
    EXPECT_EQ(n.row_integers(row).size(), has ? 1U : 0U);
  }
  segment.set_indexes({index_of("m")});
  EXPECT_EQ(segment.snapshot()->columns.size(), 1U);
  EXPECT_EQ(data->columns.size(), 2U) << "the older snapshot keeps its column";
}

/// One writer, several readers: under ThreadSanitizer this is the proof of the invariants.
TEST(MutableSegment, ReadersRunBesideTheWriter) {
  Random random(96);
  const auto fields = mixed_fields();
  const auto rows = random_rows(3000, fields, random);
  MutableSegment segment(1, fields, {index_of("n")});
  Published<SegmentData> published(segment.snapshot());
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (std::uint64_t r = 0; r < 2; ++r) {
    readers.emplace_back([&, r] {
      Random own(r);
      while (!done) {
        const Segment view{published.load(), nullptr, 0};
        const std::size_t i = own() % rows.size();
        const auto found = view.find(rows[i].id);
        ASSERT_EQ(found.has_value(), i < view.n_rows());
        if (found) {
          ASSERT_EQ(view.row(*found), rows[i]);
        }
      }
    });
  }
  for (const Row& row : rows) {
    segment.append(row);
    published.store(segment.snapshot());
  }
  done = true;
  for (auto& reader : readers) reader.join();
}

TEST(IdTable, RowsBeyondTheSnapshotAreSkipped) {
  std::vector<PointId> ids = {PointId::number(1), PointId::number(2), PointId::number(1)};
  IdTable table(8);
  for (std::uint32_t row = 0; row < ids.size(); ++row) table.insert(ids[row], row);
  const auto rows_of = [&](const PointId& id, std::size_t n) {
    std::vector<std::uint32_t> rows;
    table.find(id, std::span(ids).first(n), [&](std::uint32_t row) {
      rows.push_back(row);
      return false;
    });
    return rows;
  };
  EXPECT_EQ(rows_of(PointId::number(1), 3), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(rows_of(PointId::number(1), 2), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(rows_of(PointId::number(2), 1), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(rows_of(PointId::number(3), 3), (std::vector<std::uint32_t>{}));
}

TEST(IdTable, FullTable) {
  constexpr std::uint32_t kRows = 1000;
  IdTable table(kRows);
  EXPECT_GE(table.capacity(), kRows);
  std::vector<PointId> ids;
  for (std::uint32_t row = 0; row < table.capacity(); ++row) {
    ids.push_back(PointId::number(row * 7919ULL));
    table.insert(ids.back(), row);
  }
  for (std::uint32_t row = 0; row < ids.size(); ++row) {
    EXPECT_TRUE(table.find(ids[row], ids, [row](std::uint32_t found) { return found == row; }));
  }
}

}  // namespace
}  // namespace quiver::engine::testing
