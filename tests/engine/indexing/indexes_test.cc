#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/indexing/index_params.h"
#include "engine/indexing/indexes.h"
#include "engine/segment/segment_file.h"
#include "gpu/devices.h"
#include "index/dense/params.h"
#include "index/exact/type.h"
#include "tests/engine/indexing/copied_index.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint64_t kId = 7;
const IndexPolicy kCopies{copied_index, 0};

/// Copies, but for one field as it says.
IndexPolicy copies_but(const std::string& field, VectorIndexConfig config) {
  VectorIndexConfigs configs;
  configs[field] = std::move(config);
  return {copied_index, 0, std::make_shared<const VectorIndexConfigs>(std::move(configs))};
}

/// A sealed segment, in memory.
class SegmentIndexes : public ::testing::Test {
 protected:
  void SetUp() override {
    copied_control.n_builds = 0;
    copied_control.fail = copied_control.hold = false;
    Random random(71);
    const std::vector<Segment> inputs = {segment_of(random_rows(60, fields_, random), fields_)};
    directory_ = segments_->subdirectory(std::to_string(kId)).value();
    ASSERT_TRUE(write_segment_file(*directory_, inputs, live_rows_by_id(inputs), cancel_, nullptr));
    data_ = open_segment_file(*directory_, kId, fields_).value();
  }

