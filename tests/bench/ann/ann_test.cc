#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>
#include <map>
#include <sstream>

#include "base/io/file_lock.h"
#include "bench/ann/ann.h"
#include "bench/ann/measure.h"
#include "bench/ann/report.h"
#include "tests/bench/ann/support.h"

namespace quiver::bench {
namespace {

using testing::HasSubstr;

class RunTest : public AnnFiles {
 protected:
  AnnOptions options() {
    AnnOptions o;
    o.base = write_rows("rows.npy", coarse_values(300 * 8), 8);
    o.queries = write_rows("queries.npy", coarse_values(50 * 8), 8);
    o.cache = path("cache");
    o.json = path("out.jsonl");
    o.repeats = 2;
    o.min_seconds = 0;
    o.calibration_bytes = 1 << 16;
    return o;
  }
  std::string run(const AnnOptions& o) {
    testing::internal::CaptureStdout();
    const auto result = run_ann(o);
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_TRUE(result) << result.error().message();
    return out;
  }
  std::string error_of(const AnnOptions& o) {
    testing::internal::CaptureStdout();
    const auto result = run_ann(o);
    testing::internal::GetCapturedStdout();
    return result ? "accepted" : result.error().message();
  }
  std::vector<std::string> json_lines() const {
    std::ifstream file(path("out.jsonl"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(RunTest, ExactSearchHasRecallOneAndALineWithEveryKey) {
  auto o = options();
  o.recall_targets = {0.9, 1};
  o.data = "small";
  const auto out = run(o);
  EXPECT_THAT(out, HasSubstr("small: 300 rows x 8, dense f32, dot; queries 0 to 49"));
  EXPECT_THAT(out, HasSubstr("recall@10"));
  EXPECT_THAT(out, HasSubstr(">= 0.9"));
  const auto lines = json_lines();
  ASSERT_EQ(lines.size(), 1);
  for (const char* key : {"data",
                          "index",
                          "params",
                          "k",
                          "recall",
                          "recall_p5",
                          "short",
                          "qps",
                          "p50_us",
                          "p95_us",
                          "p99_us",
                          "cpu_us",
                          "build_s",
                          "build_peak_bytes",
                          "bytes_per_vector",
                          "exact_bytes_per_vector",
                          "commit",
                          "cpu",
                          "isa",
                          "date",
                          "disturbed"}) {
    EXPECT_THAT(lines[0], HasSubstr("\"" + std::string(key) + "\":"));
  }
  EXPECT_THAT(lines[0], HasSubstr("\"recall\":1.0,\"recall_p5\":1.0,\"short\":0,"));
  EXPECT_THAT(lines[0], HasSubstr("\"exact_bytes_per_vector\":64.0"));
}

TEST_F(RunTest, BatchesAndThreadsAnswerAllQueries) {
  for (const auto& [threads, batch] : std::map<int, int>{{1, 7}, {3, 1}, {2, 64}}) {
    auto o = options();
    o.threads = static_cast<std::uint32_t>(threads);
    o.batch = static_cast<std::uint32_t>(batch);
    run(o);
    EXPECT_THAT(json_lines().at(0), HasSubstr("\"recall\":1.0,\"recall_p5\":1.0,\"short\":0,"));
  }
}

TEST_F(RunTest, SparseAndMultiByTheirPrefixes) {
  auto o = options();
  const std::vector<std::uint64_t> offsets = {0, 2, 2, 3, 6};
  const std::vector<std::uint32_t> indices = {1, 5, 2, 0, 1, 9};
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  o.kind = "sparse";
  o.base = o.queries = path("sparse");
  write_npy("sparse.indptr.npy", dataset::ValueType::kU64, {5}, offsets);
  write_npy("sparse.indices.npy", dataset::ValueType::kU32, {6}, indices);
  write_npy("sparse.values.npy", dataset::ValueType::kF32, {6}, values);
  EXPECT_THAT(run(o), HasSubstr("4 rows, sparse f32, dot"));
  EXPECT_THAT(json_lines().at(0), HasSubstr("\"recall\":1.0,"));
  o.kind = "multi";
  o.base = o.queries = path("tokens");
  write_npy("tokens.indptr.npy", dataset::ValueType::kU64, {4},
            std::vector<std::uint64_t>{0, 2, 3, 6});
  write_npy("tokens.values.npy", dataset::ValueType::kF32, {6, 3}, coarse_values(18));
  EXPECT_THAT(run(o), HasSubstr("3 rows x 3, multi f32, dot"));
  EXPECT_THAT(json_lines().at(0), HasSubstr("\"recall\":1.0,"));
}

TEST_F(RunTest, ATruthThatIsNoneIsTold) {
  auto o = options();
  o.k = 2;
  o.ground_truth =
      write_npy("truth.npy", dataset::ValueType::kI32, {50, 2}, std::vector<std::int32_t>(100, 1));
  EXPECT_THAT(error_of(o), HasSubstr("truth.npy is wrong"));
}

TEST_F(RunTest, WhatDoesNotFitIsSaidBeforeAnythingIsMeasured) {
  const auto with = [&](auto change) {
    auto o = options();
    change(o);
    return error_of(o);
  };
  EXPECT_THAT(with([](auto& o) { o.index = "flatt"; }), HasSubstr("no index type `flatt`"));
  EXPECT_EQ(with([](auto& o) { o.sweep = {"ef=1,2"}; }),
            "--sweep: search parameters of index `flat`: unknown parameter `ef`: there are none");
  EXPECT_THAT(with([](auto& o) { o.build = "m=1"; }), HasSubstr("m"));
  EXPECT_THAT(with([](auto& o) { o.kind = "sparse", o.metric = "cosine"; }), HasSubstr("by dot"));
  EXPECT_THAT(with([](auto& o) { o.base += ".none.npy"; }), HasSubstr("none.npy"));
  EXPECT_THAT(with([](auto& o) { o.query_rows = "50:60"; }), HasSubstr("queries.npy"));
  EXPECT_THAT(with([](auto& o) { o.rows = "0:10", o.ground_truth = "x.npy"; }),
              HasSubstr("--ground-truth"));
  EXPECT_FALSE(std::filesystem::exists(path("out.jsonl")));
}

TEST_F(RunTest, AFileThatCannotBeWrittenIsToldBeforeTheIndexIsBuilt) {
  auto o = options();
  o.json = path("none/out.jsonl");
  EXPECT_THAT(error_of(o), HasSubstr("none/out.jsonl: cannot be written"));
  EXPECT_TRUE(std::filesystem::is_empty(path("cache")));  // no ground truth either
}

TEST_F(RunTest, WhatKilledRunsLeftIsRemovedAndWhatOthersBuildIsNot) {
  const auto folder = [&](const std::string& name) {
    std::filesystem::create_directories(path("cache/" + name + "/below"));
    return path("cache/" + name);
  };
  const auto gone = folder("building-0123456789abcdef");
  const auto built = folder("building-00000000000000aa");
  const auto lock = FileLock::try_lock(built + "/lock");
  ASSERT_TRUE(lock && *lock);
  const auto others = {built, folder("building-"), folder("building-0123456789abcdex"),
                       folder("mine")};
  run(options());
  EXPECT_FALSE(std::filesystem::exists(gone));
  std::size_t n_left = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path("cache"))) {
    n_left += entry.is_directory() ? 1 : 0;
  }
  EXPECT_EQ(n_left, others.size()) << "nothing of its own stays";
  for (const auto& other : others) EXPECT_TRUE(std::filesystem::exists(other)) << other;
}

}  // namespace
}  // namespace quiver::bench
