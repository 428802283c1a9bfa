// Segments that follow the fields of their collection.
#include "engine/segment/fields.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "engine/model/config.h"
#include "engine/segment/segment_file.h"
#include "index/exact/type.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

std::vector<FieldSchema> first_fields(std::size_t n) {
  auto fields = mixed_fields();
  fields.resize(n);
  return fields;
}

std::vector<FieldSchema> without(std::vector<FieldSchema> fields, std::string_view name) {
  CollectionConfig config;
  config.fields = std::move(fields);
  drop_field(config, name);
  return config.fields;
}

/// `row` as a collection of these fields has it.
Row following(Row row, const std::vector<FieldSchema>& fields) {
  row.vectors.resize(fields.size());
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (is_dropped(fields[f])) row.vectors[f] = {};
  }
  return row;
}

void expect_rows(const SegmentData& data, const std::vector<Row>& rows,
                 const std::vector<FieldSchema>& fields) {
  ASSERT_EQ(data.fields.size(), fields.size());
  const Segment segment{std::shared_ptr<const SegmentData>(std::shared_ptr<void>(), &data), nullptr,
                        0};
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(segment.row(i), following(rows[i], fields)) << "row " << i;
  }
}

std::unique_ptr<Directory> fresh_directory() {
  const auto path = ::testing::TempDir() + "quiver_fields_" + std::to_string(getpid());
  auto directory = open_real_directory(path).value();
  const auto entries = directory->list().value();
  for (const auto& entry : entries) {
    EXPECT_TRUE(directory->remove_file(entry.name));
  }
  return directory;
}

TEST(AbsentColumn, NoRowIsPresent) {
  for (const FieldSchema& field : mixed_fields()) {
    const auto column = absent_column(field, 7);
    EXPECT_EQ(column.n_rows, 7U);
    EXPECT_EQ(column.n_present, 0U);
    EXPECT_EQ(column.present.size(), 7U);
    EXPECT_EQ(data_bytes(column), 0U);
  }
}

TEST(Fields, SegmentsGetNewFieldsAndLoseDroppedOnes) {
  Random random(11);
  const auto old = first_fields(3);
  const auto rows = random_rows(40, old, random);
  const Segment segment = segment_of(rows, old);
  EXPECT_EQ(with_fields(segment.data, old), segment.data) << "nothing changes";
  const auto fields = without(mixed_fields(), "half");
  EXPECT_FALSE(follows(*segment.data, fields));
  const auto data = with_fields(segment.data, fields);
  EXPECT_TRUE(follows(*data, fields));
  expect_rows(*data, rows, fields);
  EXPECT_EQ(data->searchers.size(), fields.size());
  EXPECT_EQ(data->index_files.size(), fields.size());
  EXPECT_EQ(data->indexes[1].type, &index::kFlat);
  expect_rows(*segment.data, rows, old);  // readers of the former keep it
}

TEST(Fields, FilesLackFieldsThatNoRowHas) {
  Random random(12);
  const auto old = first_fields(3);
  const auto rows = random_rows(40, old, random);
  const auto later = without(mixed_fields(), "bytes");
  std::vector<Row> newer;
  for (std::size_t i = 0; i < 30; ++i) {
    newer.push_back(
        following(random_row(PointId::number(10'000 + i), 100 + i, later, random), later));
  }
  const Segment inputs[] = {{with_fields(segment_of(rows, old).data, later), nullptr, 0},
                            segment_of(newer, later, 2)};
  const auto order = live_rows_by_id(inputs);
  const auto directory = fresh_directory();
  ASSERT_TRUE(write_segment_file(*directory, inputs, order, Cancel(), nullptr));
  const auto read = open_segment_file(*directory, 3, later);
  ASSERT_TRUE(read) << read.error().to_string();
  ASSERT_EQ(read->n_rows, order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const Segment segment{std::shared_ptr<const SegmentData>(std::shared_ptr<void>(), &*read),
                          nullptr, 0};
    EXPECT_EQ(segment.row(i), inputs[order[i].segment].row(order[i].row)) << "row " << i;
  }
}

TEST(Fields, OldFilesOpenWithLaterFields) {
  Random random(13);
  const auto old = first_fields(4);
  auto rows = random_rows(40, old, random);
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.id < b.id; });
  const Segment inputs[] = {segment_of(rows, old)};
  const auto directory = fresh_directory();
  ASSERT_TRUE(write_segment_file(*directory, inputs, live_rows_by_id(inputs), Cancel(), nullptr));
  const auto fields = without(mixed_fields(), "words");
  const auto read = open_segment_file(*directory, 1, fields);
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_TRUE(follows(*read, fields));
  expect_rows(*read, rows, fields);
}

TEST(Fields, ARewriteLeavesDroppedVectorsOut) {
  Random random(14);
  const auto old = first_fields(3);
  const auto rows = random_rows(200, old, random);
  const Segment before[] = {segment_of(rows, old)};
  const auto fields = without(old, "");
  const Segment after[] = {{with_fields(before[0].data, fields), nullptr, 0}};
  std::uint64_t sizes[2] = {};
  for (int i = 0; i < 2; ++i) {
    const auto& inputs = i == 0 ? before : after;
    const auto directory = fresh_directory();
    ASSERT_TRUE(write_segment_file(*directory, inputs, live_rows_by_id(inputs), Cancel(), nullptr));
    sizes[i] = std::filesystem::file_size(directory->path() + "/" + std::string(kSegmentFile));
  }
  EXPECT_LT(sizes[1] + 200 * 64, sizes[0]);
}

TEST(Fields, ARowMayBeOlderThanTheLastFields) {
  Random random(15);
  const auto old = first_fields(3);
  const auto fields = without(mixed_fields(), "half");
  for (const Row& row : random_rows(50, old, random)) {
    const auto bytes = encode_row(row);
    const auto read = decode_row(row.id, bytes, fields);
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(*read, following(row, fields));
    const auto fewer = decode_row(row.id, bytes, first_fields(2));
    ASSERT_FALSE(fewer);
    EXPECT_EQ(fewer.error().code(), Code::kDataLoss);
  }
}

TEST(Fields, AGrowingSegmentKeepsNothingOfDroppedFields) {
  Random random(16);
  const auto fields = without(mixed_fields(), "half");
  std::vector<Row> rows;
  for (const Row& row : random_rows(30, mixed_fields(), random)) {
    rows.push_back(following(row, fields));
  }
  const Segment segment = segment_of(rows, fields);
  EXPECT_TRUE(follows(*segment.data, fields));
  expect_rows(*segment.data, rows, fields);
  EXPECT_EQ(data_bytes(segment.data->fields[1]), 0U);
}

}  // namespace
}  // namespace quiver::engine::testing
