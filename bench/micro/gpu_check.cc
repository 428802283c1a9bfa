// Exact searches of rows and of documents of tokens, searches of lists of codes and of postings,
// and builds of graphs, with a device beside those of the CPU: the same hits bit for bit, and the
// time. Prints one JSON object a line; exit status 1 if a hit differs, 2 if there is no device.
//
//   gpu_check DEVICES MODULE N_ROWS [ROWS QUERIES]
//
// DEVICES as in `gpu.devices` ("emulated" needs no device), MODULE as in `gpu.module` ("" finds
// it), N_ROWS: rows of the timed searches. With files of vectors (dataset/vectors.h): their first
// N_ROWS rows under Dot in place of random ones, or sparse ones in place of generated ones.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/io/append_buffer.h"
#include "base/io/file.h"
#include "bench/micro/gpu_check.h"
#include "dataset/vectors.h"
#include "gpu/devices.h"
#include "index/exact/searcher.h"
#include "index/index.h"
#include "index/stored_rows.h"

namespace quiver::bench {
namespace {

/// `[n, dim]` values.
struct Values {
  std::size_t dim = 0;
  std::vector<float> values;
  [[nodiscard]] std::size_t n() const { return values.size() / dim; }
  [[nodiscard]] std::span<const float> row(std::size_t i) const {
    return std::span(values).subspan(i * dim, dim);
  }
};

Values random_values(std::size_t n, std::size_t dim, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Values values{dim, std::vector<float>(n * dim)};
  for (float& value : values.values) value = normal(random);
  return values;
}

index::FieldColumn column_of(const Values& values, std::size_t n_rows, DType dtype, Metric metric) {
  index::FieldColumn column;
  column.schema = {"",     FieldKind::kDense,    static_cast<std::uint32_t>(values.dim), dtype,
                   metric, SparseModifier::kNone};
  column.n_rows = column.n_present = static_cast<std::uint32_t>(n_rows);
  column.present = SharedSpan<std::uint8_t>::of(std::vector<std::uint8_t>(n_rows, 1));
  AppendBuffer<std::byte> rows;
  rows.reserve(n_rows * padded_row_bytes(column.schema.dim, dtype));
  for (std::size_t i = 0; i < n_rows; ++i) {
    std::byte* const row = rows.append_zeros(padded_row_bytes(column.schema.dim, dtype));
    const float* const from = values.row(i).data();
    if (dtype == DType::kF32) std::memcpy(row, from, values.dim * sizeof(float));
    if (dtype == DType::kF16) {
      kernels().convert.f32_to_f16(from, values.dim, reinterpret_cast<std::uint16_t*>(row));
    }
  }
  column.values = index::DenseColumn{rows.view(), column.schema.dim, dtype};
  return column;
}

/// Documents of `n_tokens` tokens each on average, f16 under Cosine as most models give them.
index::FieldColumn documents_of(std::size_t n_documents, std::size_t n_tokens, std::size_t dim,
                                std::mt19937& random) {
  index::FieldColumn column;
  column.schema = {"",          FieldKind::kMulti, static_cast<std::uint32_t>(dim),
                   DType::kF16, Metric::kCosine,   SparseModifier::kNone};
  column.n_rows = column.n_present = static_cast<std::uint32_t>(n_documents);
  column.present = SharedSpan<std::uint8_t>::of(std::vector<std::uint8_t>(n_documents, 1));
  std::vector<std::uint64_t> offsets = {0};
  AppendBuffer<std::byte> tokens;
  std::normal_distribution<float> normal;
  std::vector<float> token(dim);
  for (std::size_t i = 0; i < n_documents; ++i) {
    const std::size_t n = 1 + random() % (2 * n_tokens);
    offsets.push_back(offsets.back() + n);
    for (std::size_t t = 0; t < n; ++t) {
      for (float& value : token) value = normal(random);
      index::to_unit_length(token.data(), static_cast<std::uint32_t>(dim));
      std::byte* const row =
          tokens.append_zeros(padded_row_bytes(column.schema.dim, column.schema.dtype));
      kernels().convert.f32_to_f16(token.data(), dim, reinterpret_cast<std::uint16_t*>(row));
    }
  }
  column.values = index::MultiColumn{SharedSpan<std::uint64_t>::of(std::move(offsets)),
                                     {tokens.view(), column.schema.dim, column.schema.dtype}};
  return column;
}

struct Answer {
  std::vector<std::vector<index::Hit>> hits;
  index::WorkCounters work;
  double ms = 0;
};

/// One column, searched with and without devices.
class Search {
 public:
  /// By lists: hits are those near, not all of the best.
  Search(const index::Searcher& lists, const FieldSchema& schema, const Values& queries,
         std::size_t n_queries, std::size_t k)
      : k_(k), lists_(&lists) {
    for (std::size_t i = 0; i < n_queries; ++i) {
      queries_.push_back(index::PreparedQuery::dense(schema, queries.row(i % queries.n())));
    }
  }
  /// The same for documents: `queries` has tokens, `n_tokens` of each query.
  Search(index::FieldColumn column, const Values& queries, std::size_t n_queries,
         std::size_t n_tokens, std::size_t k)
      : column_(std::move(column)), exact_(std::make_unique<index::FlatSearcher>(column_)), k_(k) {
    for (std::size_t i = 0; i < n_queries; ++i) {
      queries_.push_back(index::PreparedQuery::multi(
          column_.schema,
          std::span(queries.values).subspan(i * n_tokens * queries.dim, n_tokens * queries.dim)));
    }
  }
  Search(index::FieldColumn column, const Values& queries, std::size_t n_queries, std::size_t k)
      : column_(std::move(column)), exact_(std::make_unique<index::FlatSearcher>(column_)), k_(k) {
    for (std::size_t i = 0; i < n_queries; ++i) {
      queries_.push_back(index::PreparedQuery::dense(column_.schema, queries.row(i % queries.n())));
    }
  }

