// The ledger of private sums: budgets, restarts, power cuts, damage and many callers at once.
#include "engine/collections/privacy/collection_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/faulty_directory.h"

namespace quiver::engine::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kSumDim = 3;

PrivateSumRequest cosine_request(double epsilon, double delta = 1e-6) {
  PrivateSumRequest request;
  request.features.kernel = PrivateKernel::kCosine;
  request.cost = PrivacyAmount::of(epsilon, delta);
  return request;
}

class CollectionSumsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    open();
    ASSERT_TRUE(root_.sync());
  }

  void open() {
    PrivateSumHost host;
    host.check_changes = [this]() -> Result<> {
      return is_refused_ ? Result<>(fail(Code::kUnimplemented, "no")) : Result<>();
    };
    host.check = [](const PrivateSumRequest& request) -> Result<PrivateFeatures> {
      PrivateFeatures features = request.features;
      features.n_features = features.dim = kSumDim;
      features.is_normalised = true;
      return features;
    };
    host.sum = [this](const PrivateSumRequest&, const PrivateFeatures&,
                      const Cancel& cancel) -> Result<FeatureSums> {
      ++n_sums_;
      while (is_blocked_) {
        QV_TRY(cancel.check());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return FeatureSums{{100 * kGridOfFeatures, 0, -50 * kGridOfFeatures}, 1000};
    };
    sums_ = std::make_unique<CollectionSums>(root_.subdirectory("c").value(), std::move(host));
    sums_->open();
  }
  Result<ReleaseDetails> release(const std::string& name, double epsilon = 1, double delta = 1e-6) {
    return sums_->release(name, cosine_request(epsilon, delta), R"({"epsilon":1})", Cancel());
  }
  void set_budget(double epsilon, double delta = 1e-5) {
    ASSERT_TRUE(sums_->set_budget(PrivacyAmount::of(epsilon, delta), Cancel()));
  }
  [[nodiscard]] double spent() const { return sums_->report().value().spent.epsilon(); }
  std::unique_ptr<Directory> files() {
    return root_.subdirectory("c").value()->subdirectory("private").value();
  }
  [[nodiscard]] std::vector<PrivateEstimate> ask(const std::string& name) const {
    const std::vector<std::vector<float>> queries = {{1, 0, 0}, {0, 0, 2}};
    return sums_->estimate(name, queries, Cancel()).value();
  }

  FaultyDirectory root_{make_memory_directory()};
  std::unique_ptr<CollectionSums> sums_;
  std::atomic<bool> is_blocked_ = false;
  std::atomic<bool> is_refused_ = false;
  std::atomic<int> n_sums_ = 0;
};

TEST_F(CollectionSumsTest, NothingIsReleasedWithoutABudget) {
  const auto refused = release("a");
  EXPECT_EQ(refused.error().code(), Code::kPermissionDenied);
  EXPECT_THAT(refused.error().message(), HasSubstr("the collection has no budget"));
  EXPECT_EQ(n_sums_, 0);
  EXPECT_FALSE(sums_->report().value().budget);
  EXPECT_TRUE(root_.subdirectory("c").value()->list().value().empty()) << "no file unasked";
}

TEST_F(CollectionSumsTest, ReleasesSpendTheBudgetAndNoMore) {
  set_budget(0.3, 1e-5);
  for (const std::string name : {"a", "b", "c"}) ASSERT_TRUE(release(name, 0.1)) << name;
  EXPECT_EQ(spent(), 0.3);
  const auto refused = release("d", 0.1);
  EXPECT_EQ(refused.error().code(), Code::kPermissionDenied);
  EXPECT_EQ(refused.error().message(),
            "private sum `d` asks for epsilon 0.1 and delta 1e-06; epsilon 0.3 and delta 3e-06 are "
            "spent of the budget of epsilon 0.3 and delta 1e-05");
  set_budget(10, 3.5e-6);
  EXPECT_EQ(release("d", 0.1).error().code(), Code::kPermissionDenied) << "delta counts, too";
  EXPECT_TRUE(release("d", 0.1, 5e-7));
  set_budget(0.1);
  EXPECT_EQ(release("e", 0.001).error().code(), Code::kPermissionDenied);
  EXPECT_EQ(n_sums_, 4) << "refused ones are not summed";
}

