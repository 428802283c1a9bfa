// First stages of late interaction. Recall: share of a query's best 10 documents by exact MaxSim
// that are among its N candidates. Candidates are the documents whose vectors have the greatest
// scalar products with the query's vector. Also prints the time to make the vectors, and the rate
// of products on registers alone. One thread; times are CPU times of that thread. Prints a Markdown
// table.
//
//   stages_bench DOCUMENTS QUERIES FIRST:END FIRST:END     ragged sets by their prefixes; which
//                                                          documents, which queries
//
// Samples of recorded queries are taken from the queries before these.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "bench/micro/peaks.h"
#include "bench/micro/yardstick.h"
#include "dataset/vectors.h"
#include "encoders/fde/fde_encoder.h"
#include "encoders/features/features_encoder.h"
#include "encoders/mean_encoder.h"
#include "kernels/kernels.h"

namespace quiver {
namespace {

using encoders::SetEncoder;
using encoders::TokenSet;

constexpr std::size_t kTop = 10;
constexpr std::size_t kCandidates[] = {10, 20, 50, 100, 200, 500};
constexpr std::size_t kDocumentsPerCall = 256;
constexpr std::size_t kSample = 8192;
constexpr std::uint64_t kSeed = 1;

struct Sets {
  explicit Sets(dataset::Vectors file) : dim(file.shape.dim), values(std::move(file.batch.values)) {
    const auto& offsets = file.batch.offsets;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      if (offsets[i + 1] == offsets[i]) continue;  // nothing to encode
      sets.push_back({values.data() + offsets[i] * dim, offsets[i + 1] - offsets[i]});
    }
  }
  Sets(const Sets&) = delete;  // sets point into it
  Sets& operator=(const Sets&) = delete;

  [[nodiscard]] std::size_t n_tokens() const { return values.size() / dim; }

  std::uint32_t dim;
  std::vector<float> values;
  std::vector<TokenSet> sets;
};

std::vector<float> sample_of(const Sets& from, std::size_t n) {
  std::vector<float> sample;
  for (const auto i : encoders::sample_numbers(from.n_tokens(), n, kSeed)) {
    const float* token = from.values.data() + i * from.dim;
    sample.insert(sample.end(), token, token + from.dim);
  }
  return sample;
}

class Bench {
 public:
  Bench(const Sets& documents, const Sets& queries) : documents_(documents), queries_(queries) {
    const auto score = kernels().maxsim(Similarity::kDot, DType::kF32);
    for (const TokenSet& query : queries.sets) {
      std::vector<float> prepared(MaxSimKernels::prepared_floats(query.n, queries.dim));
      kernels().maxsim_family.prepare(query.values, query.n, queries.dim, queries.dim,
                                      prepared.data());
      std::vector<float>& scores = exact_.emplace_back();
      for (const TokenSet& document : documents.sets) {
        scores.push_back(score(prepared.data(), query.n, queries.dim,
                               reinterpret_cast<const std::byte*>(document.values),
                               queries.dim * sizeof(float), document.n));
      }
      std::vector<float> best = scores;
      std::nth_element(best.begin(), best.begin() + kTop - 1, best.end(), std::greater());
      bars_.push_back(best[kTop - 1] - 1e-6F * std::abs(best[kTop - 1]));
    }
  }

  static void print_head() {
    std::printf("| first stage | dims ");
    for (const std::size_t n : kCandidates) std::printf("| N = %zu ", n);
    std::printf("| make s | document us | query us |\n|---|---|");
    for (std::size_t i = 0; i < std::size(kCandidates); ++i) std::printf("---|");
    std::printf("---|---|---|\n");
  }

  /// `make_s`: seconds to make the encoder.
  void report(const std::string& name, const SetEncoder& encoder, double make_s) const {
    std::vector<float> rows(documents_.sets.size() * encoder.dim());
    const double documents_s = thread_seconds([&] {
      for (std::size_t i = 0; i < documents_.sets.size(); i += kDocumentsPerCall) {
        const std::size_t n = std::min(kDocumentsPerCall, documents_.sets.size() - i);
        encoder.encode_documents(std::span(documents_.sets).subspan(i, n),
                                 &rows[i * encoder.dim()]);
      }
    });
    std::vector<double> found(std::size(kCandidates));
    std::vector<double> query_s;
    std::vector<float> query(encoder.dim());
    for (std::size_t q = 0; q < queries_.sets.size(); ++q) {
      query_s.push_back(
          thread_seconds([&] { encoder.encode_query(queries_.sets[q], query.data()); }));
      add_found(q, rows, query, found);
    }
    std::printf("| %s | %u ", name.c_str(), encoder.dim());
    for (const double n : found) {
      std::printf("| %.3f ", n / static_cast<double>(kTop * queries_.sets.size()));
    }
    std::printf("| %.2f | %.1f | %.1f |\n", make_s,
                documents_s * 1e6 / static_cast<double>(documents_.sets.size()),
                median(query_s) * 1e6);
    std::fflush(stdout);
  }