  [[nodiscard]] std::vector<std::size_t> all_fields() const {
    std::vector<std::size_t> numbers(fields_.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }
  Result<> build(SegmentData& data, const IndexPolicy& policy = kCopies) {
    QV_TRY(auto built, build_indexes(data, *segments_, {policy, cancel_}));
    install_indexes(data, std::move(built));
    return {};
  }
  [[nodiscard]] SegmentData reopened() const {
    return open_segment_file(*directory_, kId, fields_).value();
  }
  [[nodiscard]] std::vector<std::string> index_directories() const {
    std::vector<std::string> names;
    const auto entries = directory_->list().value();
    for (const auto& entry : entries) {
      if (entry.kind == EntryKind::kDirectory) names.push_back(entry.name);
    }
    return names;
  }

  const std::vector<FieldSchema> fields_ = mixed_fields();
  const Cancel cancel_{};
  std::unique_ptr<Directory> segments_ = make_memory_directory();
  std::unique_ptr<Directory> directory_;
  SegmentData data_;
};

TEST(DefaultIndex, FieldsOfEveryKindAreIndexed) {
  for (FieldSchema field : mixed_fields()) {
    const auto* type = default_index(field);
    ASSERT_NE(type, nullptr);
    EXPECT_TRUE(type->supports(field));
    const std::string_view wanted = field.kind == FieldKind::kSparse  ? "seismic"
                                    : field.kind == FieldKind::kDense ? "ivf"
                                    : is_distance(field.metric)       ? "flat"
                                                                      : "multi";
    EXPECT_EQ(type->name, wanted) << field.name;
    field.metric = Metric::kManhattan;
    if (field.kind == FieldKind::kSparse) continue;
    EXPECT_EQ(default_index(field), flat_index());
  }
}

TEST(DefaultIndex, FromASizeThatDependsOnTheKindOfField) {
  for (const FieldSchema& field : mixed_fields()) {
    const std::uint64_t mebibytes = field.kind == FieldKind::kDense    ? 4
                                    : field.kind == FieldKind::kSparse ? 1
                                                                       : 8;
    EXPECT_EQ(usual_min_bytes(field), mebibytes << 20) << field.name;
  }
}

TEST_F(SegmentIndexes, BuiltOnceAndFoundAgain) {
  EXPECT_EQ(missing_indexes(data_, kCopies), all_fields());
  ASSERT_TRUE(build(data_));
  EXPECT_TRUE(missing_indexes(data_, kCopies).empty());
  EXPECT_EQ(index_directories().size(), fields_.size());
  EXPECT_TRUE(directory_->exists("index-3-copied"));
  EXPECT_EQ(copied_control.n_builds, static_cast<int>(fields_.size()));

  auto again = reopened();
  EXPECT_EQ(missing_indexes(again, kCopies), all_fields());
  EXPECT_TRUE(open_indexes(again, *directory_, kCopies));
  EXPECT_TRUE(missing_indexes(again, kCopies).empty());
  EXPECT_EQ(copied_control.n_builds, static_cast<int>(fields_.size()));
}

TEST_F(SegmentIndexes, WithoutFilesTheFieldsAreSearchedExactly) {
  EXPECT_TRUE(open_indexes(data_, *directory_, kCopies)) << "not built is not damaged";
  EXPECT_EQ(missing_indexes(data_, kCopies), all_fields());
  for (const auto& spec : data_.indexes) EXPECT_EQ(spec.type, flat_index());
}

TEST_F(SegmentIndexes, NoneAreWantedOfSmallSegmentsOfFlatFieldsAndOfGrowingOnes) {
  EXPECT_TRUE(missing_indexes(data_, {copied_index, 1 << 20}).empty());
  const auto flat = [](const FieldSchema&) { return flat_index(); };
  EXPECT_TRUE(missing_indexes(data_, {flat, 0}).empty());
  EXPECT_FALSE(has_indexes(fields_, {flat, 0}));
  EXPECT_TRUE(has_indexes(fields_, kCopies));
  data_.sealed = false;
  EXPECT_TRUE(missing_indexes(data_, kCopies).empty());
}

TEST_F(SegmentIndexes, NoneIsWantedOfAFieldWithoutVectors) {
  data_.fields[2].n_present = 0;
  EXPECT_EQ(missing_indexes(data_, kCopies), (std::vector<std::size_t>{0, 1, 3, 4}));
}

TEST_F(SegmentIndexes, AFieldMayKeepDevicesOutOfItsBuilds) {
  const auto devices = gpu::Devices::open({.devices = "emulated", .module = ""}).value();
  for (const auto placing : {gpu::Placing::kAuto, gpu::Placing::kNever, gpu::Placing::kAlways}) {
    VectorIndexConfig config;
    config.on_gpu = placing;
    const auto policy = copies_but("half", config);
    data_ = reopened();
    for (std::size_t field = 0; field < fields_.size(); ++field) {
      remove_indexes(*directory_, field);
      data_.fields[field].n_present *= fields_[field].name == "half" ? 1 : 0;
    }
    IndexBuild one{policy, cancel_};
    one.devices = devices.get();
    ASSERT_TRUE(build_indexes(data_, *segments_, one));
    EXPECT_EQ(copied_control.last_had_devices, placing != gpu::Placing::kNever);
  }
}

TEST_F(SegmentIndexes, FieldsMayBeIndexedOtherwise) {
  VectorIndexConfig config;
  config.enabled = false;
  EXPECT_EQ(missing_indexes(data_, copies_but("half", config)),
            (std::vector<std::size_t>{0, 2, 3, 4}));
  config.enabled = true;
  config.min_bytes = 1 << 20;
  EXPECT_EQ(missing_indexes(data_, copies_but("half", config)),
            (std::vector<std::size_t>{0, 2, 3, 4}));
  auto large = copies_but("half", config);
  large.min_bytes = 1 << 20;
  EXPECT_TRUE(missing_indexes(data_, large).empty());
  config.min_bytes = 0;
  large = copies_but("half", config);
  large.min_bytes = 1 << 20;
  EXPECT_EQ(missing_indexes(data_, large), std::vector<std::size_t>{1});
}

/// Until the new one is there the old one answers; then it goes.
TEST_F(SegmentIndexes, OtherBuildParametersAreAnotherIndex) {
  ASSERT_TRUE(build(data_));
  VectorIndexConfig config;
  config.build["bits"] = std::int64_t{4};
  const auto policy = copies_but("half", config);
  EXPECT_EQ(missing_indexes(data_, policy), std::vector<std::size_t>{1});
  EXPECT_FALSE(lacks_index(data_, 1, policy)) << "it has one, if another";
  EXPECT_TRUE(unwanted_indexes(data_, policy).empty());
  auto again = reopened();
  EXPECT_TRUE(open_indexes(again, *directory_, policy)) << "not built is not damaged";
  EXPECT_TRUE(lacks_index(again, 1, policy));

  ASSERT_TRUE(build(data_, policy));
  EXPECT_EQ(copied_control.n_builds, static_cast<int>(fields_.size()) + 1);
  EXPECT_EQ(copied_control.last_bits, 4U);
  EXPECT_TRUE(directory_->exists("index-1-copied-bits=4"));
  EXPECT_FALSE(directory_->exists("index-1-copied"));
  EXPECT_EQ(index_directories().size(), fields_.size());
  EXPECT_TRUE(missing_indexes(data_, policy).empty());
  EXPECT_EQ(missing_indexes(data_, kCopies), std::vector<std::size_t>{1});
  again = reopened();
  EXPECT_TRUE(open_indexes(again, *directory_, policy));
  EXPECT_TRUE(missing_indexes(again, policy).empty());
}

TEST(NamedIndex, ABuildParameterChoosesTheType) {
  const FieldSchema dense{"d", FieldKind::kDense, 4, DType::kF32, Metric::kDot, {}};
  const auto with = [&](const VectorIndexConfig& config) {
    VectorIndexConfigs configs;
    configs["d"] = config;
    return IndexPolicy{default_index, 0,
                       std::make_shared<const VectorIndexConfigs>(std::move(configs))};
  };
  VectorIndexConfig config;
  EXPECT_EQ(wanted_type(dense, with(config))->name, "ivf");
  config.given["type"] = std::string("osq");
  config.given["partitions"] = std::int64_t{3};
  config.build["refine_bits"] = std::int64_t{4};  // a setting for the usual type
  EXPECT_EQ(wanted_type(dense, with(config))->name, "osq");
  EXPECT_TRUE(check_build_values(dense, config));
  EXPECT_TRUE(has_indexes({dense}, with(config)));
  config.enabled = false;
  EXPECT_FALSE(has_indexes({dense}, with(config)));
  config.given = {{"type", std::string("ivf")}};
  EXPECT_EQ(wanted_type(dense, with(config))->name, "ivf");
  EXPECT_TRUE(check_build_values(dense, config));
}

TEST(NamedIndex, TypesThatAreNotForTheFieldAreRefused) {
  const auto error_of = [](FieldKind kind, Metric metric, const ParamValue& type) {
    VectorIndexConfig config;
    config.given["type"] = type;
    const FieldSchema field{"f", kind, 4, DType::kF32, metric, {}};
    const auto checked = check_build_values(field, config);
    EXPECT_FALSE(checked);
    return checked ? "" : checked.error().message();
  };
  const std::string osq = "osq";
  EXPECT_EQ(error_of(FieldKind::kDense, Metric::kDot, std::string("hnsw")),
            "type is \"hnsw\", must be one of \"ivf\", \"osq\"");
  EXPECT_EQ(error_of(FieldKind::kDense, Metric::kDot, std::int64_t{1}),
            "type is 1, must be one of \"ivf\", \"osq\"");
  EXPECT_EQ(error_of(FieldKind::kMulti, Metric::kDot, osq),
            "type is \"osq\", must be one of \"multi\"");
  EXPECT_NE(error_of(FieldKind::kDense, Metric::kManhattan, osq).find("searched exactly"),
            std::string::npos);
}

/// A configuration from a newer server must not stop this one.
TEST(NamedIndex, AStoredTypeThatIsUnknownIsIgnored) {
  const FieldSchema dense{"d", FieldKind::kDense, 4, DType::kF32, Metric::kDot, {}};
  VectorIndexConfigs configs;
  configs["d"].given["type"] = std::string("of tomorrow");
  const IndexPolicy policy{default_index, 0,
                           std::make_shared<const VectorIndexConfigs>(std::move(configs))};
  EXPECT_EQ(wanted_type(dense, policy)->name, "ivf");
}

TEST_F(SegmentIndexes, WrongBuildParametersAreNamed) {
  VectorIndexConfig config;
  config.build["bytes"] = std::int64_t{4};
  const auto failed = build(data_, copies_but("", config));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kInvalidArgument);
  EXPECT_NE(failed.error().message().find("bits"), std::string::npos) << failed.error().message();
}

