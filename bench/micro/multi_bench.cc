// Late interaction over real token vectors, one thread, one query per call: exact search over f32
// and f16 tokens, and the kernel for 8-bit codes. Limits beside them: products per second on
// registers alone, and the bandwidth of a loop that only reads the f32 tokens. All take turns in
// one process.
//
//   multi_bench DOCUMENTS QUERIES [n_queries [passes]]     ragged sets by their prefixes; 20
//                                                          queries, 3 passes
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/io/append_buffer.h"
#include "bench/micro/peaks.h"
#include "bench/micro/yardstick.h"
#include "dataset/vectors.h"
#include "index/exact/searcher.h"

namespace quiver {
namespace {

constexpr std::size_t kTop = 10;
/// Larger values of unit vectors are rare; see prepare_codes.
constexpr float kLargest = 0.35F;

struct Documents {
  index::FieldColumn f32;
  index::FieldColumn f16;
  SharedBytes codes;  ///< `[n_tokens, dim]` u8
};

index::FieldColumn column_of(const dataset::Vectors& set, DType dtype) {
  index::FieldColumn column;
  column.schema.kind = FieldKind::kMulti;
  column.schema.dim = set.shape.dim;
  column.schema.dtype = dtype;
  column.schema.metric = Metric::kDot;
  column.n_rows = column.n_present = static_cast<std::uint32_t>(set.n_rows());
  column.present = SharedSpan<std::uint8_t>::of(std::vector<std::uint8_t>(set.n_rows(), 1));
  const std::size_t stride = padded_row_bytes(set.shape.dim, dtype);
  const std::size_t n_tokens = set.batch.values.size() / set.shape.dim;
  AppendBuffer<std::byte> rows;
  rows.reserve(n_tokens * stride);
  for (std::size_t t = 0; t < n_tokens; ++t) {
    std::byte* out = rows.append_zeros(stride);
    const float* values = set.batch.values.data() + t * set.shape.dim;
    if (dtype == DType::kF32) std::memcpy(out, values, set.shape.dim * sizeof(float));
    if (dtype == DType::kF16) {
      kernels().convert.f32_to_f16(values, set.shape.dim, reinterpret_cast<std::uint16_t*>(out));
    }
  }
  column.values = index::MultiColumn{SharedSpan<std::uint64_t>::of(set.batch.offsets),
                                     {rows.view(), set.shape.dim, dtype}};
  return column;
}

std::int8_t code_of(float value) {
  const float scaled = std::round(value * (127.0F / kLargest));
  return static_cast<std::int8_t>(std::clamp(scaled, -127.0F, 127.0F));
}

SharedBytes codes_of(const std::vector<float>& values) {
  AppendBuffer<std::byte> codes;
  std::byte* out = codes.append_zeros(values.size());
  for (const float value : values) *out++ = static_cast<std::byte>(code_of(value) + 128);
  return codes.view();
}

/// One query in every form.
struct PreparedQuery {
  PreparedQuery(const index::FieldColumn& column, std::span<const float> tokens)
      : exact(index::PreparedQuery::multi(column.schema, tokens)), n_tokens(exact.n_tokens()) {
    const std::uint32_t dim = column.schema.dim;
    std::vector<std::int8_t> plain;
    for (const float value : tokens) plain.push_back(code_of(value));
    codes.resize(MaxSimKernels::prepared_codes(n_tokens, dim));
    kernels().maxsim_family.prepare_codes(plain.data(), n_tokens, dim, dim, codes.data());
  }

  index::PreparedQuery exact;
  std::size_t n_tokens;
  std::vector<std::int8_t> codes;
};

void search(const index::FieldColumn& column, const index::PreparedQuery& query) {
  const index::FlatSearcher searcher(column);
  const Cancel cancel;
  index::TopK hits(kTop);
  index::WorkCounters work;
  const auto done =
      searcher.search(query, {}, index::RowFilter::all(column.n_rows), {cancel}, hits, work);
  if (!done) std::fprintf(stderr, "%s\n", done.error().message().c_str());
}

void score_codes(const Documents& documents, const PreparedQuery& query) {
  const auto& offsets = documents.f32.multi().offsets;
  const std::uint32_t dim = documents.f32.schema.dim;
  std::int64_t best = 0;
  for (std::size_t i = 0; i < documents.f32.n_rows; ++i) {
    const std::size_t n = offsets[i + 1] - offsets[i];
    if (n == 0) continue;
    best = std::max(best, kernels().maxsim_family.score_codes(
                              query.codes.data(), query.n_tokens, dim,
                              documents.codes.data() + offsets[i] * dim, dim, n));
  }
  g_code_sink = static_cast<std::int32_t>(best);
}

/// Something timed once per query and pass; medians over the passes add up over the queries.
struct Case {
  std::string name;
  std::function<void(const PreparedQuery&)> work;
  double bytes;                                 ///< read by a query
  double peak = 0;                              ///< operations a second, once measured
  std::vector<std::vector<double>> times = {};  ///< [query][pass]