TEST_F(CollectionSumsTest, NamesAreUsedOnce) {
  set_budget(3);
  ASSERT_TRUE(release("a"));
  EXPECT_EQ(release("a").error().code(), Code::kAlreadyExists);
  EXPECT_EQ(spent(), 1);
}

TEST_F(CollectionSumsTest, EstimatesAreTheSameForEverAndFree) {
  set_budget(3);
  const auto made = release("a").value();
  EXPECT_NEAR(made.count, 1000, 8 * made.count_deviation);
  const auto first = ask("a");
  EXPECT_NEAR(first[0].sum, 100, 8 * first[0].deviation);
  EXPECT_NEAR(first[1].sum, -50, 8 * first[1].deviation);
  EXPECT_NEAR(*first[0].mean, first[0].sum / made.count, 1e-9);
  open();
  const auto later = ask("a");
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(later[i].sum, first[i].sum);
  const auto details = sums_->details("a").value();
  EXPECT_EQ(details.count, made.count);
  EXPECT_EQ(details.info.request, R"({"epsilon":1})");
  EXPECT_EQ(spent(), 1);
  const std::vector<std::vector<float>> wrong = {{1, 2, 3}, {1, 2}};
  EXPECT_THAT(sums_->estimate("a", wrong, Cancel()).error().message(),
              HasSubstr("vectors[1] has 2 dimensions, private sum `a` is of 3"));
  EXPECT_EQ(sums_->details("b").error().code(), Code::kNotFound);
}

TEST_F(CollectionSumsTest, TwoReleasesOfTheSameDiffer) {
  set_budget(3);
  ASSERT_TRUE(release("a"));
  ASSERT_TRUE(release("b"));
  EXPECT_NE(ask("a")[0].sum, ask("b")[0].sum);
}

TEST_F(CollectionSumsTest, WhatIsDeletedStaysSpent) {
  set_budget(3);
  ASSERT_TRUE(release("a"));
  ASSERT_TRUE(release("b"));
  ASSERT_TRUE(sums_->forget("a", Cancel()));
  EXPECT_EQ(sums_->forget("a", Cancel()).error().code(), Code::kNotFound);
  EXPECT_EQ(spent(), 2);
  open();
  EXPECT_EQ(spent(), 2);
  EXPECT_EQ(sums_->report().value().releases.size(), 1U);
  EXPECT_EQ(files()->list().value().size(), 2U) << "the ledger and b";
  ASSERT_TRUE(release("a"));
  EXPECT_EQ(spent(), 3);
  EXPECT_EQ(sums_->report().value().releases[0].number, 3U) << "numbers are used once";
}

TEST_F(CollectionSumsTest, CancelledBeforeItPaysItCostsNothing) {
  set_budget(3);
  const Cancel cancel;
  cancel.cancel();
  EXPECT_FALSE(sums_->release("a", cosine_request(1), "{}", cancel));
  EXPECT_EQ(spent(), 0);
}

