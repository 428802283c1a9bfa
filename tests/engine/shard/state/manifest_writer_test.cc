#include "engine/shard/state/manifest_writer.h"

#include <gtest/gtest.h>

#include "engine/shard/state/manifest.h"
#include "storage/rows/row_batch.h"
#include "tests/engine/shard/shard_parts.h"

namespace quiver::engine::testing {
namespace {

class ManifestWriterTest : public ShardParts {
 protected:
  [[nodiscard]] Manifest stored() const {
    return decode_manifest(common_->store().meta(kManifestKey).value().value()).value();
  }
  void add_op(std::uint64_t seq) {
    storage::RowBatch batch;
    batch.put_op(Seq{seq}, "op");
    ASSERT_TRUE(common_->store().write(batch));
  }
  [[nodiscard]] std::size_t n_ops() const {
    std::size_t n = 0;
    EXPECT_TRUE(common_->store().scan_ops(Seq{0}, [&](Seq, std::string_view) { return ++n != 0; }));
    return n;
  }
};

TEST_F(ManifestWriterTest, NamesSealedSegmentsAndTrimsTheLog) {
  ManifestWriter writer(*common_, *table_);
  for (const std::uint64_t id : {1, 2, 3}) {
    put(id);
    add_op(id);
    if (id == 2) seal();
  }
  ASSERT_TRUE(writer.save());
  EXPECT_EQ(stored().segments, std::vector{table_->segments().front().id()});
  EXPECT_EQ(stored().covered, Seq{2});
  EXPECT_EQ(stored().last, Seq{3});
  EXPECT_EQ(stored().next_segment, table_->next_segment_id());
  EXPECT_EQ(n_ops(), 1U);
}

TEST_F(ManifestWriterTest, StoresNewDeletesOnce) {
  ManifestWriter writer(*common_, *table_);
  put(1);
  put(2);
  seal();
  EXPECT_FALSE(writer.has_unsaved_deletes());
  erase(2);
  EXPECT_TRUE(writer.has_unsaved_deletes());
  ASSERT_TRUE(writer.save());
  EXPECT_FALSE(writer.has_unsaved_deletes());
  const auto bytes = common_->store().meta(deleted_key(table_->segments()[0].id())).value();
  ASSERT_TRUE(bytes);
  EXPECT_EQ(decode_bitset(*bytes, 2).value().count(), 1U);
}

TEST_F(ManifestWriterTest, TheOutputTakesThePlaceOfItsInputs) {
  ManifestWriter writer(*common_, *table_);
  put(1);
  put(2);
  seal();
  erase(2);
  ASSERT_TRUE(writer.save());
  const std::vector<Segment> inputs = {table_->snapshot()->segments[0]};
  const auto rows = live_rows_by_id(inputs);
  const SegmentState output = table_->successor(inputs, rows, write_sealed(inputs, rows));
  ASSERT_TRUE(writer.save({inputs, &output, {}}));
  EXPECT_EQ(stored().segments, std::vector{output.id()});
  EXPECT_FALSE(common_->store().meta(deleted_key(inputs[0].data->id)).value());
}

TEST_F(ManifestWriterTest, SupersededFactsGoWithTheNextManifest) {
  ManifestWriter writer(*common_, *table_);
  storage::RowBatch batch;
  batch.put_meta("fact", "1");
  ASSERT_TRUE(common_->store().write(batch));
  ASSERT_TRUE(writer.save());
  EXPECT_TRUE(common_->store().meta("fact").value());
  writer.supersede("fact");
  ASSERT_TRUE(writer.save());
  EXPECT_FALSE(common_->store().meta("fact").value());
}

TEST_F(ManifestWriterTest, DamagedSegmentsAreKeptUntilTheyAreRebuilt) {
  ManifestWriter writer(*common_, *table_);
  table_->damaged().ids = {7};
  ASSERT_TRUE(writer.save());
  EXPECT_EQ(stored().damaged, std::vector<std::uint64_t>{7});
  table_->damaged().ids = {};
  ASSERT_TRUE(writer.save());
  EXPECT_TRUE(stored().damaged.empty());
}

TEST_F(ManifestWriterTest, RemovesDirectories) {
  ManifestWriter writer(*common_, *table_);
  put(1);
  seal();
  const std::uint64_t id = table_->segments()[0].id();
  EXPECT_TRUE(common_->segments().exists(std::to_string(id)));
  writer.remove_directory(id);
  writer.remove_directory(id + 100);
  EXPECT_FALSE(common_->segments().exists(std::to_string(id)));
  EXPECT_FALSE(writer.has_leftovers());
}

}  // namespace
}  // namespace quiver::engine::testing
