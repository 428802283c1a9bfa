// Searches with an emulated device give the hits of searches without, bit for bit, whatever fails.
#include "index/exact/device_search.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpu/emulated/emulated.h"
#include "index/exact/searcher.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

std::unique_ptr<gpu::Devices> open_devices(const std::string& name = "emulated",
                                           double check_share = 0) {
  gpu::Options options;
  options.check_share = check_share;
  options.devices = name;
  options.min_bytes = 0;
  // Long, as an emulated device under a sanitizer is slow.
  const bool hangs = name.find("hang") != std::string::npos;
  options.job_time = hangs ? std::chrono::milliseconds(200) : std::chrono::minutes(1);
  auto devices = gpu::Devices::open(options);
  return devices ? *std::move(devices) : nullptr;
}

/// A column, queries of it, and a filter.
struct Question {
  FieldColumn column;
  std::vector<PreparedQuery> queries;
  Bitset allowed;
  Bitset others;             ///< of every third query, if they are asked apart
  std::vector<PointId> ids;  ///< empty: row order is id order
  std::size_t k = 10;
};

Question random_question(const FieldSchema& schema, std::uint32_t n_rows, Random& random) {
  const bool few_values = random() % 2 == 0;
  Question question{.column = random_column(schema,
                                            {.n_rows = n_rows,
                                             .present_share = 0.95,
                                             .duplicate_share = 0.2,
                                             .small_integers = few_values},
                                            random),
                    .queries = {},
                    .allowed = Bitset(n_rows, true),
                    .others = Bitset(n_rows),
                    .ids = {}};
  for (int i = 0; i < 5; ++i) {
    const auto vector = random_vector(schema, {.small_integers = few_values}, random);
    question.queries.push_back(make_query(schema, vector));
  }
  for (std::uint32_t i = 0; i < n_rows; ++i) {
    if (random() % 5 == 0) question.allowed.reset(i);
    if (random() % 3 == 0) question.others.set(i);
    if (few_values) question.ids.push_back(PointId::number(random()));
  }
  question.allowed &= present_rows(question.column);
  question.others &= present_rows(question.column);
  question.k = 1 + random() % 40;
  return question;
}

using Answer = std::vector<std::vector<Hit>>;

/// With one filter, or two.
enum class Filters { kOne, kTwo };

/// The queries one by one, or all together.
Answer ask(const FlatSearcher& searcher, const Question& question, gpu::Devices* devices,
           bool together, Executor* executor = nullptr, Filters filters = Filters::kOne) {
  const Cancel cancel;
  const SearchContext context{cancel, executor, Prefer::kExact, devices};
  const auto filter = RowFilter::of(question.allowed);
  const auto other = RowFilter::of(question.others);
  const auto filter_of = [&](std::size_t i) {
    return filters == Filters::kTwo && i % 3 == 1 ? &other : &filter;
  };
  WorkCounters work;
  std::vector<TopK> heaps(question.queries.size(), TopK(question.k, question.ids));
  std::vector<const PreparedQuery*> queries;
  std::vector<TopK*> results;
  for (std::size_t i = 0; i < heaps.size(); ++i) {
    queries.push_back(&question.queries[i]);
    results.push_back(&heaps[i]);
  }
  if (together && filters == Filters::kTwo) {
    std::vector<FilteredQuery> filtered;
    for (std::size_t i = 0; i < heaps.size(); ++i) {
      filtered.push_back({queries[i], filter_of(i), results[i]});
    }
    EXPECT_TRUE(searcher.search_filtered(filtered, {}, context, work));
  } else if (together) {
    EXPECT_TRUE(searcher.search_batch(queries, {}, filter, context, results, work));
  } else {
    for (std::size_t i = 0; i < heaps.size(); ++i) {
      EXPECT_TRUE(searcher.search(*queries[i], {}, *filter_of(i), context, heaps[i], work));
    }
  }
  Answer answer;
  for (auto& heap : heaps) answer.push_back(heap.take_sorted());
  return answer;
}