  [[nodiscard]] Answer ask(gpu::Devices* devices) const {
    std::vector<index::TopK> heaps(queries_.size(), index::TopK(k_));
    std::vector<const index::PreparedQuery*> queries;
    std::vector<index::TopK*> results;
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      queries.push_back(&queries_[i]);
      results.push_back(&heaps[i]);
    }
    Answer answer;
    const Cancel cancel;
    const auto begin = std::chrono::steady_clock::now();
    const bool is_exact = lists_ == nullptr;
    const index::Searcher& searcher = is_exact ? *exact_ : *lists_;
    const auto prefer = is_exact ? index::Prefer::kExact : index::Prefer::kIndexed;
    const auto done =
        searcher.search_batch(queries, {}, index::RowFilter::all(n_rows_),
                              {cancel, executor_, prefer, devices}, results, answer.work);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (!done) std::abort();  // nothing cancels it
    answer.ms = took.count();
    for (auto& heap : heaps) answer.hits.push_back(heap.take_sorted());
    return answer;
  }
  /// Threads that help, and rows of the lists.
  void use(Executor* executor, std::uint32_t n_rows) {
    executor_ = executor;
    n_rows_ = n_rows;
  }
  /// Asks this query only from now on.
  void use(std::span<const float> query) {
    queries_.assign(1, index::PreparedQuery::dense(column_.schema, query));
  }

 private:
  index::FieldColumn column_;
  std::unique_ptr<index::FlatSearcher> exact_;
  std::vector<index::PreparedQuery> queries_;
  std::size_t k_;
  const index::Searcher* lists_ = nullptr;  ///< nullptr: exact
  std::uint32_t n_rows_ = column_.n_rows;
  Executor* executor_ = nullptr;
};

/// Of the queries that both have.
std::size_t n_different(const Answer& a, const Answer& b) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < std::min(a.hits.size(), b.hits.size()); ++i) {
    const bool is_same =
        a.hits[i].size() == b.hits[i].size() &&
        std::memcmp(a.hits[i].data(), b.hits[i].data(), a.hits[i].size() * sizeof(index::Hit)) == 0;
    n += is_same ? 0 : 1;
  }
  return n;
}

