// Searches of lists with an emulated device give the hits of searches without, bit for bit,
// whatever fails.
#include "index/dense/lists/search/device_lists.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "gpu/emulated/emulated.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/searcher_support.h"
#include "tests/index/device_support.h"

namespace quiver::index::testing {
namespace {

Question list_question(Clumps& clumps, std::size_t n, std::uint32_t n_rows, KeyValues values = {}) {
  Question question;
  for (std::size_t i = 0; i < n; ++i) question.add(clumps.query());
  question.values = std::move(values);
  question.allowed = Bitset(n_rows, true);
  return question;
}

Answer ask_lists(const Searcher& searcher, const Question& question, gpu::Devices* devices,
                 bool together, Executor* executor = nullptr, WorkCounters* counters = nullptr) {
  return ask(ivf_type(), searcher, question, devices, together, executor, counters);
}

std::uint64_t n_list_queries(const gpu::Devices& devices) {
  return devices.report().devices[0].n_queries;
}

/// Every metric and type.
TEST_P(IvfSearch, HitsWithADeviceAreThoseOfTheCpu) {
  Random random(kIvfSeed);
  Executor executor(3, "compute");
  std::vector<KeyValues> builds = {
      {{"graph", std::string("never")}},
      {{"graph", std::string("never")}, {"bits", std::int64_t{3}}, {"spill", false}},
      {{"graph", std::string("never")}, {"refine_bits", std::int64_t{4}}},
      {{"graph", std::string("never")}, {"refine_bits", std::int64_t{0}}}};
  // Types of rows differ in what is made of them, not in what is made of codes.
  if (GetParam().dtype != DType::kF32) builds.resize(1);
  for (const KeyValues& build : builds) {
    Clumps clumps(schema(40), 30, random);
    const IvfIndex index(clumps.column(4000, 1, 0.3), build);
    const auto devices = open_emulated();
    const std::uint32_t n_rows = index.column.n_rows;
    EXPECT_FALSE(index.searcher->is_index_on_device(n_rows));
    for (const KeyValues& values :
         {KeyValues{}, KeyValues{{"effort", std::int64_t{1000}}}, KeyValues{{"gap", 1e6}},
          KeyValues{{"nprobe", std::int64_t{3}}}, KeyValues{{"gap", 0.01}}}) {
      const Question question = list_question(clumps, 40, n_rows, values);
      WorkCounters of_cpu;
      const auto wanted = ask_lists(*index.searcher, question, nullptr, false, nullptr, &of_cpu);
      for (int round = 0; round < 2; ++round) {
        for (Executor* helper : {static_cast<Executor*>(nullptr), &executor}) {
          const std::uint64_t before = n_list_queries(*devices);
          const bool is_there = index.searcher->is_index_on_device(n_rows);
          WorkCounters work;
          expect_same_answer(
              ask_lists(*index.searcher, question, devices.get(), true, helper, &work), wanted);
          // Some searches of u8 rows are exact, which a device helps with in its own way.
          if (GetParam().dtype != DType::kU8) {
            EXPECT_EQ(work.n_rows_scored, of_cpu.n_rows_scored);
          }
          if (is_there && of_cpu.n_lists > 0) {
            EXPECT_EQ(work.n_codes_scored, of_cpu.n_codes_scored);
            EXPECT_GE(n_list_queries(*devices) - before, 30U);
            EXPECT_LT(work.n_bytes, of_cpu.n_bytes);
          }
          devices->wait_for_loading();
        }
        EXPECT_TRUE(index.searcher->is_index_on_device(n_rows));
        EXPECT_FALSE(index.searcher->is_index_on_device(n_rows / 3));
      }
      expect_same_answer(ask_lists(*index.searcher, question, devices.get(), false), wanted);
    }
  }
}

/// Deleted rows, and filters that allow most rows, at random or not where the queries are.
TEST_P(IvfSearch, LooseFiltersWithADevice) {
  Random random(kIvfSeed);
  Executor executor(3, "compute");
  Clumps clumps(schema(64), 10, random);
  const IvfIndex index(clumps.column(4000, 0.98, 0.3), {{"graph", std::string("never")}});
  const std::uint32_t n_rows = index.column.n_rows;
  const auto devices = open_emulated();
  Question question = list_question(clumps, 40, n_rows);
  ask_lists(*index.searcher, question, devices.get(), true);
  devices->wait_for_loading();
  for (const double share : {0.999, 0.9, 0.6, 0.45}) {
    for (const bool is_random : {true, false}) {
      SCOPED_TRACE(std::to_string(share) + (is_random ? " at random" : " but the nearest"));
      question.allowed = random_rows(n_rows, is_random ? share : 1, random);
      if (!is_random) {
        const auto n_denied = static_cast<std::size_t>((1 - share) * n_rows);
        for (const Hit& hit : index.exact(question.queries[0], RowFilter::all(n_rows), n_denied)) {
          question.allowed.reset(hit.row);
        }
      }
      const auto wanted = ask_lists(*index.searcher, question, nullptr, false);
      for (Executor* helper : {static_cast<Executor*>(nullptr), &executor}) {
        const std::uint64_t before = n_list_queries(*devices);
        expect_same_answer(ask_lists(*index.searcher, question, nullptr, true, helper), wanted);
        expect_same_answer(ask_lists(*index.searcher, question, devices.get(), true, helper),
                           wanted);
        expect_same_answer(ask_lists(*index.searcher, question, devices.get(), false), wanted);
        // Some searches of u8 rows are exact.
        if (GetParam().dtype != DType::kU8 && share > 0.5) {
          EXPECT_GE(n_list_queries(*devices) - before, 30U);
        }
      }
    }
  }
}

/// Searches with different filters share jobs where these allow most rows.
TEST_P(IvfSearch, DifferentFiltersWithADevice) {
  Random random(kIvfSeed);
  Executor executor(3, "compute");
  Clumps clumps(schema(64), 10, random);
  const IvfIndex index(clumps.column(4000, 1, 0.3), {{"graph", std::string("never")}});
  const std::uint32_t n_rows = index.column.n_rows;
  const auto devices = open_emulated();
  Question question = list_question(clumps, 60, n_rows);
  for (const double share : {0.98, 0.9, 0.7, 0.3, 0.01, 0.0}) {
    question.others.push_back(random_rows(n_rows, share, random));
  }
  const auto wanted = ask_lists(*index.searcher, question, nullptr, false);
  expect_same_answer(ask_lists(*index.searcher, question, nullptr, true), wanted);
  for (int round = 0; round < 2; ++round) {
    for (Executor* helper : {static_cast<Executor*>(nullptr), &executor}) {
      const auto before = devices->report().devices[0];
      const bool is_there = index.searcher->is_index_on_device(n_rows);
      expect_same_answer(ask_lists(*index.searcher, question, devices.get(), true, helper), wanted);
      const auto after = devices->report().devices[0];
      // Some searches of u8 rows are exact.
      if (is_there && GetParam().dtype != DType::kU8) {
        EXPECT_GE(after.n_queries - before.n_queries, 30U);
        EXPECT_LE(after.n_done - before.n_done, 5U) << "each filter has its own jobs";
      }
      devices->wait_for_loading();
    }
  }
}

/// Searches that begin again because the filter denies near rows, and give up or not, and those
/// that want nearly all rows: alone, in batches and with a device.
TEST(DeviceLists, LooseFiltersThatMislead) {
  Random random(kIvfSeed);
  const std::uint32_t n_rows = 4000;
  Clumps clumps(dense_schema(64), 10, random);
  const KeyValues never = {{"graph", std::string("never")}};
  const KeyValues narrow = {{"graph", std::string("never")}, {"spill", false}};
  for (const KeyValues& build : {never, narrow}) {
    const IvfIndex index(clumps.column(n_rows), build);
    for (const KeyValues& values :
         {KeyValues{}, KeyValues{{"effort", std::int64_t{2000}}}, KeyValues{{"stop", 5.0}},
          KeyValues{{"nprobe", std::int64_t{5}}}, KeyValues{{"rerank", std::int64_t{10}}}}) {
      const auto devices = open_emulated();
      Question question = list_question(clumps, 24, n_rows, values);
      question.limits[5] = 2500;
      for (std::size_t i = 0; i < 3; ++i) question.limits[i] = 10;
      question.allowed = Bitset(n_rows, true);
      for (std::size_t i = 0; i < 3; ++i) {
        for (const Hit& hit : index.exact(question.queries[i], RowFilter::all(n_rows), 500)) {
          question.allowed.reset(hit.row);
        }
      }
      const auto filter = RowFilter::of(question.allowed);
      const auto wanted = ask_lists(*index.searcher, question, nullptr, false);
      for (std::size_t i = 0; i < question.limits.size(); ++i) {
        ASSERT_EQ(wanted[i].size(), std::min(question.limits[i], filter.n_allowed()));
      }
      for (int round = 0; round < 2; ++round) {
        expect_same_answer(ask_lists(*index.searcher, question, nullptr, true), wanted);
        expect_same_answer(ask_lists(*index.searcher, question, devices.get(), true), wanted);
        devices->wait_for_loading();
      }
    }
  }
}

TEST(DeviceLists, EveryCallMayFail) {
  Random random(kIvfSeed);
  Clumps clumps(dense_schema(32), 10, random);
  const KeyValues build = {{"graph", std::string("never")}};
  const auto column = clumps.column(1500);
  const IvfIndex alone(column, build);
  const Question question = list_question(clumps, 12, 1500);
  const auto wanted = ask_lists(*alone.searcher, question, nullptr, false);
  const auto session = [&](const std::string& name) {
    const auto devices = open_emulated(name);
    if (devices == nullptr) return;  // it could not be opened
    const auto searcher = alone.open_again();
    for (const bool together : {true, true, false}) {
      expect_same_answer(ask_lists(*searcher, question, devices.get(), together), wanted);
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
  session("emulated:hang@2");
}

/// A device that names wrong codes or products is found out by the CPU; one that is right is not.
TEST(DeviceLists, TheCpuChecksWhatIsNamed) {
  Random random(kIvfSeed);
  Clumps clumps(dense_schema(32), 10, random);
  const IvfIndex index(clumps.column(1500), {{"graph", std::string("never")}});
  const Question question = list_question(clumps, 12, 1500);
  const auto wanted = ask_lists(*index.searcher, question, nullptr, false);
  for (const std::string name : {"emulated", "emulated:wrong@1", "emulated:wrong@2"}) {
    SCOPED_TRACE(name);
    const auto devices = open_emulated(name, 1);
    const auto searcher = index.open_again();
    for (int i = 0; i < 40; ++i) {
      ask_lists(*searcher, question, devices.get(), true);
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
    expect_same_answer(ask_lists(*searcher, question, devices.get(), true), wanted);
  }
}

TEST(DeviceLists, ATenthFitsTheDevice) {
  Random random(kIvfSeed);
  Clumps clumps(dense_schema(32), 10, random);
  std::vector<Contender> contenders;
  for (int i = 0; i < 20; ++i) {
    const KeyValues build = {{"graph", std::string("never")}};
    Contender one{
        std::make_shared<IvfIndex>(clumps.column(800), build), list_question(clumps, 12, 800), {}};
    one.wanted = ask_lists(*one.index->searcher, one.question, nullptr, false);
    contenders.push_back(std::move(one));
  }
  for (const std::string name : {"emulated", "emulated:lost@300", "emulated:no_memory@20"}) {
    expect_same_answers_from_a_small_device(contenders, name);
  }
}

/// A small index is never copied, and few codes are scanned by the CPU.
TEST(DeviceLists, WhatIsSmallStaysOnTheCpu) {
  Random random(kIvfSeed);
  Clumps clumps(dense_schema(32), 10, random);
  const IvfIndex index(clumps.column(1500), {{"graph", std::string("never")}});
  const Question question = list_question(clumps, 12, 1500);
  const auto devices = open_emulated("emulated", 0, 8 << 20);
  ask_lists(*index.searcher, question, devices.get(), true);
  devices->wait_for_loading();
  EXPECT_FALSE(index.searcher->is_index_on_device(1500));
  EXPECT_EQ(devices->report().devices[0].n_parts, 0U);
}

}  // namespace
}  // namespace quiver::index::testing