void expect_same_bits(const Answer& got, const Answer& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t q = 0; q < got.size(); ++q) {
    ASSERT_EQ(got[q].size(), wanted[q].size()) << "query " << q;
    const std::size_t n_bytes = got[q].size() * sizeof(Hit);
    EXPECT_EQ(std::memcmp(got[q].data(), wanted[q].data(), n_bytes), 0) << "query " << q;
  }
}

std::uint64_t n_device_queries(const gpu::Devices& devices) {
  return devices.report().devices[0].n_queries;
}

class DeviceSearch : public ::testing::TestWithParam<FieldSchema> {};

TEST_P(DeviceSearch, HitsAreThoseOfTheCpu) {
  Random random(61);
  const auto devices = open_devices();
  for (const std::uint32_t dim : {1U, 9U, 64U, 130U}) {
    for (const std::uint32_t n_rows : {1U, 200U, 1500U}) {
      SCOPED_TRACE("dim " + std::to_string(dim) + ", " + std::to_string(n_rows) + " rows");
      FieldSchema schema = GetParam();
      schema.dim = dim;
      const auto question = random_question(schema, n_rows, random);
      const FlatSearcher searcher(question.column);
      const auto wanted = ask(searcher, question, nullptr, false);
      ask(searcher, question, devices.get(), false);
      devices->wait_for_loading();
      const std::uint64_t before = n_device_queries(*devices);
      for (const bool together : {false, true}) {
        expect_same_bits(ask(searcher, question, devices.get(), together), wanted);
      }
      // All but zero queries, which a column of few values in one dimension has.
      if (dim > 1) {
        EXPECT_EQ(n_device_queries(*devices) - before,
                  has_device_form(schema) ? 2 * question.queries.size() : 0U);
      }
      const auto by_two = ask(searcher, question, nullptr, false, nullptr, Filters::kTwo);
      expect_same_bits(ask(searcher, question, nullptr, true, nullptr, Filters::kTwo), by_two);
      const std::uint64_t n_done = devices->report().devices[0].n_done;
      expect_same_bits(ask(searcher, question, devices.get(), true, nullptr, Filters::kTwo),
                       by_two);
      EXPECT_LE(devices->report().devices[0].n_done, n_done + 1);
    }
  }
}

TEST_P(DeviceSearch, SeveralThreadsScoreForManyQueries) {
  FieldSchema schema = GetParam();
  schema.dim = 9;
  Random random(63);
  auto question = random_question(schema, 700, random);
  while (question.queries.size() < 60) {
    question.queries.push_back(make_query(schema, random_vector(schema, {}, random)));
  }
  const FlatSearcher searcher(question.column);
  const auto wanted = ask(searcher, question, nullptr, false);
  EXPECT_FALSE(searcher.is_on_device(700));
  const auto devices = open_devices();
  Executor executor(3, "compute");
  for (int i = 0; i < 2; ++i) {
    expect_same_bits(ask(searcher, question, devices.get(), true, &executor), wanted);
    devices->wait_for_loading();
    EXPECT_EQ(searcher.is_on_device(700), has_device_form(schema));
  }
}

TEST_P(DeviceSearch, EveryCallMayFail) {
  FieldSchema schema = GetParam();
  schema.dim = 9;
  if (!has_device_form(schema)) GTEST_SKIP();
  Random random(62);
  const auto question = random_question(schema, 300, random);
  const auto wanted = ask(FlatSearcher(question.column), question, nullptr, false);
  const auto session = [&](const std::string& name) {
    const auto devices = open_devices(name);
    if (devices == nullptr) return;  // it could not be opened
    const FlatSearcher searcher(question.column);
    for (const bool together : {false, true, true}) {
      expect_same_bits(ask(searcher, question, devices.get(), together), wanted);
      devices->wait_for_loading();
    }
  };
  session("emulated");
  const std::uint64_t n_calls = gpu::emulated::n_calls();
  for (const std::string status : {"not", "no_memory", "lost"}) {
    for (std::uint64_t call = 1; call <= n_calls; ++call) {
      SCOPED_TRACE(status + "@" + std::to_string(call));
      session("emulated:" + status + "@" + std::to_string(call));
    }
  }
  session("emulated:hang@1");
}