/// Asks twice, once the rows are on the device.
std::size_t n_different_twice(const Search& search, gpu::Devices& devices) {
  static_cast<void>(search.ask(&devices));
  devices.wait_for_loading();
  std::size_t n = 0;
  for (int i = 0; i < 2; ++i) n += n_different(search.ask(&devices), search.ask(nullptr));
  return n;
}

/// Shapes at the edges of tiles; returns the number of answers that differ.
std::size_t check_equality(gpu::Devices& devices) {
  std::mt19937 random(kSeed);
  std::size_t n = 0;
  std::size_t different = 0;
  for (const std::size_t dim : {1, 3, 31, 64, 65, 384, 768}) {
    for (const std::size_t n_rows : {1, 15, 127, 128, 129, 2049}) {
      for (const auto metric : {Metric::kDot, Metric::kEuclid}) {
        for (const std::size_t n_queries : {1, 63, 65}) {
          const auto values = random_values(std::max(n_rows, n_queries), dim, random);
          const auto dtype = n % 2 == 0 ? DType::kF32 : DType::kF16;
          const Search search(column_of(values, n_rows, dtype, metric),
                              random_values(n_queries, dim, random), n_queries, 10);
          different += n_different_twice(search, devices);
          ++n;
        }
      }
    }
  }
  print_equality("equality", n, n_device_queries(devices), different);
  return different;
}

/// As `check_equality`, for documents.
std::size_t check_documents(gpu::Devices& devices) {
  std::mt19937 random(kSeed);
  std::size_t n = 0;
  std::size_t different = 0;
  const std::uint64_t before = n_device_queries(devices);
  for (const std::size_t dim : {3, 32, 33, 96, 128, 768}) {
    for (const std::size_t n_documents : {1, 63, 65, 700}) {
      for (const std::size_t n_tokens : {1, 8, 9, 32, 65, 130}) {
        for (const std::size_t n_queries : {1, 5}) {
          const Search search(documents_of(n_documents, 20, dim, random),
                              random_values(n_queries * n_tokens, dim, random), n_queries, n_tokens,
                              10);
          different += n_different_twice(search, devices);
          ++n;
        }
      }
    }
  }
  print_equality("documents_equality", n, n_device_queries(devices) - before, different);
  return different;
}

/// Rows in clumps, as embeddings lie.
Values clumps(std::size_t n, std::size_t dim, std::size_t n_centres, std::mt19937& random) {
  const Values centres = random_values(n_centres, dim, random);
  Values values = random_values(n, dim, random);
  for (std::size_t i = 0; i < n; ++i) {
    const auto centre = centres.row(random() % n_centres);
    for (std::size_t d = 0; d < dim; ++d) {
      values.values[i * dim + d] = 0.7F * values.values[i * dim + d] + centre[d];
    }
  }
  return values;
}

/// As `check_equality`, for lists of codes of all widths.
std::size_t check_lists(gpu::Devices& devices) {
  std::mt19937 random(kSeed);
  std::size_t n = 0;
  std::size_t different = 0;
  const std::uint64_t before = n_device_queries(devices);
  for (const std::size_t dim : {32, 96, 384, 1536}) {
    for (const std::int64_t bits : {1, 2, 3, 4, 8}) {
      for (const auto metric : {Metric::kDot, Metric::kEuclid}) {
        const std::size_t n_rows = 3000;
        const auto values = clumps(n_rows + 300, dim, 30, random);
        const auto column = column_of(values, n_rows, DType::kF32, metric);
        const auto lists = index_over(column, "ivf",
                                      {{"graph", std::string("never")},
                                       {"bits", bits},
                                       {"reduce", std::string("none")},
                                       {"refine_bits", std::int64_t{n % 2 == 0 ? 8 : 4}}});
        const Values queries{
            dim, {values.values.begin() + static_cast<long>(n_rows * dim), values.values.end()}};
        for (const std::size_t n_queries : {2, 65, 300}) {
          Search search(*lists, column.schema, queries, n_queries, 10);
          search.use(nullptr, column.n_rows);
          different += n_different_twice(search, devices);
          ++n;
        }
      }
    }
  }
  print_equality("lists_equality", n, n_device_queries(devices) - before, different);
  return different;
}

