#include "engine/segment/segment_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

Result<> write(Directory& directory, std::span<const Segment> inputs) {
  const Cancel cancel;
  return write_segment_file(directory, inputs, live_rows_by_id(inputs), cancel, nullptr);
}

std::vector<std::byte> bytes_of(const Directory& directory) {
  return directory.read_file(kSegmentFile).value();
}

void replace_file(Directory& directory, std::span<const std::byte> bytes) {
  ASSERT_TRUE(directory.remove_file(kSegmentFile));
  ASSERT_TRUE(directory.write_file(kSegmentFile, bytes));
}

/// `data` holds exactly `rows`, in id order.
void expect_rows(const SegmentData& data, const std::map<PointId, Row>& rows) {
  ASSERT_EQ(data.n_rows, rows.size());
  const Segment segment{std::make_shared<SegmentData>(data), nullptr, 0};
  std::uint32_t i = 0;
  for (const auto& [id, row] : rows) {
    EXPECT_EQ(segment.row(i), row) << "row " << i;
    EXPECT_EQ(segment.find(id), i);
    ++i;
  }
}

TEST(SegmentFile, HoldsTheLiveRowsOfItsInputs) {
  for (const std::uint64_t seed : {81, 82, 83}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto fields = mixed_fields();
    const auto rows = random_rows(300, fields, random);
    std::map<PointId, Row> wanted;
    std::vector<Segment> inputs;
    for (std::size_t part = 0; part < 3; ++part) {
      const std::vector<Row> some(rows.begin() + part * 100, rows.begin() + part * 100 + 100);
      std::vector<std::uint32_t> dead;
      for (std::uint32_t row = 0; row < 100; ++row) {
        if (random() % 5 == 0) {
          dead.push_back(row);
        } else {
          wanted.emplace(some[row].id, some[row]);
        }
      }
      inputs.push_back(with_deleted(segment_of(some, fields, part + 1), dead));
    }
    const auto directory = make_memory_directory();
    ASSERT_TRUE(write(*directory, inputs));
    const auto opened = open_segment_file(*directory, 7, fields);
    ASSERT_TRUE(opened) << opened.error().to_string();
    EXPECT_EQ(opened->id, 7U);
    EXPECT_TRUE(opened->sealed);
    EXPECT_EQ(opened->searchers.size(), fields.size());
    expect_rows(*opened, wanted);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const auto n_present = std::count_if(wanted.begin(), wanted.end(), [&](const auto& entry) {
        return is_present(entry.second.vectors[f]);
      });
      EXPECT_EQ(opened->fields[f].n_present, n_present);
      EXPECT_EQ(opened->fields[f].schema, fields[f]);
    }
  }
}

TEST(SegmentFile, SealedSegmentsAreInputsToo) {
  Random random(84);
  const auto fields = mixed_fields();
  const auto rows = random_rows(50, fields, random);
  const auto directory = make_memory_directory();
  ASSERT_TRUE(write(*directory, std::vector{segment_of(rows, fields)}));
  auto sealed = open_segment_file(*directory, 1, fields);
  ASSERT_TRUE(sealed);
  const auto again = make_memory_directory();
  ASSERT_TRUE(
      write(*again, std::vector{Segment{std::make_shared<SegmentData>(*sealed), nullptr, 0}}));
  EXPECT_EQ(bytes_of(*again), bytes_of(*directory));
}

/// The bytes depend on the rows alone, not on how they lay in segments before.
TEST(SegmentFile, SameRowsSameBytes) {
  Random random(85);
  const auto fields = mixed_fields();
  auto rows = random_rows(90, fields, random);
  const auto one = make_memory_directory();
  ASSERT_TRUE(write(*one, std::vector{segment_of(rows, fields)}));
  std::shuffle(rows.begin(), rows.end(), random);
  const std::vector<Row> first(rows.begin(), rows.begin() + 31);
  const std::vector<Row> second(rows.begin() + 31, rows.end());
  const auto two = make_memory_directory();
  ASSERT_TRUE(
      write(*two, std::vector{segment_of(first, fields, 1), segment_of(second, fields, 2)}));
  EXPECT_EQ(bytes_of(*one), bytes_of(*two));
}