TEST_F(CollectionSumsTest, ClosingStopsWhatHasNotPaid) {
  set_budget(3);
  is_blocked_ = true;
  std::thread caller([this] { EXPECT_FALSE(release("a")); });
  while (n_sums_ == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  sums_->close();
  caller.join();
  EXPECT_EQ(release("b").error().code(), Code::kUnavailable);
  EXPECT_EQ(spent(), 0);
}

TEST_F(CollectionSumsTest, ManyCallersSpendNoMoreThanTheBudget) {
  set_budget(3);
  std::atomic<int> n_made = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([this, i, &n_made] {
      const auto made = release("r" + std::to_string(i));
      n_made += made ? 1 : 0;
      if (!made) {
        EXPECT_EQ(made.error().code(), Code::kPermissionDenied);
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(n_made, 3);
  EXPECT_EQ(spent(), 3);
}

TEST_F(CollectionSumsTest, RefusedWhereNothingMayChange) {
  is_refused_ = true;
  EXPECT_EQ(sums_->set_budget({}, Cancel()).error().code(), Code::kUnimplemented);
  EXPECT_EQ(release("a").error().code(), Code::kUnimplemented);
}

/// The power fails at each operation in turn. Afterwards everything answered is in the ledger.
TEST_F(CollectionSumsTest, AnsweredReleasesAreSpentWheneverThePowerFails) {
  set_budget(1000, 1e-3);
  const auto before = root_.n_operations(FileOperation::kAny);
  ASSERT_TRUE(release("first"));
  const auto n_steps = root_.n_operations(FileOperation::kAny) - before;
  ASSERT_GT(n_steps, 6U);
  int n_answered = 1;
  int n_lost = 0;
  for (std::uint64_t step = 1; step <= n_steps + 1; ++step) {
    const double known = spent();
    root_.inject({FileOperation::kAny, step, FaultRule::kForever});
    const auto name = "step" + std::to_string(step);
    const bool is_answered = release(name).has_value();
    EXPECT_EQ(is_answered, step > n_steps) << step;
    n_answered += is_answered ? 1 : 0;
    root_.cut_power();
    ASSERT_TRUE(root_.drop_unsynced());
    open();
    ASSERT_GE(spent(), known) << step;
    const auto report = sums_->report().value();
    int n_kept = 0;
    for (const auto& info : report.releases) n_kept += info.is_lost ? 0 : 1;
    EXPECT_GE(n_kept, n_answered) << step;
    n_lost = static_cast<int>(report.releases.size()) - n_kept;
    EXPECT_EQ(report.spent.epsilon(), static_cast<double>(report.releases.size())) << step;
  }
  EXPECT_GT(n_lost, 0) << "some were paid for and lost";
  const auto report = sums_->report().value();
  for (const auto& info : report.releases) {
    if (!info.is_lost) continue;
    EXPECT_EQ(sums_->details(info.name).error().code(), Code::kFailedPrecondition);
    ASSERT_TRUE(sums_->forget(info.name, Cancel()));
  }
}

TEST_F(CollectionSumsTest, AnUnwrittenLedgerAnswersNothing) {
  set_budget(3);
  root_.inject({FileOperation::kRename, 1});
  EXPECT_FALSE(release("a"));
  EXPECT_EQ(spent(), 1) << "the disk may have it";
  EXPECT_EQ(sums_->details("a").error().code(), Code::kFailedPrecondition);
}

TEST_F(CollectionSumsTest, ADamagedLedgerIsToldAndKept) {
  set_budget(3);
  ASSERT_TRUE(release("a"));
  auto bytes = files()->read_file("ledger").value();
  bytes[bytes.size() / 2] ^= std::byte{1};
  ASSERT_TRUE(files()->replace_file("ledger", bytes));
  open();
  EXPECT_EQ(sums_->report().error().code(), Code::kDataLoss);
  EXPECT_EQ(release("b").error().code(), Code::kDataLoss);
  const auto refused = sums_->set_budget(PrivacyAmount::of(9, 0.1), Cancel());
  EXPECT_EQ(refused.error().code(), Code::kDataLoss);
  EXPECT_EQ(files()->read_file("ledger").value(), bytes);
  ASSERT_TRUE(files()->remove_file("ledger"));
  open();
  EXPECT_THAT(sums_->report().error().message(), HasSubstr("is missing beside 1.release"));
}

TEST_F(CollectionSumsTest, AnOlderLedgerIsToldAndNothingIsRemoved) {
  set_budget(3);
  ASSERT_TRUE(release("a"));
  const auto older = files()->read_file("ledger").value();
  ASSERT_TRUE(release("b"));
  ASSERT_TRUE(files()->replace_file("ledger", older));
  open();
  EXPECT_THAT(sums_->report().error().message(), HasSubstr("older than 2.release"));
  EXPECT_EQ(release("c").error().code(), Code::kDataLoss);
  EXPECT_TRUE(files()->exists("2.release"));
}

TEST_F(CollectionSumsTest, ADamagedReleaseIsTold) {
  set_budget(3);
  ASSERT_TRUE(release("a"));
  auto bytes = files()->read_file("1.release").value();
  bytes[bytes.size() / 2] ^= std::byte{1};
  ASSERT_TRUE(files()->replace_file("1.release", bytes));
  open();
  EXPECT_EQ(sums_->details("a").error().code(), Code::kDataLoss);
  EXPECT_EQ(sums_->report().value().releases.size(), 1U);
  EXPECT_TRUE(release("b")) << "others go on";
}

TEST_F(CollectionSumsTest, ThereIsAnEndToThem) {
  set_budget(1000, 0.1);
  for (std::size_t i = 0; i < kMaxReleases; ++i) ASSERT_TRUE(release("r" + std::to_string(i), .1));
  EXPECT_EQ(release("one more", .1).error().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace quiver::engine::testing