/// Rounds of a search whose rows are on the device.
struct Timed {
  std::vector<double> times;  ///< ms
  index::WorkCounters work;   ///< of a round
  std::size_t different = 0;  ///< answers

  [[nodiscard]] double median() const { return percentile(times, 0.5); }
  [[nodiscard]] double spread() const { return percentile(times, 0.9) - percentile(times, 0.1); }
};

Timed time_rounds(const Search& search, gpu::Devices& devices, const Answer& wanted) {
  static_cast<void>(search.ask(&devices));
  devices.wait_for_loading();
  Timed timed;
  for (int i = 0; i < kRounds; ++i) {
    const auto answer = search.ask(&devices);
    timed.different += n_different(answer, wanted);
    timed.times.push_back(answer.ms);
    timed.work = answer.work;
  }
  return timed;
}

/// Times a shape and prints it; returns the number of answers that differ.
std::size_t time_shape(gpu::Devices& devices, const Values& rows, const Values& queries,
                       std::size_t n_queries, std::size_t k) {
  const Search search(column_of(rows, rows.n(), DType::kF32, Metric::kDot), queries, n_queries, k);
  const auto cpu = search.ask(nullptr);
  const std::uint64_t before = n_device_queries(devices);
  const Timed timed = time_rounds(search, devices, cpu);
  const auto n = static_cast<double>(n_queries);
  fmt::print(
      R"({{"step": "dense", "rows": {}, "dim": {}, "queries": {}, "k": {}, "cpu_ms": {:.3f}, "device_ms": {:.3f}, "spread_ms": {:.3f}, "device_queries": {}, "scored_exactly": {:.1f}, "different": {}}})"
      "\n",
      rows.n(), rows.dim, n_queries, k, cpu.ms, timed.median(), timed.spread(),
      n_device_queries(devices) - before, static_cast<double>(timed.work.n_rows_scored) / n,
      timed.different);
  std::fflush(stdout);
  return timed.different;
}

/// Times searches of lists over `n_rows` rows, by all threads on both sides; returns the number of
/// answers that differ.
std::size_t time_lists(gpu::Devices& devices, std::size_t n_rows) {
  constexpr std::size_t kDim = 768;
  std::mt19937 random(kSeed);
  const auto rows = clumps(n_rows, kDim, n_rows / 1000 + 1, random);
  const auto column = column_of(rows, n_rows, DType::kF32, Metric::kDot);
  const auto lists = index_over(column, "ivf", {{"graph", std::string("never")}});
  Executor executor(0, "compute");
  std::size_t different = 0;
  for (const std::size_t n_queries : {64, 256, 4096}) {
    Values queries{kDim, {}};
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < n_queries; ++i) {  // near rows
      for (const float value : rows.row(random() % n_rows)) {
        queries.values.push_back(value + 0.5F * normal(random));
      }
    }
    Search search(*lists, column.schema, queries, n_queries, 10);
    search.use(&executor, column.n_rows);
    const auto cpu = search.ask(nullptr);
    const double busy_before = devices.report().devices[0].busy_s;
    const std::uint64_t before = n_device_queries(devices);
    const Timed timed = time_rounds(search, devices, cpu);
    const double busy_s = devices.report().devices[0].busy_s - busy_before;
    const auto n = static_cast<double>(n_queries);
    different += timed.different;
    fmt::print(
        R"({{"step": "lists", "rows": {}, "dim": {}, "queries": {}, "k": 10, "cpu_ms": {:.3f}, "device_ms": {:.3f}, "spread_ms": {:.3f}, "jobs_ms": {:.3f}, "device_queries": {}, "codes_a_query": {:.0f}, "different": {}}})"
        "\n",
        n_rows, kDim, n_queries, cpu.ms, timed.median(), timed.spread(),
        busy_s * 1e3 / (kRounds + 1), n_device_queries(devices) - before,
        static_cast<double>(timed.work.n_codes_scored) / n, timed.different);
    std::fflush(stdout);
  }
  return different;
}