/// A device that names wrong rows is found out by the CPU; one that names the right ones is not.
TEST_P(DeviceSearch, TheCpuChecksWhatIsNamed) {
  FieldSchema schema = GetParam();
  schema.dim = 9;
  if (!has_device_form(schema)) GTEST_SKIP();
  Random random(64);
  const auto question = random_question(schema, 300, random);
  const FlatSearcher alone(question.column);
  const auto wanted = ask(alone, question, nullptr, false);
  for (const std::string name : {"emulated", "emulated:wrong@1"}) {
    const auto devices = open_devices(name, 1);
    const FlatSearcher searcher(question.column);
    for (int i = 0; i < 2; ++i) {
      for (const auto& query : question.queries) {
        Question one = question;
        one.queries.assign(1, query);
        ask(searcher, one, devices.get(), false);
        devices->wait_for_loading();
      }
    }
    const auto report = devices->report().devices[0];
    EXPECT_GE(report.n_checked, 3U);
    EXPECT_EQ(report.n_different, name == "emulated" ? 0U : 3U);
    EXPECT_EQ(report.is_lost, name != "emulated");
    expect_same_bits(ask(searcher, question, devices.get(), false), wanted);
  }
}

std::vector<FieldSchema> schemas_to_test() {
  std::vector<FieldSchema> schemas;
  for (const auto& schema : all_schemas(1)) {
    if (schema.kind == FieldKind::kDense || has_device_form(schema)) schemas.push_back(schema);
  }
  return schemas;
}

INSTANTIATE_TEST_SUITE_P(Fields, DeviceSearch, ::testing::ValuesIn(schemas_to_test()),
                         [](const auto& tested) { return describe(tested.param); });

TEST(DeviceSearch, FieldsWithADeviceForm) {
  std::size_t n = 0;
  for (const auto& schema : all_schemas(4)) n += has_device_form(schema) ? 1 : 0;
  // f32, f16 and bf16 under Dot, Cosine and Euclid; u8 but for Cosine. Tokens: under Dot and
  // Cosine.
  EXPECT_EQ(n, 3U * 3 + 2 + 3 * 2 + 1);
}

/// Clients that share one device, whose searchers come and go, give the hits of the CPU.
TEST(DeviceSearch, ManyClientsAtOnce) {
  const auto devices = open_devices();
  std::vector<std::thread> clients;
  for (std::uint64_t client = 0; client < 8; ++client) {
    clients.emplace_back([&devices, client] {
      Random random(100 + client);
      for (int round = 0; round < 6; ++round) {
        const auto question = random_question(
            {"", FieldKind::kDense, 20, DType::kF32, Metric::kEuclid, SparseModifier::kNone}, 600,
            random);
        const FlatSearcher searcher(question.column);
        const auto wanted = ask(searcher, question, nullptr, true);
        for (int i = 0; i < 10; ++i) {
          if (i == 5) devices->wait_for_loading();
          expect_same_bits(ask(searcher, question, devices.get(), i % 2 == 0), wanted);
        }
      }
    });
  }
  for (auto& client : clients) client.join();
  devices->wait_for_loading();
  EXPECT_GT(n_device_queries(*devices), 0U);
  EXPECT_EQ(devices->report().devices[0].n_parts, 0U);
}

TEST(DeviceSearch, CancelledSearchesSayWhy) {
  Random random(63);
  const auto devices = open_devices();
  const auto question = random_question(
      {"", FieldKind::kDense, 20, DType::kF32, Metric::kDot, SparseModifier::kNone}, 600, random);
  const FlatSearcher searcher(question.column);
  ask(searcher, question, devices.get(), false);
  devices->wait_for_loading();
  const Cancel cancel;
  cancel.cancel();
  TopK top(3);
  WorkCounters work;
  const auto result = searcher.search(question.queries[0], {}, RowFilter::of(question.allowed),
                                      {cancel, nullptr, Prefer::kExact, devices.get()}, top, work);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::index::testing