 private:
  /// Adds to each of `found` the number of wanted documents among its candidates.
  void add_found(std::size_t q, const std::vector<float>& rows, const std::vector<float>& query,
                 std::vector<double>& found) const {
    std::vector<float> scores(documents_.sets.size());
    kernels()
        .dense(Similarity::kDot, DType::kF32)
        .many(query.data(), static_cast<std::uint32_t>(query.size()),
              reinterpret_cast<const std::byte*>(rows.data()), query.size() * sizeof(float),
              scores.size(), scores.data());
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    std::size_t n_right = 0;
    std::size_t c = 0;
    for (std::size_t i = 0; c < std::size(kCandidates); ++i) {
      if (i == kCandidates[c] || i == order.size()) found[c++] += std::min(n_right, kTop);
      if (i < order.size()) n_right += exact_[q][order[i]] >= bars_[q];
    }
  }

  const Sets& documents_;
  const Sets& queries_;
  std::vector<std::vector<float>> exact_;  ///< `[n_queries, n_documents]`
  std::vector<float> bars_;                ///< least score of the wanted documents
};

Result<> report_features(const Bench& bench, std::uint32_t dim, const std::vector<float>& sample,
                         const std::string& of_what) {
  for (const std::uint32_t n_features : {512u, 1024u, 2048u}) {
    encoders::FeaturesParams params;
    params.n_features = n_features;
    Result<encoders::FeaturesEncoder> encoder = fail(Code::kInternal, "not fitted");
    const double make_s = thread_seconds([&] {
      encoder = encoders::FeaturesEncoder::fit(dim, params, kSeed, {sample, {}});
    });
    QV_TRY(encoder);
    bench.report(fmt::format("random features, {} tokens {}", sample.size() / dim, of_what),
                 *encoder, make_s);
  }
  return {};
}

/// Sizes as in the paper: buckets of a repetition times dimensions of a block.
Result<> report_fixed(const Bench& bench, std::uint32_t dim) {
  struct Size {
    std::uint32_t planes, projected_dim;
  };
  bench.report("mean", encoders::MeanEncoder(dim), 0);
  for (const auto [planes, projected_dim] : {Size{3, 8}, Size{4, 8}, Size{4, 16}, Size{5, 16}}) {
    for (const double renormalize : {0.0, 1.0}) {
      encoders::FdeParams params;
      params.repetitions = 20;
      params.planes = planes;
      params.projected_dim = projected_dim;
      params.renormalize = renormalize;
      QV_TRY(const auto encoder, encoders::FdeEncoder::make(dim, params));
      bench.report(fmt::format("FDE, 20 repetitions, {} planes, {} a block, renormalise {}", planes,
                               projected_dim, renormalize),
                   *encoder, 0);
    }
  }
  return {};
}

void print_peaks() {
  constexpr std::size_t kRounds = 2'000'000;
  const double floats_s = thread_seconds([] { float_peak().run(kRounds); });
  const double codes_s = thread_seconds([] { code_peak().run(kRounds); });
  std::printf("registers alone: %.0f f32 products a us, %.0f of codes\n",
              float_peak().rate(kRounds, floats_s) / 2 * 1e-6,
              code_peak().rate(kRounds, codes_s) / 2 * 1e-6);
}

Result<> run(char** arguments) {
  QV_TRY(const auto document_rows, dataset::parse_rows(arguments[3]));
  QV_TRY(const auto query_rows, dataset::parse_rows(arguments[4]));
  QV_TRY(auto document_file, dataset::load_vectors(arguments[1], FieldKind::kMulti, document_rows));
  QV_TRY(auto query_file, dataset::load_vectors(arguments[2], FieldKind::kMulti, query_rows));
  QV_TRY(auto other_file, dataset::load_vectors(arguments[2], FieldKind::kMulti,
                                                {.first = 0, .end = query_rows.first}));
  const Sets documents(std::move(document_file));
  const Sets queries(std::move(query_file));
  const Sets other_queries(std::move(other_file));
  const Bench bench(documents, queries);
  print_peaks();
  Bench::print_head();
  QV_TRY(report_fixed(bench, documents.dim));
  auto sample = sample_of(documents, kSample);
  QV_TRY(report_features(bench, documents.dim, sample, "of documents"));
  const auto of_queries = sample_of(other_queries, kSample);
  sample.insert(sample.end(), of_queries.begin(), of_queries.end());
  return report_features(bench, documents.dim, sample, "of documents and other queries");
}

}  // namespace
}  // namespace quiver

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: stages_bench DOCUMENTS QUERIES FIRST:END FIRST:END\n");
    return 2;
  }
  const auto done = quiver::run(argv);
  if (!done) std::fprintf(stderr, "stages_bench: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