/// Times exact MaxSim of queries of 32 tokens with `n_documents` of about 100 tokens and 128
/// dimensions; returns the number of answers that differ.
std::size_t time_documents(gpu::Devices& devices, std::size_t n_documents) {
  constexpr std::size_t kDim = 128;
  constexpr std::size_t kQueryTokens = 32;
  std::mt19937 random(kSeed);
  constexpr std::size_t kOnCpu = 8;  // the CPU needs seconds for each
  const auto column = documents_of(n_documents, 100, kDim, random);
  const auto queries = random_values(64 * kQueryTokens, kDim, random);
  const auto cpu = Search(column, queries, kOnCpu, kQueryTokens, 10).ask(nullptr);
  std::size_t different = 0;
  for (const std::size_t n_queries : {std::size_t{1}, kOnCpu, std::size_t{64}}) {
    const Timed timed =
        time_rounds(Search(column, queries, n_queries, kQueryTokens, 10), devices, cpu);
    different += timed.different;
    fmt::print(
        R"({{"step": "documents", "documents": {}, "tokens": {}, "dim": {}, "queries": {}, "query_tokens": {}, "k": 10, "cpu_ms_a_query": {:.3f}, "device_ms": {:.3f}, "spread_ms": {:.3f}, "scored_exactly": {:.1f}, "different": {}}})"
        "\n",
        n_documents, column.multi().tokens.rows().n_rows, kDim, n_queries, kQueryTokens,
        cpu.ms / kOnCpu, timed.median(), timed.spread(),
        static_cast<double>(timed.work.n_rows_scored) / static_cast<double>(n_queries), different);
    std::fflush(stdout);
  }
  return different;
}

/// Numbers of rows scored exactly, query by query.
std::size_t count_scored(gpu::Devices& devices, const Values& rows, const Values& queries,
                         std::size_t k) {
  std::vector<double> scored;
  std::size_t different = 0;
  Search search(column_of(rows, rows.n(), DType::kF32, Metric::kDot), queries, 1, k);
  static_cast<void>(search.ask(&devices));
  devices.wait_for_loading();
  for (std::size_t i = 0; i < std::min<std::size_t>(queries.n(), 200); ++i) {
    search.use(queries.row(i));
    const auto answer = search.ask(&devices);
    scored.push_back(static_cast<double>(answer.work.n_rows_scored));
    different += n_different(answer, search.ask(nullptr));
  }
  fmt::print(
      R"({{"step": "scored", "rows": {}, "dim": {}, "queries": {}, "k": {}, "median": {}, "most": {}, "different": {}}})"
      "\n",
      rows.n(), rows.dim, scored.size(), k, percentile(scored, 0.5), percentile(scored, 1),
      different);
  std::fflush(stdout);
  return different;
}

Result<Values> read_values(const std::string& path, std::size_t n_rows) {
  QV_TRY(auto set, dataset::load_vectors(path, FieldKind::kDense));
  Values values{set.shape.dim, std::move(set.batch.values)};
  values.values.resize(std::min(values.values.size(), n_rows * values.dim));
  return values;
}

std::size_t time_graph(gpu::Devices& devices, std::size_t n_rows) {
  constexpr std::size_t kDim = 384;
  std::mt19937 random(kSeed);
  const auto rows = clumps(n_rows, kDim, n_rows / 1000 + 1, random);
  return time_builds(devices, column_of(rows, n_rows, DType::kF32, Metric::kDot));
}

/// A set of three files (dataset/vectors.h).
bool is_sparse(const std::string& path) {
  return std::filesystem::exists(path + ".indptr.npy") ||
         std::filesystem::exists(path + ".indptr.npy.zst");
}