TEST_F(SegmentIndexes, OneThatIsSwitchedOffIsUnwanted) {
  ASSERT_TRUE(build(data_));
  EXPECT_TRUE(unwanted_indexes(data_, kCopies).empty());
  EXPECT_TRUE(unwanted_indexes(data_, {copied_index, 1 << 20}).empty())
      << "it is there: it is used";
  VectorIndexConfig config;
  config.enabled = false;
  EXPECT_EQ(unwanted_indexes(data_, copies_but("words", config)), std::vector<std::size_t>{3});
  uninstall_index(data_, 3);
  remove_indexes(*directory_, 3);
  EXPECT_EQ(index_directories().size(), fields_.size() - 1);
  EXPECT_EQ(missing_indexes(data_, kCopies), std::vector<std::size_t>{3});
}

TEST_F(SegmentIndexes, OneThatIsThereIsUsedThoughItWouldNotBeBuilt) {
  ASSERT_TRUE(build(data_));
  auto again = reopened();
  EXPECT_TRUE(open_indexes(again, *directory_, {copied_index, 1 << 20}));
  EXPECT_TRUE(missing_indexes(again, kCopies).empty());
}

TEST_F(SegmentIndexes, ADamagedOneIsLeftOutAndBuiltAgain) {
  ASSERT_TRUE(build(data_));
  auto files = directory_->open_subdirectory("index-0-copied").value();
  const auto good = files->read_file("copy").value();
  for (std::size_t at = 0; at < good.size(); at += 41) {
    SCOPED_TRACE("byte " + std::to_string(at));
    auto bad = good;
    bad[at] ^= std::byte{4};
    ASSERT_TRUE(files->replace_file("copy", bad));
    auto again = reopened();
    EXPECT_FALSE(open_indexes(again, *directory_, kCopies));
    EXPECT_EQ(missing_indexes(again, kCopies), std::vector<std::size_t>{0});
    ASSERT_TRUE(build(again));
    EXPECT_TRUE(missing_indexes(again, kCopies).empty());
    files = directory_->open_subdirectory("index-0-copied").value();
    EXPECT_EQ(files->read_file("copy").value(), good);
  }
}

