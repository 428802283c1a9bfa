// Exact dense search over real rows, one thread: one query per call and batches of eight, over rows
// of f32 and of u8. Also prints the bandwidth of a loop that only reads the same memory. All take
// turns; medians are printed.
//
//   flat_bench ROWS QUERIES [rounds]      files of vectors (dataset/vectors.h), metric Dot; for u8,
//                                         values are scaled and shifted to [0, 255]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "base/io/append_buffer.h"
#include "bench/micro/yardstick.h"
#include "dataset/vectors.h"
#include "index/exact/searcher.h"

namespace quiver {
namespace {

constexpr std::size_t kTop = 10;
constexpr std::size_t kBatch = 8;

/// Components of unit vectors of some hundred dimensions are rarely beyond +-0.25.
float to_byte(float value) {
  return std::clamp(std::round((value + 0.25F) * 510.0F), 0.0F, 255.0F);
}

index::FieldColumn read_column(const dataset::Vectors& set, DType dtype) {
  const std::size_t dim = set.shape.dim;
  index::FieldColumn column;
  column.schema.dim = set.shape.dim;
  column.schema.metric = Metric::kDot;
  column.schema.dtype = dtype;
  column.n_rows = column.n_present = static_cast<std::uint32_t>(set.batch.n_rows);
  column.present = SharedSpan<std::uint8_t>::of(std::vector<std::uint8_t>(column.n_rows, 1));
  const std::size_t stride = padded_row_bytes(column.schema.dim, dtype);
  AppendBuffer<std::byte> rows;
  rows.reserve(column.n_rows * stride);
  for (std::size_t i = 0; i < column.n_rows; ++i) {
    const float* values = set.batch.values.data() + i * dim;
    std::byte* row = rows.append_zeros(stride);
    for (std::size_t d = 0; d < dim; ++d) {
      if (dtype == DType::kF32) reinterpret_cast<float*>(row)[d] = values[d];
      if (dtype == DType::kU8) row[d] = static_cast<std::byte>(to_byte(values[d]));
    }
  }
  column.values = index::DenseColumn{rows.view(), column.schema.dim, dtype};
  return column;
}

/// One kind of search, timed in turn with the others.
struct Case {
  std::string name;
  double n_queries = 0;  ///< 0 for the loop that only reads
  double n_bytes = 0;    ///< bytes of all rows
  std::function<Result<>(int round)> work;
  std::vector<double> times = {};
};

class FlatBench {
 public:
  FlatBench(const dataset::Vectors& rows, const dataset::Vectors& queries, DType dtype)
      : queries_(queries),
        name_(dtype == DType::kU8 ? "u8" : "f32"),
        column_(read_column(rows, dtype)),
        searcher_(column_) {}

  void add_cases(std::vector<Case>& cases) {
    const SharedBytes& memory = column_.dense().bytes;
    const auto n_bytes = static_cast<double>(memory.size());
    cases.push_back({name_ + " reading", 0, n_bytes, [this](int) -> Result<> {
                       const SharedBytes& all = column_.dense().bytes;
                       read_all(all.data(), all.size() / 512 * 512);
                       return {};
                     }});
    for (const std::size_t n : {std::size_t{1}, kBatch}) {
      cases.push_back({name_ + (n == 1 ? " one query" : " eight queries"), static_cast<double>(n),
                       n_bytes, [this, n](int round) { return search(round, n); }});
    }
  }
  [[nodiscard]] const index::FieldColumn& column() const { return column_; }

 private:
  Result<> search(int round, std::size_t n) {
    std::vector<index::PreparedQuery> queries;
    std::vector<index::TopK> tops(n, index::TopK(kTop));
    std::vector<const index::PreparedQuery*> query_pointers;
    std::vector<index::TopK*> outs;
    queries.reserve(n);
    for (std::size_t j = 0; j < n; ++j) {
      const auto row = (static_cast<std::size_t>(round) * n + j) % queries_.batch.n_rows;
      const float* values = queries_.batch.values.data() + row * queries_.shape.dim;
      std::vector<float> vector(values, values + queries_.shape.dim);
      if (column_.schema.dtype == DType::kU8) {
        std::transform(vector.begin(), vector.end(), vector.begin(), to_byte);
      }
      queries.push_back(index::PreparedQuery::dense(column_.schema, vector));
      query_pointers.push_back(&queries.back());
      outs.push_back(&tops[j]);
    }
    index::WorkCounters work;
    const auto all = index::RowFilter::all(column_.n_rows);
    if (n == 1) return searcher_.search(queries[0], {}, all, {cancel_}, tops[0], work);
    return searcher_.search_batch(query_pointers, {}, all, {cancel_}, outs, work);
  }

  const dataset::Vectors& queries_;
  std::string name_;
  index::FieldColumn column_;
  index::FlatSearcher searcher_;
  Cancel cancel_;
};

void print(const std::vector<Case>& cases) {
  std::printf("%-20s %9s %9s %8s %11s %12s\n", "", "ms", "QPS", "GB/s", "of reading", "x one f32");
  double reading = 0;
  double one_f32 = 0;
  for (const Case& c : cases) {
    const double seconds = median(c.times);
    if (c.n_queries == 0) reading = seconds;
    if (c.n_queries == 1 && one_f32 == 0) one_f32 = 1 / seconds;
    std::printf("%-20s %9.3f %9.0f %8.1f %10.0f%% %11.2fx\n", c.name.c_str(), seconds * 1e3,
                c.n_queries / seconds, c.n_bytes / seconds * 1e-9, 100 * reading / seconds,
                one_f32 == 0 ? 0 : c.n_queries / seconds / one_f32);
  }
}

Result<> run(const std::string& rows_path, const std::string& queries_path, int rounds) {
  QV_TRY(const auto rows, dataset::load_vectors(rows_path, FieldKind::kDense));
  QV_TRY(const auto queries, dataset::load_vectors(queries_path, FieldKind::kDense));
  FlatBench f32(rows, queries, DType::kF32);
  FlatBench u8(rows, queries, DType::kU8);
  std::vector<Case> cases;
  f32.add_cases(cases);
  u8.add_cases(cases);
  Result<> status;
  for (int round = 0; round < rounds; ++round) {
    for (Case& c : cases) {
      c.times.push_back(thread_seconds([&] { status = c.work(round); }));
      QV_TRY(std::move(status));
    }
  }
  std::printf("%u rows of %u, k = %zu, %d rounds, one thread\n", f32.column().n_rows,
              f32.column().schema.dim, kTop, rounds);
  print(cases);
  return {};
}

}  // namespace
}  // namespace quiver

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: flat_bench ROWS QUERIES [rounds]\n");
    return 2;
  }
  const auto done = quiver::run(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 51);
  if (!done) std::fprintf(stderr, "flat_bench: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