Result<std::size_t> run(gpu::Devices& devices, std::size_t n_rows,
                        const std::vector<std::string>& files) {
  std::size_t different = check_equality(devices) + check_documents(devices) +
                          check_lists(devices) + check_sums(devices);
  if (files.empty()) {
    std::mt19937 random(kSeed);
    for (const std::size_t dim : {128, 768}) {
      const auto rows = random_values(n_rows, dim, random);
      const auto queries = random_values(256, dim, random);
      for (const std::size_t n_queries : {1, 8, 64, 256}) {
        different += time_shape(devices, rows, queries, n_queries, 10);
      }
    }
    different += time_lists(devices, n_rows);
    different += time_graph(devices, std::min<std::size_t>(n_rows, 100'000));
    different += time_sums(devices, n_rows / 4);
    // 25 GB of tokens for a million documents would take too long to make.
    different += time_documents(devices, n_rows / 10);
    return different;
  }
  if (is_sparse(files[0])) {
    QV_TRY(const auto of_sums, time_sums(devices, n_rows, files[0], files[1]));
    return different + of_sums;
  }
  QV_TRY(const auto rows, read_values(files[0], n_rows));
  QV_TRY(const auto queries, read_values(files[1], n_rows));
  for (const std::size_t k : {1, 10, 100}) different += count_scored(devices, rows, queries, k);
  for (const std::size_t n_queries : {1, 64}) {
    different += time_shape(devices, rows, queries, n_queries, 10);
  }
  return different;
}

int main_of(const std::vector<std::string>& arguments) {
  if (arguments.size() != 3 && arguments.size() != 5) {
    std::fprintf(stderr, "usage: gpu_check DEVICES MODULE N_ROWS [ROWS QUERIES]\n");
    return EXIT_FAILURE;
  }
  gpu::Options options;
  options.devices = arguments[0];
  options.module = arguments[1];
  options.min_bytes = 0;
  const auto devices = gpu::Devices::open(options);
  if (!devices || !(*devices)->is_useful()) {
    const auto reason = devices ? (*devices)->report().reason : devices.error().message();
    std::fprintf(stderr, "gpu_check: %s\n", reason.c_str());
    return 2;
  }
  const auto report = (*devices)->report();
  fmt::print(
      R"({{"step": "device", "name": "{}", "module": "{}", "memory_bytes": {}, "cpu": "{}"}})"
      "\n",
      report.devices[0].name, report.build, report.devices[0].memory_bytes, kernels().name);
  const std::vector<std::string> files(arguments.begin() + 3, arguments.end());
  const auto different = run(**devices, std::stoul(arguments[2]), files);
  if (!different) {
    std::fprintf(stderr, "gpu_check: %s\n", different.error().to_string().c_str());
    return EXIT_FAILURE;
  }
  return *different == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

std::unique_ptr<index::Searcher> index_over(const index::FieldColumn& column,
                                            const std::string& name, const KeyValues& values) {
  const auto& type = *index::find_index_type(name);
  const auto directory = make_memory_directory();
  const Cancel cancel;
  Executor executor(0, "build");
  const auto params = type.parse_build(values);
  if (!params) std::abort();
  if (!type.build(column, *params, {&executor, cancel, kSeed, nullptr}, *directory)) std::abort();
  auto opened = type.open(*directory, column);
  if (!opened) std::abort();
  return *std::move(opened);
}

void print_equality(const std::string& step, std::size_t n_shapes, std::uint64_t n_queries,
                    std::size_t different) {
  fmt::print(R"({{"step": "{}", "seed": {}, "shapes": {}, "device_queries": {}, "different": {}}})"
             "\n",
             step, kSeed, n_shapes, n_queries, different);
  std::fflush(stdout);
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

}  // namespace quiver::bench

int main(int argc, char** argv) {
  return quiver::bench::main_of(std::vector<std::string>(argv + 1, argv + argc));
}