TEST_F(SegmentIndexes, AFailedBuildLeavesNothing) {
  copied_control.fail = true;
  const auto failed = build(data_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "the build was told to fail");
  EXPECT_TRUE(index_directories().empty());
  copied_control.fail = false;
  EXPECT_TRUE(build(data_));
}

TEST_F(SegmentIndexes, ACancelledBuildLeavesNothing) {
  cancel_.cancel();
  const auto failed = build(data_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kCancelled);
  EXPECT_TRUE(index_directories().empty());
}

TEST_F(SegmentIndexes, WhatACrashLeftIsReplaced) {
  auto draft = directory_->subdirectory("index-1-copied.tmp").value();
  ASSERT_TRUE(draft->write_file("copy", as_byte_span("half of it")));
  EXPECT_TRUE(open_indexes(data_, *directory_, kCopies));
  ASSERT_TRUE(build(data_));
  EXPECT_FALSE(directory_->exists("index-1-copied.tmp"));
  EXPECT_EQ(index_directories().size(), fields_.size());
}

TEST_F(SegmentIndexes, WhatAFailedBuildFinishedIsTaken) {
  ASSERT_TRUE(build(data_));
  ASSERT_TRUE(directory_->remove_subdirectory("index-4-copied"));
  auto again = reopened();
  ASSERT_TRUE(build(again));
  EXPECT_EQ(copied_control.n_builds, static_cast<int>(fields_.size()) + 1);
}

TEST_F(SegmentIndexes, ProgressAscendsToAll) {
  std::vector<double> shares;
  const auto built =
      build_indexes(data_, *segments_,
                    {kCopies, cancel_, nullptr, [&](double share) { shares.push_back(share); }});
  ASSERT_TRUE(built);
  ASSERT_EQ(shares.size(), fields_.size());
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_GT(shares.front(), 0);
  EXPECT_LE(shares.back(), 1);
}

TEST_F(SegmentIndexes, ABuildIsGivenTheLargestIndexOfItsKindAmongInputs) {
  Random random(72);
  std::vector<Segment> inputs;
  const auto add = [&](std::uint32_t n_rows, const IndexSpec& spec) {
    Segment input = segment_of(random_rows(n_rows, fields_, random), fields_);
    auto data = std::make_shared<SegmentData>(*input.data);
    for (std::size_t field = 0; field < fields_.size(); ++field) {
      data->searchers[field] = std::make_shared<CopiedSearcher>(data->fields[field]);
      data->indexes[field] = spec;
    }
    input.data = std::move(data);
    inputs.push_back(std::move(input));
  };
  const auto rows_of_predecessor = [&] {
    EXPECT_TRUE(
        build_indexes(data_, *segments_, {kCopies, cancel_, nullptr, nullptr, nullptr, 0, inputs}));
    return copied_control.last_predecessor.load();
  };
  EXPECT_EQ(rows_of_predecessor(), 0U);
  add(40, {&kCopied, {{"bits", std::int64_t{4}}}});
  add(50, {flat_index(), {}});
  EXPECT_EQ(rows_of_predecessor(), 0U) << "these are of other parameters, and another type";
  add(20, {&kCopied, {}});
  add(30, {&kCopied, {}});
  add(10, {&kCopied, {}});
  EXPECT_EQ(rows_of_predecessor(), 30U);
  inputs[3].n_deleted = 15;
  EXPECT_EQ(rows_of_predecessor(), 20U) << "rows that are dead do not count";
}

}  // namespace
}  // namespace quiver::engine::testing
