#include "service/shared_passes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/threads/executor.h"
#include "service/http/service.h"
#include "tests/patience.h"
#include "tests/service/fake_database.h"
#include "tests/support/failing_allocation.h"

namespace quiver::service {
namespace {

constexpr std::size_t kSearches = 5;
/// More than are made on the way to an answer.
constexpr int kAllocations = 150;

class TestExchange final : public Exchange {
 public:
  using Exchange::Exchange;
  /// False if it is not finished within ten seconds.
  bool is_finished() {
    if (!deferred()) return true;
    wait([this] { finished_.set_value(); });
    return finished_.get_future().wait_for(patience(std::chrono::seconds(10))) ==
           std::future_status::ready;
  }

 private:
  void post_resume(Task resume) override { resume(); }
  std::promise<void> finished_;
};

class SharedPassesTest : public ::testing::Test {
 protected:
  SharedPassesTest() {
    engine::CollectionConfig config;
    config.client_settings = R"({"mode":"shared"})";
    EXPECT_TRUE(database_.create_collection("c", std::move(config)));
    collection_ = *database_.collection("c");
  }
  SharedPasses::Search search() {
    return {collection_, engine::Query(), std::make_shared<const Cancel>(),
            [](Exchange& x, const std::vector<engine::Record>&) { x.result_raw("[]"); }};
  }
  /// Searches that queue for the only thread while it runs `first`. `before_adding` is called on
  /// this one before the middle search is added.
  void ask(Task first, Task before_adding) {
    Executor compute(1, "compute");
    const auto passes = std::make_shared<SharedPasses>(compute);
    std::promise<void> all_wait;
    compute.post(Priority::kHigh, [&] {
      all_wait.get_future().wait();
      first();
    });
    std::vector<std::unique_ptr<TestExchange>> exchanges;
    for (std::size_t i = 0; i < kSearches; ++i) {
      exchanges.push_back(std::make_unique<TestExchange>(service_));
      auto work = [&](Exchange& x) -> Decoded<Answer> {
        auto one = search();
        if (i == kSearches / 2) before_adding();
        return passes->add(x, std::move(one));
      };
      exchanges.back()->run(work);
      testing_support::fail_allocations(0, 0);
    }
    all_wait.set_value();
    for (const auto& exchange : exchanges) {
      ASSERT_TRUE(exchange->is_finished());
      EXPECT_TRUE(exchange->response.status == 200 || exchange->response.status == 507);
    }
    compute.stop();
  }

  FakeDatabase database_;
  MetricsRegistry metrics_;
  Service service_{ServerOptions(), database_, metrics_};
  std::shared_ptr<engine::Collection> collection_;
};

TEST_F(SharedPassesTest, FinishesAllIfMemoryRunsOutWhileOneIsAdded) {
  for (int n = 0; n < 12; ++n) {
    SCOPED_TRACE(n);
    ask([] {}, [n] { testing_support::fail_allocations(n, 1); });
    if (HasFatalFailure()) return;
  }
}

TEST_F(SharedPassesTest, FinishesAllIfMemoryRunsOutInAGroup) {
  for (const int n_failures : {1, 2, 3, 10}) {
    for (int n = 0; n < kAllocations; ++n) {
      SCOPED_TRACE(std::to_string(n_failures) + " failures after " + std::to_string(n));
      ask([n, n_failures] { testing_support::fail_allocations(n, n_failures); }, [] {});
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace quiver::service
