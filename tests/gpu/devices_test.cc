// The rows that an emulated device names hold the best ones, whatever the rows are; and every fault
// leaves the work to the caller.
#include "gpu/devices.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <type_traits>

#include "gpu/document_job.h"
#include "gpu/job.h"
#include "tests/gpu/support.h"
#include "tests/patience.h"

namespace quiver::gpu::testing {
namespace {

/// Asks for one query until its rows are there.
template <class Rows>
RowLists find(Devices& devices, Slot& slot, const Rows& rows,
              const std::vector<std::vector<float>>& queries, std::uint64_t k,
              const TestMasks& masks = {}) {
  constexpr bool is_dense = std::is_same_v<Rows, DenseRows>;
  std::vector<std::conditional_t<is_dense, DenseQuery, DocumentQuery>> asked;
  for (const auto& query : queries) asked.push_back({query, k, masks.pointer_of(asked.size())});
  const Cancel cancel;
  auto lists = devices.find_best(slot, rows, asked, cancel);
  devices.wait_for_loading();
  if (lists && !lists->front()) lists = devices.find_best(slot, rows, asked, cancel);
  EXPECT_TRUE(lists) << lists.error().to_string();
  return lists ? *std::move(lists) : RowLists(queries.size());
}

struct Shape {
  std::uint32_t n;
  std::uint32_t dim;
  Kind kind;
};

TEST(Dense, NamesAllOfTheBestRows) {
  const auto devices = open_emulated();
  Random random(11);
  for (const auto& [n, dim, kind] :
       {Shape{1, 3, Kind::kNormal}, Shape{15, 1, Kind::kNormal}, Shape{129, 33, Kind::kFewValues},
        Shape{2000, 64, Kind::kNormal}, Shape{2000, 20, Kind::kSpreadLengths},
        Shape{3000, 16, Kind::kOneLarge}, Shape{900, 8, Kind::kAllEqual},
        Shape{700, 40, Kind::kTiny}}) {
    for (const auto dtype : {DType::kF32, DType::kF16, DType::kBf16, DType::kU8}) {
      for (const auto similarity : {Similarity::kDot, Similarity::kNegL2Squared}) {
        SCOPED_TRACE(::testing::Message()
                     << n << " rows of " << dim << ", kind " << static_cast<int>(kind));
        const auto rows = random_rows(n, dim, dtype, kind, similarity, random);
        std::vector<std::vector<float>> queries;
        for (int i = 0; i < 3; ++i) queries.push_back(random_vector(dim, Kind::kNormal, random));
        Slot slot;
        for (const std::uint64_t k : {std::uint64_t{1}, std::uint64_t{10}, std::uint64_t{n} + 3}) {
          for (const auto& masks : various_masks(n, random)) {
            const auto lists = find(*devices, slot, rows, queries, k, masks);
            for (std::size_t q = 0; q < queries.size(); ++q) {
              ASSERT_TRUE(lists[q]);
              expect_complete(*lists[q], all_scores(rows, queries[q]), k, masks.bits_of(q));
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(n_fallbacks(*devices, Fallback::kUncertain), 0U);
}

TEST(Dense, NamesFewRows) {
  const auto devices = open_emulated();
  Random random(12);
  const auto rows = random_rows(20000, 128, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  Slot slot;
  std::size_t n_named = 0;
  for (int i = 0; i < 5; ++i) {
    const auto lists = find(*devices, slot, rows, {random_vector(128, Kind::kNormal, random)}, 10);
    ASSERT_TRUE(lists[0]);
    n_named += lists[0]->size();
  }
  EXPECT_LT(n_named, 5U * 40);
}

/// More rows share the best score than a buffer holds: the second pass cannot help.
TEST(Dense, TooManyEqualRowsAreLeftToTheCaller) {
  const auto devices = open_emulated();
  Random random(13);
  const auto rows = random_rows(9000, 4, DType::kF32, Kind::kAllEqual, Similarity::kDot, random);
  Slot slot;
  const auto lists = find(*devices, slot, rows, {{1, 2, 3, 4}}, 10);
  EXPECT_FALSE(lists[0]);
  EXPECT_EQ(n_fallbacks(*devices, Fallback::kUncertain), 1U);
}

/// The sample sees only bad rows, so the first pass overflows and the second one does not.
TEST(Dense, ASecondPassHasAHigherBar) {
  const auto devices = open_emulated();
  Random random(14);
  const std::uint32_t n = 128 * 128;
  auto rows = random_rows(n, 32, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  std::vector<std::byte> bytes(rows.bytes.begin(), rows.bytes.end());
  const auto query = random_vector(32, Kind::kNormal, random);
  for (std::uint32_t i = 0; i < n; ++i) {
    auto* row = reinterpret_cast<float*>(bytes.data() + i * rows.view.stride_bytes);
    const bool is_sampled = i / 128 % 16 == 0;
    for (int j = 0; j < 32; ++j) row[j] += is_sampled ? -9 * query[j] : 0;
  }
  rows.bytes = SharedBytes::of(std::move(bytes));
  rows.view.data = rows.bytes.data();
  Slot slot;
  const auto lists = find(*devices, slot, rows, {query}, 5);
  ASSERT_TRUE(lists[0]);
  expect_complete(*lists[0], all_scores(rows, query), 5, {});
}

TEST(Dense, QueriesThatHaveNoCodeAreLeftToTheCallerAndOthersAreNot) {
  const auto devices = open_emulated();
  Random random(15);
  const auto rows = random_rows(100, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  Slot slot;
  auto lists = find(*devices, slot, rows, {{1, 2, 3, 4}, {0, 0, 0, 0}, {4, 3, 2, 1}}, 3);
  EXPECT_TRUE(lists[0]);
  EXPECT_FALSE(lists[1]);
  EXPECT_TRUE(lists[2]);
  EXPECT_EQ(n_fallbacks(*devices, Fallback::kQuery), 1U);
  lists = find(*devices, slot, rows, {{0, 0, 0, 0}}, 3);
  EXPECT_FALSE(lists[0]);
  lists = find(*devices, slot, rows, {{1, 2, 3, 4}}, 5000);
  EXPECT_FALSE(lists[0]);
  EXPECT_GE(n_fallbacks(*devices, Fallback::kHits), 1U);
}

TEST(Dense, MoreQueriesThanAJobHolds) {
  const auto devices = open_emulated();
  Random random(16);
  const auto rows = random_rows(200, 8, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  std::vector<std::vector<float>> queries;
  for (int i = 0; i < 257; ++i) queries.push_back(random_vector(8, Kind::kNormal, random));
  Slot slot;
  const auto lists = find(*devices, slot, rows, queries, 4);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    ASSERT_TRUE(lists[q]) << q;
    expect_complete(*lists[q], all_scores(rows, queries[q]), 4, {});
  }
  EXPECT_EQ(devices->report().devices[0].n_done, 2U);
}

TEST(Dense, SeveralThreadsPrepareManyQueries) {
  const auto devices = open_emulated();
  Random random(18);
  const auto rows = random_rows(200, 8, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  std::vector<std::vector<float>> queries;
  for (int i = 0; i < 100; ++i) queries.push_back(random_vector(8, Kind::kNormal, random));
  for (const std::size_t i : {3, 4, 50, 99}) queries[i].assign(8, 0);  // no code
  Slot slot;
  const auto alone = find(*devices, slot, rows, queries, 4);
  std::vector<DenseQuery> asked;
  for (const auto& query : queries) asked.push_back({query, 4});
  Executor executor(3, "compute");
  const Cancel cancel;
  EXPECT_EQ(devices->find_best(slot, rows, asked, cancel, &executor).value(), alone);
  EXPECT_FALSE(alone[3]);
  EXPECT_TRUE(alone[98]);
}

TEST(LateInteraction, NamesAllOfTheBestDocuments) {
  const auto devices = open_emulated();
  Random random(41);
  struct Ragged {
    std::uint32_t n;
    std::uint32_t most;  ///< tokens of a document
    std::uint32_t dim;
    Kind kind;
  };
  for (const auto& [n, most, dim, kind] :
       {Ragged{1, 5, 3, Kind::kNormal}, Ragged{70, 1, 32, Kind::kNormal},
        Ragged{300, 20, 33, Kind::kNormal}, Ragged{200, 9, 16, Kind::kFewValues},
        Ragged{200, 40, 8, Kind::kOneLarge}, Ragged{90, 8, 4, Kind::kAllEqual}}) {
    for (const auto dtype : {DType::kF32, DType::kF16, DType::kBf16, DType::kU8}) {
      SCOPED_TRACE(::testing::Message()
                   << n << " documents, dim " << dim << ", kind " << static_cast<int>(kind));
      const auto documents = random_documents(n, most, dim, dtype, kind, random);
      const std::vector<std::vector<float>> queries = {random_tokens(1, dim, random),
                                                       random_tokens(12, dim, random),
                                                       random_tokens(70, dim, random)};
      Slot slot;
      for (const std::uint64_t k : {std::uint64_t{1}, std::uint64_t{10}, std::uint64_t{n} + 3}) {
        for (const auto& masks : various_masks(n, random)) {
          const auto lists = find(*devices, slot, documents, queries, k, masks);
          for (std::size_t q = 0; q < queries.size(); ++q) {
            ASSERT_TRUE(lists[q]);
            expect_complete(*lists[q], all_scores(documents, queries[q]), k,
                            with_tokens(documents, masks.bits_of(q)));
          }
        }
      }
    }
  }
}

TEST(LateInteraction, NamesFewDocuments) {
  const auto devices = open_emulated();
  Random random(42);
  const auto documents = random_documents(1000, 12, 64, DType::kF32, Kind::kNormal, random);
  Slot slot;
  const auto lists = find(*devices, slot, documents,
                          {random_tokens(16, 64, random), random_tokens(30, 64, random)}, 10);
  for (const auto& list : lists) {
    ASSERT_TRUE(list);
    EXPECT_LT(list->size(), 16U);
  }
  EXPECT_TRUE(slot.is_on_device());
  // Groups of eight tokens of 128 bytes, and 16 bytes a document.
  std::uint64_t n_tokens = 0;
  for (std::size_t i = 0; i < documents.n(); ++i) {
    n_tokens += (documents.offsets[i + 1] - documents.offsets[i] + 7) / 8 * 8;
  }
  EXPECT_EQ(devices->report().devices[0].resident_bytes, n_tokens * 128 + 1000 * 16);
}

TEST(LateInteraction, WhatADeviceCannotTellIsLeftToTheCaller) {
  const auto devices = open_emulated();
  Random random(43);
  const auto equal = random_documents(3000, 3, 4, DType::kF32, Kind::kAllEqual, random);
  Slot slot;
  auto lists = find(*devices, slot, equal, {{1, 2, 3, 4}}, 10);
  EXPECT_FALSE(lists[0]);
  EXPECT_EQ(n_fallbacks(*devices, Fallback::kUncertain), 1U);
  lists = find(*devices, slot, equal, {{0, 0, 0, 0}}, 10);
  EXPECT_FALSE(lists[0]);
  EXPECT_GE(n_fallbacks(*devices, Fallback::kQuery), 1U);

  auto values = random_documents(20, 3, 4, DType::kF32, Kind::kNormal, random);
  std::vector<std::byte> bytes(values.bytes.begin(), values.bytes.end());
  const float large = 1e6F;
  std::memcpy(bytes.data(), &large, sizeof large);
  values.bytes = SharedBytes::of(std::move(bytes));
  values.tokens.data = values.bytes.data();
  Slot other;
  EXPECT_FALSE(find(*devices, other, values, {{1, 2, 3, 4}}, 3)[0]);
  EXPECT_GE(n_fallbacks(*devices, Fallback::kRows), 1U);
}

/// Views of a billion tokens that nobody reads.
TEST(LateInteraction, AJobIsBoundedByItsProducts) {
  Documents documents;
  documents.tokens = {nullptr, 1'000'000'000, 128, DType::kF16, 256};
  documents.offsets = SharedSpan<std::uint64_t>::of(std::vector<std::uint64_t>{0, 1'000'000'000});
  const std::vector<float> values(std::size_t{128} * 200);
  const auto of_tokens = [&](std::size_t n) {
    return DocumentQuery{std::span(values).first(n * 128), 10};
  };
  EXPECT_FALSE(DocumentJob::is_too_large(documents, of_tokens(72)));
  EXPECT_TRUE(DocumentJob::is_too_large(documents, of_tokens(73)));
  const std::vector<DocumentQuery> queries = {of_tokens(10), of_tokens(30), of_tokens(200)};
  EXPECT_EQ(DocumentJob::n_together(documents, queries, std::vector<std::size_t>{0, 1}), 2U);
  EXPECT_EQ(DocumentJob::n_together(documents, queries, std::vector<std::size_t>{0}), 4U);
  documents.tokens.n_rows = 1000;
  EXPECT_EQ(DocumentJob::n_together(documents, queries, std::vector<std::size_t>{0, 1}), 64U);
}

TEST(LateInteraction, ManyQueriesAreSeveralJobs) {
  const auto devices = open_emulated();
  Random random(44);
  const auto documents = random_documents(50, 6, 8, DType::kF32, Kind::kNormal, random);
  std::vector<std::vector<float>> queries;
  for (std::uint32_t i = 0; i < 150; ++i) queries.push_back(random_tokens(1 + i % 9, 8, random));
  Slot slot;
  find(*devices, slot, documents, {queries[0]}, 4);
  const std::uint64_t before = devices->report().devices[0].n_done;
  const auto lists = find(*devices, slot, documents, queries, 4);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    ASSERT_TRUE(lists[q]);
    expect_complete(*lists[q], all_scores(documents, queries[q]), 4, with_tokens(documents, {}));
  }
  EXPECT_EQ(devices->report().devices[0].n_done - before, 3U);
}

TEST(Devices, ASlotKnowsWhetherItsRowsAreOnADevice) {
  const auto devices = open_emulated();
  Random random(19);
  const auto rows = random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  Slot slot;
  EXPECT_FALSE(slot.is_on_device());
  EXPECT_TRUE(find(*devices, slot, rows, {{1, 2, 3, 4}}, 3)[0]);
  EXPECT_TRUE(slot.is_on_device());
}

TEST(Devices, RowsWithoutCodesAndRowsThatDoNotFitStayWithTheCaller) {
  Options options;
  options.memory_bytes = 100 * (64 + sizeof(qv_row));
  const auto devices = open_emulated("emulated", options);
  Random random(17);
  const auto fits = random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  const auto more = random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  const auto slot = std::make_unique<Slot>();
  Slot other;
  EXPECT_TRUE(find(*devices, *slot, fits, {{1, 2, 3, 4}}, 3)[0]);
  EXPECT_FALSE(find(*devices, other, more, {{1, 2, 3, 4}}, 3)[0]);
  EXPECT_EQ(n_fallbacks(*devices, Fallback::kMemory), 2U);
  EXPECT_EQ(devices->report().devices[0].n_parts, 1U);

  auto infinite = random_rows(5, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  std::vector<float> values(5 * 16, std::numeric_limits<float>::infinity());
  infinite.view.data = reinterpret_cast<const std::byte*>(values.data());
  Slot third;
  EXPECT_FALSE(find(*devices, third, infinite, {{1, 2, 3, 4}}, 3)[0]);
  EXPECT_EQ(n_fallbacks(*devices, Fallback::kRows), 1U);
}

TEST(Devices, RowsThatNobodyWantsGiveWayTheLongestUnusedFirst) {
  Options options;
  options.memory_bytes = 130 * (64 + sizeof(qv_row));  // two parts of 60 rows
  options.idle_time = std::chrono::milliseconds(0);
  const auto devices = open_emulated("emulated", options);
  Random random(25);
  const std::vector<float> query = {1, 2, 3, 4};
  std::vector<DenseRows> rows;
  for (int i = 0; i < 3; ++i) {
    rows.push_back(random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random));
  }
  Slot slots[3];
  const auto is_there = [&](int i) {
    const Cancel cancel;
    const std::vector<DenseQuery> asked = {{query, 3}};
    return (*devices->find_best(slots[i], rows[i], asked, cancel))[0].has_value();
  };
  EXPECT_TRUE(find(*devices, slots[0], rows[0], {query}, 3)[0]);
  EXPECT_TRUE(find(*devices, slots[1], rows[1], {query}, 3)[0]);
  EXPECT_TRUE(is_there(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // a tick of the clock of uses
  EXPECT_TRUE(is_there(0));
  EXPECT_TRUE(find(*devices, slots[2], rows[2], {query}, 3)[0]);
  EXPECT_EQ(devices->report().n_evictions, 1U);
  EXPECT_EQ(devices->report().devices[0].n_parts, 2U);
  EXPECT_TRUE(is_there(0));
  EXPECT_TRUE(is_there(2));
  EXPECT_FALSE(is_there(1));
}

TEST(Devices, RowsInUseDoNotGiveWay) {
  Options options;
  options.memory_bytes = 100 * (64 + sizeof(qv_row));
  const auto devices = open_emulated("emulated", options);
  Random random(26);
  const auto first = random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  const auto second = random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  Slot slots[2];
  EXPECT_TRUE(find(*devices, slots[0], first, {{1, 2, 3, 4}}, 3)[0]);
  EXPECT_FALSE(find(*devices, slots[1], second, {{1, 2, 3, 4}}, 3)[0]);
  EXPECT_TRUE(find(*devices, slots[0], first, {{1, 2, 3, 4}}, 3)[0]);
  EXPECT_EQ(devices->report().n_evictions, 0U);
}

/// More rows than memory, asked for in turn by several threads: answers stay, and memory is given
/// back.
TEST(Devices, RowsThatCouldNeverFitMakeNoOthersGiveWay) {
  Options options;
  options.memory_bytes = 100 * (64 + sizeof(qv_row));
  options.idle_time = std::chrono::milliseconds(0);
  const auto devices = open_emulated("emulated", options);
  Random random(27);
  const auto fits = random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  const auto more = random_rows(120, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  Slot slots[2];
  EXPECT_TRUE(find(*devices, slots[0], fits, {{1, 2, 3, 4}}, 3)[0]);
  EXPECT_FALSE(find(*devices, slots[1], more, {{1, 2, 3, 4}}, 3)[0]);
  EXPECT_EQ(devices->report().n_evictions, 0U);
  EXPECT_TRUE(slots[0].is_on_device());
}

/// Three indexes of which two fit, the first one with a setting.
class Placings : public ::testing::Test {
 protected:
  Placings() {
    Options options;
    options.memory_bytes = 150 * (64 + sizeof(qv_row));
    devices_ = open_emulated("emulated", options);
    Random random(30);
    for (int i = 0; i < 3; ++i) {
      rows_.push_back(random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random));
    }
  }
  void place(int i, Placing placing) {
    devices_->place(slots_[i], rows_[i], placing);
    devices_->wait_for_loading();
  }
  /// Whether a device answers, after a search that wanted it.
  bool is_answered(int i) {
    return find(*devices_, slots_[i], rows_[i], {{1, 2, 3, 4}}, 3)[0].has_value();
  }

  std::unique_ptr<Devices> devices_;
  std::vector<DenseRows> rows_;
  Slot slots_[3];
};

TEST_F(Placings, WhatIsAlwaysThereIsThereBeforeASearch) {
  place(0, Placing::kAlways);
  EXPECT_TRUE(slots_[0].is_on_device());
  place(0, Placing::kAlways);
  EXPECT_EQ(devices_->report().devices[0].n_parts, 1U);
}

/// None of them was idle for a minute.
TEST_F(Placings, OthersGiveWayToItAndItGivesWayToNone) {
  EXPECT_TRUE(is_answered(1));
  EXPECT_TRUE(is_answered(2));
  place(0, Placing::kAlways);
  EXPECT_TRUE(slots_[0].is_on_device());
  EXPECT_EQ(devices_->report().n_evictions, 1U);
  place(1, Placing::kAlways);
  EXPECT_TRUE(slots_[1].is_on_device());
  EXPECT_FALSE(slots_[2].is_on_device());
  EXPECT_FALSE(is_answered(2));
  place(2, Placing::kAlways);
  EXPECT_FALSE(slots_[2].is_on_device());
  EXPECT_TRUE(is_answered(0));
  EXPECT_TRUE(is_answered(1));
}

TEST_F(Placings, WithoutASettingItGivesWayAgain) {
  place(0, Placing::kAlways);
  place(1, Placing::kAlways);
  place(0, Placing::kAuto);
  EXPECT_TRUE(slots_[0].is_on_device());
  place(2, Placing::kAlways);
  EXPECT_TRUE(slots_[2].is_on_device());
  EXPECT_FALSE(slots_[0].is_on_device());
}

TEST_F(Placings, WhatIsNeverThereGoesAndMayComeBack) {
  EXPECT_TRUE(is_answered(0));
  place(0, Placing::kNever);
  EXPECT_FALSE(slots_[0].is_on_device());
  EXPECT_EQ(devices_->report().devices[0].resident_bytes, 0U);
  const std::uint64_t n_uploaded = devices_->report().devices[0].n_uploaded_bytes;
  EXPECT_FALSE(is_answered(0)) << "a search that began before the change";
  EXPECT_EQ(devices_->report().devices[0].n_uploaded_bytes, n_uploaded);
  place(0, Placing::kAuto);
  EXPECT_FALSE(slots_[0].is_on_device());
  EXPECT_TRUE(is_answered(0));
}

/// Rows of the device that has the most room anyway, and no others.
TEST(Devices, RowsGiveWayWhereTheLeastIsMissing) {
  Options options;
  options.memory_bytes = 150 * (64 + sizeof(qv_row));
  const auto devices = open_emulated("emulated*2", options);
  Random random(31);
  const auto rows = [&](std::uint32_t n) {
    return random_rows(n, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  };
  const std::vector<DenseRows> all = {rows(140), rows(60), rows(60), rows(120)};
  Slot slots[4];
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(find(*devices, slots[i], all[i], {{1, 2, 3, 4}}, 3)[0]);
  devices->place(slots[3], all[3], Placing::kAlways);
  devices->wait_for_loading();
  EXPECT_TRUE(slots[0].is_on_device()) << "it was used the longest ago, but is on the other device";
  EXPECT_FALSE(slots[1].is_on_device());
  EXPECT_FALSE(slots[2].is_on_device());
  EXPECT_TRUE(slots[3].is_on_device());
  EXPECT_EQ(devices->report().n_evictions, 2U);
}

/// In whatever order the loader and the change come.
TEST_F(Placings, AChangeMeetsRowsOnTheirWay) {
  const Cancel cancel;
  const std::vector<float> query = {1, 2, 3, 4};
  for (int i = 0; i < 50; ++i) {
    devices_->place(slots_[0], rows_[0], Placing::kAlways);
    devices_->place(slots_[0], rows_[0], Placing::kNever);
    devices_->wait_for_loading();
    ASSERT_FALSE(slots_[0].is_on_device());
    ASSERT_EQ(devices_->report().devices[0].n_parts, 0U);
  }
}

TEST(Placing, HasNames) {
  for (const Placing placing : {Placing::kAuto, Placing::kAlways, Placing::kNever}) {
    EXPECT_EQ(placing_of(to_string(placing)), placing);
  }
  EXPECT_EQ(placing_of("sometimes"), std::nullopt);
}

/// The fourth call makes the part.
TEST(Devices, RowsThatADeviceCannotHoldAreOfferedOnce) {
  const auto devices = open_emulated("emulated:not@4");
  Random random(28);
  const auto rows = random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  Slot slot;
  EXPECT_FALSE(find(*devices, slot, rows, {{1, 2, 3, 4}}, 3)[0]);
  const std::uint64_t n_calls = emulated::n_calls();
  EXPECT_FALSE(find(*devices, slot, rows, {{1, 2, 3, 4}}, 3)[0]);
  EXPECT_EQ(emulated::n_calls(), n_calls);
  EXPECT_GE(n_fallbacks(*devices, Fallback::kRows), 2U);
}

TEST(Devices, FewAllowedRowsStayWithTheCaller) {
  Options options;
  options.devices = "emulated";
  options.min_bytes = 20 * 64;
  const auto devices = Devices::open(options);
  ASSERT_TRUE(devices);
  Random random(29);
  const auto rows = random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  Slot slot;
  const TestMasks few({{0x7FFFF}}, false);  // 19 of 60
  const TestMasks enough({{0xFFFFF}}, false);
  EXPECT_FALSE(find(**devices, slot, rows, {{1, 2, 3, 4}}, 3, few)[0]);
  EXPECT_EQ((*devices)->report().devices[0].n_uploaded_bytes, 0U);
  EXPECT_TRUE(find(**devices, slot, rows, {{1, 2, 3, 4}}, 3, enough)[0]);
  // Each query by its own mask.
  const auto lists = find(**devices, slot, rows, {{1, 2, 3, 4}, {4, 3, 2, 1}, {1, 1, 1, 1}}, 3,
                          TestMasks({{0xFFFFF}, {0x7FFFF}}, true));
  EXPECT_TRUE(lists[0]);
  EXPECT_FALSE(lists[1]);
  EXPECT_TRUE(lists[2]);
}

TEST(Devices, QueriesWithDifferentMasksShareAJob) {
  const auto devices = open_emulated();
  Random random(33);
  const auto rows = random_rows(500, 8, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  std::vector<std::vector<float>> queries;
  for (int i = 0; i < 100; ++i) queries.push_back(random_vector(8, Kind::kNormal, random));
  Slot slot;
  find(*devices, slot, rows, {queries[0]}, 4);
  const std::uint64_t n_done = devices->report().devices[0].n_done;
  const auto masks = TestMasks::random(33, true, 500, random);
  const auto lists = find(*devices, slot, rows, queries, 4, masks);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    ASSERT_TRUE(lists[q]) << q;
    expect_complete(*lists[q], all_scores(rows, queries[q]), 4, masks.bits_of(q));
  }
  EXPECT_EQ(devices->report().devices[0].n_done, n_done + 1);
}

TEST(Devices, MasksThatTakeMuchMemoryAreSpreadOverJobs) {
  const std::vector<std::uint64_t> masks(100);  // only their places matter
  std::vector<DenseQuery> queries;
  for (std::size_t i = 0; i < 100; ++i)
    queries.push_back({{}, 1, i < 10 ? nullptr : &masks[i / 2]});
  std::vector<std::size_t> numbers(queries.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  const auto n_of = [&](std::uint64_t n_rows) {
    return n_within_masks(std::span<const DenseQuery>(queries), numbers, n_rows);
  };
  EXPECT_EQ(n_of(1'000'000), 100U);           // 45 masks of 125 KB
  EXPECT_EQ(n_of(100'000'000), 10U + 5 * 2);  // 12.5 MB each
  EXPECT_EQ(n_of(4'000'000'000), 10U + 2);
}

TEST(Devices, ManyEvictions) {
  Options options;
  options.memory_bytes = 130 * (64 + sizeof(qv_row));
  options.idle_time = std::chrono::milliseconds(0);
  const auto devices = open_emulated("emulated", options);
  Random random(27);
  std::vector<DenseRows> rows;
  for (int i = 0; i < 6; ++i) {
    rows.push_back(random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random));
  }
  std::vector<Slot> slots(6);
  std::vector<std::thread> threads;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(800);
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<float> query = {1, 2, 3, static_cast<float>(t)};
      const std::vector<DenseQuery> asked = {{query, 3}};
      const Cancel cancel;
      for (std::size_t i = 0; std::chrono::steady_clock::now() < end; i = (i + 1 + t) % 6) {
        const auto lists = devices->find_best(slots[i], rows[i], asked, cancel);
        if ((*lists)[0]) expect_complete(*(*lists)[0], all_scores(rows[i], query), 3, {});
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  devices->wait_for_loading();
  EXPECT_GT(devices->report().n_evictions, 0U);
  EXPECT_LE(devices->report().devices[0].n_parts, 2U);
  slots = std::vector<Slot>();
  EXPECT_EQ(devices->report().devices[0].resident_bytes, 0U);
}

TEST(Devices, ASearcherThatGoesGivesItsMemoryBack) {
  const auto devices = open_emulated();
  Random random(18);
  const auto rows = random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  {
    Slot slot;
    find(*devices, slot, rows, {{1, 2, 3, 4}}, 3);
    EXPECT_EQ(devices->report().devices[0].resident_bytes, 60 * (64 + sizeof(qv_row)));
  }
  EXPECT_EQ(devices->report().devices[0].resident_bytes, 0U);
  EXPECT_EQ(devices->report().devices[0].n_parts, 0U);
}

TEST(Devices, SmallSegmentsStayWithTheCaller) {
  Options options;
  options.devices = "emulated";
  const auto devices = Devices::open(options);
  ASSERT_TRUE(devices);
  Random random(19);
  const auto rows = random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  Slot slot;
  EXPECT_FALSE(find(**devices, slot, rows, {{1, 2, 3, 4}}, 3)[0]);
  EXPECT_EQ((*devices)->report().devices[0].n_uploaded_bytes, 0U);
}

/// `ask` wants an answer of the devices, twice. Lets each of their calls fail in each way.
template <class Ask>
void let_every_call_fail(const Ask& ask) {
  const auto session = [&](const std::string& option) {
    Options options;
    options.devices = option;
    options.min_bytes = 0;
    options.job_time = std::chrono::milliseconds(100);
    const auto devices = Devices::open(options);
    if (!devices) {
      EXPECT_EQ(devices.error().code(), Code::kUnavailable);
    } else {
      for (int round = 0; round < 2; ++round) ask(**devices);
    }
    return emulated::n_calls();
  };
  const std::uint64_t n_before = emulated::n_objects();
  const std::uint64_t n_calls = session("emulated");
  ASSERT_GE(n_calls, 8U);
  EXPECT_EQ(emulated::n_objects(), n_before);
  for (const std::string status : {"not", "no_memory"}) {
    for (std::uint64_t call = 1; call <= n_calls; ++call) {
      SCOPED_TRACE(status + "@" + std::to_string(call));
      session("emulated:" + status + "@" + std::to_string(call));
      EXPECT_EQ(emulated::n_objects(), n_before);
    }
  }
  // A lost device keeps what it has: it could only be given back by calls that may never return.
  for (std::uint64_t call = 1; call <= n_calls; ++call) {
    SCOPED_TRACE("lost@" + std::to_string(call));
    session("emulated:lost@" + std::to_string(call));
  }
}

TEST(Faults, EveryCallMayFail) {
  Random random(20);
  const auto rows = random_rows(300, 16, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  const auto query = random_vector(16, Kind::kNormal, random);
  const auto scores = all_scores(rows, query);
  let_every_call_fail([&](Devices& devices) {
    Slot slot;
    const auto lists = find(devices, slot, rows, {query}, 7);
    if (lists[0]) expect_complete(*lists[0], scores, 7, {});
  });
}

TEST(Faults, EveryCallAboutDocumentsMayFail) {
  Random random(45);
  const auto documents = random_documents(200, 6, 8, DType::kF32, Kind::kNormal, random);
  const auto query = random_tokens(5, 8, random);
  const auto scores = all_scores(documents, query);
  let_every_call_fail([&](Devices& devices) {
    Slot slot;
    const auto lists = find(devices, slot, documents, {query}, 7);
    if (lists[0]) expect_complete(*lists[0], scores, 7, with_tokens(documents, {}));
  });
}

TEST(Checks, AreDueAsOftenAsTheShareSays) {
  for (const double share : {0.0, 0.25, 0.3, 1.0}) {
    Options options;
    options.check_share = share;
    const auto devices = open_emulated("emulated", options);
    std::vector<std::size_t> numbers;
    for (int i = 0; i < 100; ++i) {
      if (const auto number = devices->next_to_check(3)) numbers.push_back(*number);
    }
    ASSERT_EQ(numbers.size(), static_cast<std::size_t>(std::lround(100 * share)));
    for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i % 3);
    EXPECT_FALSE(devices->next_to_check(0));
  }
}

/// A slot whose rows are on a device of `devices`.
void fill(Devices& devices, Slot& slot, const DenseRows& rows) {
  EXPECT_TRUE(find(devices, slot, rows, {std::vector<float>(rows.view.dim, 1.0F)}, 3)[0]);
}

TEST(Checks, TheThirdDifferenceLosesTheDevice) {
  const auto devices = open_emulated();
  Random random(46);
  const auto rows = random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  Slot slot;
  devices->post_check(slot, [](const Cancel&) -> Result<bool> { return false; });
  EXPECT_EQ(devices->report().devices[0].n_checked, 0U);  // no rows, no device
  fill(*devices, slot, rows);
  for (const bool is_right : {true, false, true, false}) {
    devices->post_check(slot, [is_right](const Cancel&) -> Result<bool> { return is_right; });
    devices->wait_for_loading();
  }
  auto report = devices->report().devices[0];
  EXPECT_EQ(report.n_checked, 4U);
  EXPECT_EQ(report.n_different, 2U);
  EXPECT_FALSE(report.is_lost);
  devices->post_check(slot, [](const Cancel&) -> Result<bool> { return false; });
  devices->wait_for_loading();
  EXPECT_TRUE(devices->report().devices[0].is_lost);
  EXPECT_FALSE(slot.is_on_device());
}

/// A check that fails is none, and others follow.
TEST(Checks, MayFail) {
  const auto devices = open_emulated();
  Random random(48);
  const auto rows = random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  Slot slot;
  fill(*devices, slot, rows);
  devices->post_check(slot, [](const Cancel&) -> Result<bool> { throw std::bad_alloc(); });
  devices->wait_for_loading();
  EXPECT_EQ(devices->report().devices[0].n_checked, 0U);
  devices->post_check(slot, [](const Cancel&) -> Result<bool> { return true; });
  devices->wait_for_loading();
  EXPECT_EQ(devices->report().devices[0].n_checked, 1U);
}

TEST(Checks, OneAtATimeAndNoneThatKeepsTheProcessFromEnding) {
  std::atomic<int> n_begun = 0;
  {
    const auto devices = open_emulated();
    Random random(47);
    const auto rows = random_rows(60, 4, DType::kF32, Kind::kNormal, Similarity::kDot, random);
    Slot slot;
    fill(*devices, slot, rows);
    const auto endless = [&n_begun](const Cancel& cancel) -> Result<bool> {
      ++n_begun;
      while (!cancel.poll()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return fail(cancel.check().error());
    };
    devices->post_check(slot, endless);
    EXPECT_TRUE(comes_true([&] { return n_begun == 1; }));
    devices->post_check(slot, endless);
    EXPECT_EQ(devices->report().devices[0].n_checked, 0U);
  }
  EXPECT_EQ(n_begun, 1);
}

TEST(Faults, ALostDeviceIsAskedNothingMore) {
  Random random(21);
  const auto rows = random_rows(300, 16, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  const auto query = random_vector(16, Kind::kNormal, random);
  // Calls: open, two lanes, a part, its rows, pinned memory, the job; then it is waited for.
  const auto devices = open_emulated("emulated:lost@8");
  Slot slot;
  EXPECT_FALSE(find(*devices, slot, rows, {query}, 7)[0]);
  EXPECT_FALSE(devices->is_useful());
  EXPECT_TRUE(devices->report().devices[0].is_lost);
  EXPECT_FALSE(slot.is_on_device());
  const std::uint64_t n_calls = emulated::n_calls();
  EXPECT_EQ(n_calls, 8U);
  EXPECT_FALSE(find(*devices, slot, rows, {query}, 7)[0]);
  EXPECT_EQ(emulated::n_calls(), n_calls);
  EXPECT_GE(n_fallbacks(*devices, Fallback::kLost), 1U);
}

TEST(Devices, PartsAreSpreadOverSeveral) {
  const auto devices = open_emulated("emulated*3");
  Random random(26);
  std::vector<DenseRows> rows;
  Slot slots[6];
  for (int i = 0; i < 6; ++i) {
    rows.push_back(random_rows(200, 16, DType::kF32, Kind::kNormal, Similarity::kDot, random));
    EXPECT_TRUE(
        find(*devices, slots[i], rows[i], {random_vector(16, Kind::kNormal, random)}, 5)[0]);
  }
  const auto report = devices->report();
  ASSERT_EQ(report.devices.size(), 3U);
  for (const auto& device : report.devices) EXPECT_EQ(device.n_parts, 2U) << device.number;
  EXPECT_EQ(devices->n_lanes(), 3 * Device::kLanes);
}

/// Whichever call loses one of two devices, the other one takes its rows.
TEST(Faults, RowsOfALostDeviceGoToAnother) {
  Random random(27);
  const auto query = random_vector(16, Kind::kNormal, random);
  std::vector<DenseRows> rows;
  for (int i = 0; i < 3; ++i) {
    rows.push_back(random_rows(300, 16, DType::kF32, Kind::kNormal, Similarity::kDot, random));
  }
  std::uint64_t n_calls = 0;
  for (std::uint64_t call = 0; call <= n_calls; ++call) {
    SCOPED_TRACE(call);
    const auto devices =
        open_emulated(call == 0 ? "emulated*2" : "emulated*2:lost@" + std::to_string(call));
    ASSERT_NE(devices, nullptr);
    Slot slots[3];
    for (int round = 0; round < 6; ++round) {
      if (call == 0 && round == 3) n_calls = emulated::n_calls();
      for (int i = 0; i < 3; ++i) {
        const auto lists = find(*devices, slots[i], rows[i], {query}, 7);
        EXPECT_TRUE(lists[0] || round < 5) << i;
        if (lists[0]) expect_complete(*lists[0], all_scores(rows[i], query), 7, {});
      }
    }
    EXPECT_TRUE(devices->is_useful());
  }
  EXPECT_GE(n_calls, 12U);
}

TEST(Faults, AJobThatDoesNotEndLosesTheDevice) {
  Random random(22);
  const auto rows = random_rows(300, 16, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  const auto query = random_vector(16, Kind::kNormal, random);
  Options options;
  options.job_time = std::chrono::milliseconds(20);
  const auto devices = open_emulated("emulated:hang@1", options);
  Slot slot;
  EXPECT_FALSE(find(*devices, slot, rows, {query}, 7)[0]);
  EXPECT_TRUE(devices->report().devices[0].is_lost);
}

TEST(Faults, ACancelledQueryLeavesAtOnceAndItsLaneLater) {
  Random random(23);
  const auto rows = random_rows(4000, 64, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  const auto devices = open_emulated();
  const auto query = random_vector(64, Kind::kNormal, random);
  Slot slot;
  find(*devices, slot, rows, {query}, 7);
  const std::vector<DenseQuery> asked = {{query, 7}};
  for (int i = 0; i < 5; ++i) {  // more than there are lanes
    const Cancel cancelled;
    cancelled.cancel();
    const auto lists = devices->find_best(slot, rows, asked, cancelled);
    if (!lists) {
      EXPECT_EQ(lists.error().code(), Code::kCancelled);
    }
  }
  // Abandoned jobs go on when somebody asks for a lane.
  const auto deadline = std::chrono::steady_clock::now() + patience(std::chrono::seconds(10));
  const Cancel cancel;
  auto lists = devices->find_best(slot, rows, asked, cancel);
  while (!(*lists)[0] && std::chrono::steady_clock::now() < deadline) {
    lists = devices->find_best(slot, rows, asked, cancel);
  }
  EXPECT_TRUE((*lists)[0]);
  EXPECT_GE(n_fallbacks(*devices, Fallback::kBusy), 1U);
}

TEST(Devices, SeveralThreadsAskAtOnce) {
  Random random(24);
  const auto rows = random_rows(1500, 24, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  const auto devices = open_emulated();
  Slot slot;
  find(*devices, slot, rows, {random_vector(24, Kind::kNormal, random)}, 7);
  std::atomic<int> n_answered = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      Random own(100 + t);
      const Cancel cancel;
      for (int i = 0; i < 20; ++i) {
        const auto query = random_vector(24, Kind::kNormal, own);
        const std::vector<DenseQuery> asked = {{query, 7}};
        const auto lists = devices->find_best(slot, rows, asked, cancel);
        ASSERT_TRUE(lists);
        if (!(*lists)[0]) continue;  // both lanes were in use
        ++n_answered;
        expect_complete(*(*lists)[0], all_scores(rows, query), 7, {});
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GT(n_answered, 0);
}

}  // namespace
}  // namespace quiver::gpu::testing
