// Searches of posting lists with an emulated device give the hits of searches without, bit for bit,
// whatever fails.
#include "index/sparse/lists/device_sums.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "gpu/emulated/emulated.h"
#include "tests/index/built_index.h"
#include "tests/index/device_support.h"
#include "tests/index/sparse/lists/scan_support.h"

namespace quiver::index::testing {
namespace {

/// `share`: of the rows, that the filter allows.
Question sum_question(const FieldColumn& column, std::uint32_t dim, Signs signs, std::size_t n,
                      double share, Random& random) {
  Question question;
  for (std::size_t i = 0; i < n; ++i) {
    question.add(make_query(sparse_schema(), zipf_vector(1 + random() % 20, dim, signs, random)));
  }
  question.allowed = Bitset(column.n_rows);
  for (std::uint32_t row = 0; row < column.n_rows; ++row) {
    if (std::bernoulli_distribution(share)(random)) question.allowed.set(row);
  }
  question.allowed &= present_rows(column);
  return question;
}

Answer ask_sums(const Searcher& searcher, const Question& question, gpu::Devices* devices,
                bool together, Executor* executor = nullptr, WorkCounters* counters = nullptr) {
  return ask(kSeismic, searcher, question, devices, together, executor, counters);
}

/// Exact and truncated, filtered, with values of both signs.
TEST(DeviceSums, HitsAreThoseOfTheCpu) {
  Random random(kSeed);
  Executor executor(3, "compute");
  for (const Signs signs : {Signs::kPositive, Signs::kMixed}) {
    const std::uint32_t dim = 600;
    const BuiltIndex index(kSeismic, zipf_column(20'000, dim, signs, random), {}, kSeed);
    const auto devices = open_emulated();
    EXPECT_FALSE(index.searcher->is_on_device(index.column.n_rows));
    for (const double share : {1.0, 0.5, 0.01}) {
      for (const char* method : {"scan", "exact"}) {
        Question question = sum_question(index.column, dim, signs, 30, share, random);
        question.values = {{"method", std::string(method)}, {"exact_below", std::int64_t{0}}};
        const auto wanted = ask_sums(*index.searcher, question, nullptr, false);
        for (Executor* helper : {static_cast<Executor*>(nullptr), &executor}) {
          expect_same_answer(ask_sums(*index.searcher, question, devices.get(), true, helper),
                             wanted);
          devices->wait_for_loading();
        }
        expect_same_answer(ask_sums(*index.searcher, question, devices.get(), false), wanted);
      }
    }
    EXPECT_TRUE(index.searcher->is_on_device(index.column.n_rows));
    EXPECT_TRUE(index.searcher->is_index_on_device(index.column.n_rows));
    EXPECT_GT(devices->report().devices[0].n_queries, 100U);
  }
}

TEST(DeviceSums, DifferentFiltersShareAJob) {
  Random random(kSeed);
  const std::uint32_t dim = 600;
  const BuiltIndex index(kSeismic, zipf_column(20'000, dim, Signs::kPositive, random), {}, kSeed);
  const auto devices = open_emulated();
  for (const char* method : {"scan", "exact"}) {
    Question question = sum_question(index.column, dim, Signs::kPositive, 40, 1, random);
    question.values = {{"method", std::string(method)}, {"exact_below", std::int64_t{0}}};
    for (const double share : {0.9, 0.5, 0.1, 0.0}) {
      question.others.push_back(
          sum_question(index.column, dim, Signs::kPositive, 0, share, random).allowed);
    }
    const auto wanted = ask_sums(*index.searcher, question, nullptr, false);
    expect_same_answer(ask_sums(*index.searcher, question, nullptr, true), wanted);
    expect_same_answer(ask_sums(*index.searcher, question, devices.get(), true), wanted);
    devices->wait_for_loading();
    const auto before = devices->report().devices[0];
    expect_same_answer(ask_sums(*index.searcher, question, devices.get(), true), wanted);
    const auto after = devices->report().devices[0];
    EXPECT_GE(after.n_queries - before.n_queries, 20U);
    EXPECT_EQ(after.n_done - before.n_done, 1U);
  }
}

/// The rows that a device names say for most queries that no other row is among the best.
TEST(DeviceSums, ExactSearchesAreMostlyCertain) {
  Random random(kSeed);
  const std::uint32_t dim = 600;
  const BuiltIndex index(kSeismic, zipf_column(20'000, dim, Signs::kPositive, random), {}, kSeed);
  Question question = sum_question(index.column, dim, Signs::kPositive, 30, 1, random);
  question.prefer = Prefer::kExact;
  const auto devices = open_emulated();
  ask_sums(*index.searcher, question, devices.get(), true);
  devices->wait_for_loading();
  ASSERT_TRUE(index.searcher->is_on_device(index.column.n_rows));
  WorkCounters work;
  ask_sums(*index.searcher, question, devices.get(), true, nullptr, &work);
  EXPECT_GE(devices->report().devices[0].n_queries, 25U);
  EXPECT_EQ(work.n_blocks, 0U) << "the CPU scanned lists, too";
  EXPECT_LT(work.n_rows_scored, 30U * 200);
}

TEST(DeviceSums, EveryCallMayFail) {
  Random random(kSeed);
  const BuiltIndex index(kSeismic, zipf_column(5000, 200, Signs::kPositive, random), {}, kSeed);
  Question question = sum_question(index.column, 200, Signs::kPositive, 9, 0.7, random);
  question.values = {{"method", std::string("scan")}, {"exact_below", std::int64_t{0}}};
  const auto wanted = ask_sums(*index.searcher, question, nullptr, false);
  const auto session = [&](const std::string& name) {
    const auto devices = open_emulated(name);
    if (devices == nullptr) return;  // it could not be opened
    const auto searcher = index.open_again();
    for (const bool together : {true, true, false}) {
      expect_same_answer(ask_sums(*searcher, question, devices.get(), together), wanted);
      devices->wait_for_loading();
    }
  };
  session("emulated");
  const std::uint64_t n_calls = gpu::emulated::n_calls();
  EXPECT_GT(n_calls, 10U);
  for (const std::string status : {"not", "no_memory", "lost"}) {
    for (std::uint64_t call = 1; call <= n_calls; ++call) {
      SCOPED_TRACE(status + "@" + std::to_string(call));
      session("emulated:" + status + "@" + std::to_string(call));
    }
  }
  session("emulated:hang@1");
}

/// A device that names wrong rows is found out by the CPU; one that is right is not.
TEST(DeviceSums, TheCpuChecksWhatIsNamed) {
  Random random(kSeed);
  const BuiltIndex index(kSeismic, zipf_column(5000, 200, Signs::kPositive, random), {}, kSeed);
  Question question = sum_question(index.column, 200, Signs::kPositive, 9, 0.7, random);
  question.values = {{"method", std::string("scan")}, {"exact_below", std::int64_t{0}}};
  const auto wanted = ask_sums(*index.searcher, question, nullptr, false);
  for (const std::string name : {"emulated", "emulated:wrong@1"}) {
    SCOPED_TRACE(name);
    const auto devices = open_emulated(name, 1);
    const auto searcher = index.open_again();
    for (int i = 0; i < 40; ++i) {
      ask_sums(*searcher, question, devices.get(), true);
      devices->wait_for_loading();
    }
    const auto report = devices->report().devices[0];
    EXPECT_GE(report.n_checked, 3U);
    // A call may have several jobs: one that ended before the third difference is checked after it.
    EXPECT_GE(report.n_different, name == "emulated" ? 0U : 3U);
    if (name == "emulated") {
      EXPECT_EQ(report.n_different, 0U);
    }
    EXPECT_EQ(report.is_lost, name != "emulated");
    expect_same_answer(ask_sums(*searcher, question, devices.get(), true), wanted);
  }
}

TEST(DeviceSums, ATenthFitsTheDevice) {
  Random random(kSeed);
  std::vector<Contender> contenders;
  for (int i = 0; i < 12; ++i) {
    const auto index = std::make_shared<BuiltIndex>(
        kSeismic, zipf_column(1000, 100, Signs::kPositive, random), KeyValues(), kSeed);
    Contender one{index, sum_question(index->column, 100, Signs::kPositive, 9, 0.8, random), {}};
    one.question.prefer = i % 2 == 0 ? Prefer::kExact : Prefer::kAny;
    one.wanted = ask_sums(*index->searcher, one.question, nullptr, false);
    contenders.push_back(std::move(one));
  }
  for (const std::string name : {"emulated", "emulated:lost@300", "emulated:no_memory@20"}) {
    expect_same_answers_from_a_small_device(contenders, name);
  }
}

TEST(DeviceSums, WhatIsSmallStaysOnTheCpu) {
  Random random(kSeed);
  const BuiltIndex index(kSeismic, zipf_column(5000, 200, Signs::kPositive, random), {}, kSeed);
  Question question = sum_question(index.column, 200, Signs::kPositive, 9, 1, random);
  question.values = {{"method", std::string("scan")}, {"exact_below", std::int64_t{0}}};
  const auto devices = open_emulated("emulated", 0, 8 << 20);
  ask_sums(*index.searcher, question, devices.get(), true);
  devices->wait_for_loading();
  EXPECT_FALSE(index.searcher->is_on_device(index.column.n_rows));
  EXPECT_EQ(devices->report().devices[0].n_parts, 0U);
}

}  // namespace
}  // namespace quiver::index::testing