TEST(SegmentFile, SectionsLargerThanTheWriteBuffer) {
  Random random(86);
  const std::vector<FieldSchema> fields = {
      {"", FieldKind::kDense, 700, DType::kF32, Metric::kDot, SparseModifier::kNone}};
  auto rows = random_rows(1200, fields, random);
  rows[3].payload = R"({"s":")" + std::string(3 << 20, 'x') + R"("})";
  std::map<PointId, Row> wanted;
  for (const Row& row : rows) wanted.emplace(row.id, row);
  const auto directory = make_memory_directory();
  ASSERT_TRUE(write(*directory, std::vector{segment_of(rows, fields)}));
  const auto opened = open_segment_file(*directory, 1, fields);
  ASSERT_TRUE(opened) << opened.error().to_string();
  expect_rows(*opened, wanted);
}

class DamagedSegmentFile : public ::testing::Test {
 protected:
  DamagedSegmentFile() {
    Random random(87);
    const auto rows = random_rows(6, fields_, random);
    EXPECT_TRUE(write(*directory_, std::vector{segment_of(rows, fields_)}));
    good_ = bytes_of(*directory_);
  }
  void expect_refused(std::span<const std::byte> bytes) {
    replace_file(*directory_, bytes);
    const auto opened = open_segment_file(*directory_, 1, fields_);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), Code::kDataLoss) << opened.error().to_string();
  }

  const std::vector<FieldSchema> fields_ = mixed_fields();
  const std::unique_ptr<Directory> directory_ = make_memory_directory();
  std::vector<std::byte> good_;
};

TEST_F(DamagedSegmentFile, EveryBit) {
  for (std::size_t bit = 0; bit < good_.size() * 8; ++bit) {
    SCOPED_TRACE("bit " + std::to_string(bit % 8) + " of byte " + std::to_string(bit / 8) + " of " +
                 std::to_string(good_.size()));
    auto bad = good_;
    bad[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    expect_refused(bad);
    if (HasFailure()) return;
  }
}

TEST_F(DamagedSegmentFile, EveryTruncation) {
  for (std::size_t n = 0; n < good_.size(); ++n) {
    SCOPED_TRACE(std::to_string(n) + " of " + std::to_string(good_.size()) + " bytes");
    expect_refused(std::span(good_).first(n));
    if (HasFailure()) return;
  }
}

TEST_F(DamagedSegmentFile, MoreBytes) {
  auto longer = good_;
  longer.insert(longer.end(), 64, std::byte{});
  expect_refused(longer);
}

TEST_F(DamagedSegmentFile, OtherFields) {
  auto other = fields_;
  other[0].dim = 50;
  EXPECT_FALSE(open_segment_file(*directory_, 1, other));
  other = fields_;
  other.push_back({"more", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}});
  EXPECT_TRUE(open_segment_file(*directory_, 1, other)) << "a field added since";
}

TEST_F(DamagedSegmentFile, NoFile) {
  ASSERT_TRUE(directory_->remove_file(kSegmentFile));
  const auto opened = open_segment_file(*directory_, 1, fields_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::kNotFound);
}

TEST(SegmentFile, CancelledWriteStops) {
  Random random(88);
  const auto fields = mixed_fields();
  const auto segment = segment_of(random_rows(20, fields, random), fields);
  const Cancel cancel;
  cancel.cancel();
  const std::vector inputs = {segment};
  const auto directory = make_memory_directory();
  const auto written =
      write_segment_file(*directory, inputs, live_rows_by_id(inputs), cancel, nullptr);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::kCancelled);
}

TEST(SegmentFile, ProgressGrowsToOne) {
  Random random(89);
  const auto fields = mixed_fields();
  const std::vector inputs = {segment_of(random_rows(2000, fields, random), fields)};
  const auto directory = make_memory_directory();
  const Cancel cancel;
  double last = 0;
  ASSERT_TRUE(
      write_segment_file(*directory, inputs, live_rows_by_id(inputs), cancel, [&](double share) {
        EXPECT_GE(share, last);
        last = share;
      }));
  EXPECT_GT(last, 0.5);
  EXPECT_LE(last, 1.0);
}

}  // namespace
}  // namespace quiver::engine::testing
