// Token codes of a multi-vector index: approximate MaxSim in 8, 4 and 2 bits, for documents in
// cache and for random documents in memory. The limit, measured in the same run, is the rate of u8
// x i8 products on registers alone. One thread, one query per call, random values.
//
//   tokens_bench [n_documents [passes]]     24,000 (246 MB of 8 bits), 12
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "base/io/append_buffer.h"
#include "bench/micro/peaks.h"
#include "bench/micro/yardstick.h"
#include "encoders/transforms/random_bits.h"
#include "index/multi/tokens/token_codes.h"

namespace quiver {
namespace {

using index::multi::TokenCodes;
using index::multi::TokenQuery;

constexpr SectionFormat kFormat{"token codes", "QVBENCH1", "QVBENCHE"};
constexpr std::uint64_t kSeed = 1;
constexpr std::uint32_t kDim = 128;
constexpr std::size_t kPeakRounds = 300'000;
constexpr std::size_t kRowsOfAPass = 2000;

struct Shape {
  std::size_t n_query;
  std::size_t n_document;
};

index::FieldColumn column_of(std::size_t n_documents, std::size_t n_tokens) {
  index::FieldColumn column;
  column.schema.kind = FieldKind::kMulti;
  column.schema.dim = kDim;
  column.schema.dtype = DType::kU8;
  column.n_rows = column.n_present = static_cast<std::uint32_t>(n_documents);
  column.present = SharedSpan<std::uint8_t>::of(std::vector<std::uint8_t>(n_documents, 1));
  std::vector<std::uint64_t> offsets(n_documents + 1);
  for (std::size_t i = 0; i <= n_documents; ++i) offsets[i] = i * n_tokens;
  AppendBuffer<std::byte> values;
  std::byte* out = values.append_zeros(offsets.back() * kDim);
  for (std::size_t i = 0; i < offsets.back() * kDim; ++i) {
    out[i] = static_cast<std::byte>(encoders::random_bits(kSeed, i) >> 56);
  }
  column.values = index::MultiColumn{SharedSpan<std::uint64_t>::of(std::move(offsets)),
                                     {values.view(), kDim, DType::kU8}};
  return column;
}

Result<TokenCodes> codes_of(const index::FieldColumn& column, std::uint32_t bits) {
  const auto directory = make_memory_directory();
  const Cancel cancel;
  QV_TRY(auto file, directory->create_file("tokens"));
  SectionWriter writer(kFormat, std::move(file));
  QV_TRY(TokenCodes::write(column, bits, {nullptr, cancel, kSeed, nullptr}, writer));
  QV_TRY(writer.finish(column.n_rows));
  QV_TRY(const auto reader, SectionReader::open(kFormat, *directory, "tokens"));
  return TokenCodes::open(reader, column);
}

std::vector<float> query_of(std::size_t n_tokens) {
  std::vector<float> tokens(n_tokens * kDim);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<float>(encoders::random_unit(~kSeed, i) - 0.5);
  }
  return tokens;
}

/// Every row once, in random order.
std::vector<std::uint32_t> shuffled(std::size_t n) {
  std::vector<std::uint32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  for (std::size_t i = n; i > 1; --i) {
    std::swap(rows[i - 1], rows[encoders::random_bits(kSeed, i) % i]);
  }
  return rows;
}

double seconds_of(const TokenCodes& codes, const TokenQuery& query,
                  std::span<const std::uint32_t> rows) {
  std::vector<float> scores(rows.size());
  const Cancel cancel;
  return thread_seconds([&] { (void)codes.score(query, rows, cancel, scores.data()); });
}

void measure(const TokenCodes& codes, const Shape& shape, std::size_t n_passes) {
  TokenQuery query;
  const auto tokens = query_of(shape.n_query);
  const double prepare = thread_seconds([&] {
    for (int i = 0; i < 100; ++i) query.set(codes.codec(), tokens);
  });
  const auto at_random = shuffled(codes.n_rows());
  const std::vector<std::uint32_t> one(kRowsOfAPass, 0);
  std::vector<double> peak, hot, cold;
  for (std::size_t pass = 0; pass < n_passes; ++pass) {
    const std::size_t first = pass * kRowsOfAPass % (at_random.size() - kRowsOfAPass + 1);
    peak.push_back(thread_seconds([] { code_peak().run(kPeakRounds); }));
    hot.push_back(seconds_of(codes, query, one));
    cold.push_back(seconds_of(codes, query, std::span(at_random).subspan(first, kRowsOfAPass)));
  }
  const double peak_rate = code_peak().rate(kPeakRounds, median(peak));
  const double operations = 2.0 * static_cast<double>(shape.n_query * shape.n_document) * kDim;
  const double hot_seconds = median(hot) / kRowsOfAPass;
  const double cold_seconds = median(cold) / kRowsOfAPass;
  std::printf("%3zu x %3zu x %u %4u bits %8.2f us %6.0f %% %8.2f us %6.0f %% %8.1f us %9.0f\n",
              shape.n_query, shape.n_document, kDim, codes.codec().facts().bits, hot_seconds * 1e6,
              100 * operations / hot_seconds / peak_rate, cold_seconds * 1e6,
              100 * operations / cold_seconds / peak_rate, prepare / 100 * 1e6, peak_rate * 1e-9);
}

Result<> run(std::size_t n_documents, std::size_t n_passes) {
  std::printf("%-22s %11s %8s %11s %8s %11s %9s\n", "", "in cache", "of peak", "at random",
              "of peak", "prepare", "Gop/s");
  for (const Shape& shape : {Shape{32, 80}, Shape{15, 104}}) {
    const auto column = column_of(n_documents, shape.n_document);
    for (const std::uint32_t bits : {8U, 4U, 2U}) {
      QV_TRY(const auto codes, codes_of(column, bits));
      measure(codes, shape, n_passes);
    }
  }
  return {};
}

}  // namespace
}  // namespace quiver

int main(int argc, char** argv) {
  const std::size_t n_documents = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 24'000;
  const std::size_t n_passes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 12;
  if (n_documents < 2 * quiver::kRowsOfAPass || n_passes == 0) {
    std::fprintf(stderr, "usage: tokens_bench [n_documents >= 4000 [passes]]\n");
    return 2;
  }
  const auto done = quiver::run(n_documents, n_passes);
  if (!done) std::fprintf(stderr, "tokens_bench: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
