// Exact dense search over real rows, one thread, one query per call, against the bandwidth of a
// loop that only reads the same memory. The two take turns; medians are printed.
//
//   flat_bench ROWS.npy QUERIES.npy [rounds]      f16 or f32 matrices; rows are kept as f32, metric
//   Dot
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "app/load/npy.h"
#include "base/append_buffer.h"
#include "bench/micro/yardstick.h"
#include "index/flat/searcher.h"

namespace quiver {
namespace {

constexpr std::size_t kTop = 10;

index::FieldColumn read_column(const app::NpyMatrix& matrix) {
  index::FieldColumn column;
  column.schema.dim = static_cast<std::uint32_t>(matrix.dim());
  column.schema.metric = Metric::kDot;
  column.n_rows = column.n_present = static_cast<std::uint32_t>(matrix.n_rows());
  column.present = SharedSpan<std::uint8_t>::of(std::vector<std::uint8_t>(matrix.n_rows(), 1));
  const std::size_t stride = padded_row_bytes(column.schema.dim, DType::kF32);
  AppendBuffer<std::byte> rows;
  rows.reserve(matrix.n_rows() * stride);
  for (std::size_t i = 0; i < matrix.n_rows(); ++i) {
    auto* row = reinterpret_cast<float*>(rows.append_zeros(stride));
    matrix.row(i, {row, matrix.dim()});
  }
  column.values = index::DenseColumn{rows.view(), column.schema.dim, DType::kF32};
  return column;
}

Result<> run(const std::string& rows_path, const std::string& queries_path, int rounds) {
  QV_TRY(const auto rows, app::NpyMatrix::open(rows_path));
  QV_TRY(const auto queries, app::NpyMatrix::open(queries_path));
  const auto column = read_column(rows);
  const index::FlatSearcher searcher(column);
  const SharedBytes& memory = column.dense().bytes;
  const Cancel cancel;
  std::vector<double> reading;
  std::vector<double> searching;
  std::vector<float> vector(queries.dim());
  Result<> status;
  for (int round = 0; round < rounds && status; ++round) {
    reading.push_back(thread_seconds([&] { read_all(memory.data(), memory.size()); }));
    queries.row(static_cast<std::size_t>(round) % queries.n_rows(), vector);
    searching.push_back(thread_seconds([&] {
      const auto query = index::Query::dense(column.schema, vector);
      index::TopK hits(kTop);
      index::WorkCounters work;
      status =
          searcher.search(query, {}, index::FilterView::all(column.n_rows), {cancel}, hits, work);
    }));
  }
  QV_TRY(std::move(status));
  const auto gigabytes = static_cast<double>(memory.size()) * 1e-9;
  const double read = median(reading);
  const double search = median(searching);
  std::printf("%u rows of %u f32, %.1f MB, k = %zu, %d rounds, one thread\n", column.n_rows,
              column.schema.dim, gigabytes * 1e3, kTop, rounds);
  std::printf("reading    %8.2f ms  %6.2f GB/s\n", read * 1e3, gigabytes / read);
  std::printf("searching  %8.2f ms  %6.2f GB/s  %5.1f %% of reading\n", search * 1e3,
              gigabytes / search, 100 * read / search);
  return {};
}

}  // namespace
}  // namespace quiver

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: flat_bench ROWS.npy QUERIES.npy [rounds]\n");
    return 2;
  }
  const auto done = quiver::run(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 101);
  if (!done) std::fprintf(stderr, "flat_bench: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
