// Exact sparse search over real rows, one thread, one query per call, beside its floor. The floor
// is the longer of two times: reading the rows at the bandwidth of a loop that only reads, and one
// look-up per entry at the rate of a loop that only gathers. All take turns in one process.
// Operations are two for every entry, a product and a sum, as if all were in the query.
//
//   sparse_bench ROWS QUERIES [n_queries [passes]]     CSR sets by their prefixes; 40 queries,
//                                                      3 passes
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "bench/micro/peaks.h"
#include "bench/micro/yardstick.h"
#include "dataset/vectors.h"
#include "index/exact/searcher.h"

namespace quiver {
namespace {

constexpr std::size_t kTop = 10;

index::FieldColumn column_of(dataset::Vectors rows) {
  index::FieldColumn column;
  column.schema.kind = FieldKind::kSparse;
  column.n_rows = column.n_present = static_cast<std::uint32_t>(rows.n_rows());
  column.present = SharedSpan<std::uint8_t>::of(std::vector<std::uint8_t>(rows.n_rows(), 1));
  column.values = index::SparseColumn{SharedSpan<std::uint64_t>::of(std::move(rows.batch.offsets)),
                                      SharedSpan<std::uint32_t>::of(std::move(rows.batch.indices)),
                                      SharedSpan<float>::of(std::move(rows.batch.values))};
  return column;
}

SparseView query_of(const dataset::Vectors& queries, std::size_t i) {
  const dataset::VectorBatch& batch = queries.batch;
  const std::size_t first = batch.offsets[i];
  const std::size_t n = batch.offsets[i + 1] - first;
  return {std::span(batch.indices).subspan(first, n), std::span(batch.values).subspan(first, n)};
}

template <class T>
void read_all_of(const SharedSpan<T>& values) {
  read_all(reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T));
}

struct Times {
  double reading = 0;
  double looking_up = 0;
  double searching = 0;
};

Result<Times> measure(const index::FieldColumn& column, SparseView vector) {
  const index::SparseColumn& rows = column.sparse();
  const index::FlatSearcher searcher(column);
  const Cancel cancel;
  const auto query = index::PreparedQuery::sparse(column.schema, vector);
  const std::vector<float> table(1U << 16, 1.0F);
  Times times;
  times.reading = thread_seconds([&] {
    read_all_of(rows.indices);
    read_all_of(rows.values);
  });
  // The same indices again and again, from L1, so that memory does not count twice.
  constexpr std::size_t kBlock = 2048;
  times.looking_up = thread_seconds([&] {
    for (std::size_t i = 0; i + kBlock <= rows.indices.size(); i += kBlock) {
      look_up(table.data(), rows.indices.data(), kBlock);
    }
  });
  Result<> status;
  times.searching = thread_seconds([&] {
    index::TopK hits(kTop);
    index::WorkCounters work;
    status = searcher.search(query, {}, index::RowFilter::all(column.n_rows), {cancel}, hits, work);
  });
  QV_TRY(std::move(status));
  return times;
}

void print_line(const char* name, double seconds, double bytes, double n_entries, double floor) {
  std::printf(
      "%-34s %8.2f ms  %7.1f QPS  %6.2f GB/s  %6.2f Gop/s  %6.3f ns/entry  %6.1f %% of the floor\n",
      name, seconds * 1e3, 1 / seconds, bytes / seconds * 1e-9, 2 * n_entries / seconds * 1e-9,
      seconds / n_entries * 1e9, 100 * floor / seconds);
}

Result<> run(const std::string& rows_name, const std::string& queries_name, std::size_t n_queries,
             int passes) {
  QV_TRY(auto rows, dataset::load_vectors(rows_name, FieldKind::kSparse));
  QV_TRY(const auto queries,
         dataset::load_vectors(queries_name, FieldKind::kSparse, {0, n_queries}));
  const auto column = column_of(std::move(rows));
  if (queries.n_rows() == 0 || column.n_rows == 0) {
    return fail(Code::kInvalidArgument, "no rows or no queries");
  }
  std::vector<double> reading, looking_up, searching;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t q = 0; q < queries.n_rows(); ++q) {
      QV_TRY(const Times times, measure(column, query_of(queries, q)));
      reading.push_back(times.reading);
      looking_up.push_back(times.looking_up);
      searching.push_back(times.searching);
    }
  }
  const auto n_entries = static_cast<double>(column.sparse().indices.size());
  const double bytes = n_entries * 8;
  const double read = median(reading);
  const double gather = median(looking_up);
  const double search = median(searching);
  std::printf("%u rows, %.1f entries a row, %.1f MB (u32 + f32), %zu queries, kernels %s\n",
              column.n_rows, n_entries / column.n_rows, bytes * 1e-6, queries.n_rows(),
              kernels().name);
  const double floor = std::max(read, gather);
  print_line("reading all bytes", read, bytes, n_entries, floor);
  print_line("a look-up for every entry, from L1", gather, bytes, n_entries, floor);
  print_line("searching", search, bytes, n_entries, floor);
  std::printf("of reading alone: %.1f %%\n", 100 * read / search);
  return {};
}

}  // namespace
}  // namespace quiver

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: sparse_bench ROWS QUERIES [n_queries [passes]]\n");
    return 2;
  }
  const std::size_t n_queries = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 40;
  const auto done = quiver::run(argv[1], argv[2], n_queries, argc > 4 ? std::atoi(argv[4]) : 3);
  if (!done) std::fprintf(stderr, "sparse_bench: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
