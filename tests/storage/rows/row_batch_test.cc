#include "storage/rows/row_batch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quiver::storage {
namespace {

std::vector<std::string> spell(const RowBatch& batch) {
  std::vector<std::string> lines;
  batch.for_each([&](const RowBatch::Change& change) {
    lines.push_back(std::to_string(static_cast<int>(change.kind)) + " " +
                    std::to_string(static_cast<int>(change.table)) + " " + std::string(change.key) +
                    "=" + std::string(change.value));
  });
  return lines;
}

TEST(RowBatch, KeepsChangesInOrder) {
  RowBatch batch;
  EXPECT_TRUE(batch.empty());
  batch.put_meta("k", "v");
  batch.put_meta("", "");
  batch.delete_meta("k");
  EXPECT_EQ(batch.size(), 3U);
  EXPECT_EQ(spell(batch), (std::vector<std::string>{"0 2 k=v", "0 2 =", "1 2 k="}));
  batch.clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.size_bytes(), 0U);
  EXPECT_TRUE(spell(batch).empty());
}

TEST(RowBatch, PointKeysAreThoseOfTheIds) {
  for (const PointId& id : {PointId::number(0), PointId::number(~0ULL), PointId::uuid(1, 2)}) {
    RowBatch batch;
    batch.put_row(id, "row");
    batch.for_each([&](const RowBatch::Change& change) {
      EXPECT_EQ(change.key, id.to_key());
      EXPECT_EQ(PointId::from_key(change.key), id);
      EXPECT_EQ(change.value, "row");
    });
  }
}

TEST(RowBatch, OperationKeysAreBigEndian) {
  RowBatch batch;
  batch.put_op(Seq{0x0102}, "op");
  batch.for_each([&](const RowBatch::Change& change) {
    EXPECT_EQ(change.key, std::string("\0\0\0\0\0\0\1\2", 8));
  });
}

}  // namespace
}  // namespace quiver::storage