  [[nodiscard]] double seconds() const {
    double sum = 0;
    for (const auto& of_query : times) sum += median(of_query);
    return sum;
  }
};

constexpr std::size_t kPeakRounds = 1'000'000;

std::vector<Case> make_cases(const Documents& documents) {
  const SharedBytes& f32 = documents.f32.multi().tokens.bytes;
  const SharedBytes& f16 = documents.f16.multi().tokens.bytes;
  return {
      {"f32 products in registers", [](const auto&) { float_peak().run(kPeakRounds); }, 0},
      {"u8 x i8 products in registers", [](const auto&) { code_peak().run(kPeakRounds); }, 0},
      {"reading f32 tokens", [f32](const auto&) { read_all(f32.data(), f32.size()); },
       static_cast<double>(f32.size())},
      {"search f32", [&](const auto& q) { search(documents.f32, q.exact); },
       static_cast<double>(f32.size())},
      {"search f16", [&](const auto& q) { search(documents.f16, q.exact); },
       static_cast<double>(f16.size())},
      {"codes", [&](const auto& q) { score_codes(documents, q); },
       static_cast<double>(documents.codes.size())},
  };
}

void print_cases(const std::vector<Case>& cases, double n_queries, double operations) {
  const double float_rate = float_peak().rate(kPeakRounds, cases[0].seconds() / n_queries);
  const double code_rate = code_peak().rate(kPeakRounds, cases[1].seconds() / n_queries);
  const double bandwidth = cases[2].bytes * n_queries / cases[2].seconds();
  std::printf("f32 %.1f Gop/s, u8 x i8 %.1f Gop/s, reading %.2f GB/s\n", float_rate * 1e-9,
              code_rate * 1e-9, bandwidth * 1e-9);
  std::printf("%-12s %9s %9s %9s %9s %12s %12s\n", "", "ms/query", "QPS", "GB/s", "Gop/s",
              "of products", "of the bound");
  for (std::size_t i = 3; i < cases.size(); ++i) {
    const double seconds = cases[i].seconds();
    const double by_products = operations / (cases[i].name == "codes" ? code_rate : float_rate);
    const double by_bytes = cases[i].bytes * n_queries / bandwidth;
    std::printf("%-12s %9.2f %9.1f %9.2f %9.1f %11.1f%% %11.1f%%\n", cases[i].name.c_str(),
                seconds / n_queries * 1e3, n_queries / seconds,
                cases[i].bytes * n_queries / seconds * 1e-9, operations / seconds * 1e-9,
                100 * by_products / seconds, 100 * std::fmax(by_products, by_bytes) / seconds);
  }
  std::printf("codes: %.2f x f32\n", cases[3].seconds() / cases[5].seconds());
}

Result<> run(const std::string& documents_name, const std::string& queries_name,
             std::size_t n_queries, int passes) {
  QV_TRY(const auto set, dataset::load_vectors(documents_name, FieldKind::kMulti));
  QV_TRY(const auto queries,
         dataset::load_vectors(queries_name, FieldKind::kMulti, {0, n_queries}));
  if (set.shape.dim != queries.shape.dim || queries.n_rows() == 0 || set.n_rows() == 0) {
    return fail(Code::kInvalidArgument, "documents and queries of one dimension are wanted");
  }
  const Documents documents{column_of(set, DType::kF32), column_of(set, DType::kF16),
                            codes_of(set.batch.values)};
  auto cases = make_cases(documents);
  const std::uint32_t dim = set.shape.dim;
  double n_pairs = 0;
  for (std::size_t q = 0; q < queries.n_rows(); ++q) {
    const std::size_t first = queries.batch.offsets[q];
    const std::size_t n = queries.batch.offsets[q + 1] - first;
    const PreparedQuery query(documents.f32,
                              std::span(queries.batch.values).subspan(first * dim, n * dim));
    n_pairs += static_cast<double>(n) * static_cast<double>(set.batch.offsets.back());
    for (Case& c : cases) c.times.emplace_back();
    for (int pass = 0; pass < passes; ++pass) {
      for (Case& c : cases) c.times.back().push_back(thread_seconds([&] { c.work(query); }));
    }
  }
  const auto n = static_cast<double>(queries.n_rows());
  const auto n_tokens = static_cast<double>(set.batch.offsets.back());
  std::printf("%zu documents of %.1f tokens of %u, %.0f queries of %.1f, kernels %s\n",
              set.n_rows(), n_tokens / static_cast<double>(set.n_rows()), dim, n,
              n_pairs / n_tokens / n, kernels().name);
  print_cases(cases, n, n_pairs * 2 * dim);
  return {};
}

}  // namespace
}  // namespace quiver

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: multi_bench DOCUMENTS QUERIES [n_queries [passes]]\n");
    return 2;
  }
  const std::size_t n_queries = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 20;
  const auto done = quiver::run(argv[1], argv[2], n_queries, argc > 4 ? std::atoi(argv[4]) : 3);
  if (!done) std::fprintf(stderr, "multi_bench: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
