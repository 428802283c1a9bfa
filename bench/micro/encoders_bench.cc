// Compares the encodings of a set of vectors (docs/encoders.md): bytes; recall@10 of a scan over
// all codes, alone and with the best 40 re-ranked exactly; time to encode and to score a row. One
// thread; times are those of the thread. The rows' mean is subtracted first, which changes no
// distance and no ranking by scalar product. Prints Markdown tables.
//
//   encoders_bench ROWS QUERIES dot|euclid FIRST:END      rows of the query file; dataset/vectors.h
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "bench/encodings/float8_encoder.h"
#include "bench/encodings/sparse_projection.h"
#include "bench/micro/yardstick.h"
#include "dataset/vectors.h"
#include "encoders/codes/bit_encoders.h"
#include "encoders/codes/value_encoders.h"
#include "encoders/transforms/pca.h"
#include "encoders/transforms/rotation.h"

namespace quiver {
namespace {

using namespace encoders;
using namespace encodings;

constexpr std::size_t kTop = 10;
constexpr std::size_t kReranked = 40;
constexpr std::size_t kSampleRows = 20000;
constexpr std::uint64_t kSeed = 1;
/// Share of a sample's values that a scale shared by all rows cuts off.
constexpr double kCutOffShare = 1e-4;

struct Matrix {
  std::uint32_t dim = 0;
  std::vector<float> values;

  [[nodiscard]] std::size_t n_rows() const { return values.size() / dim; }
  [[nodiscard]] const float* row(std::size_t i) const { return values.data() + i * dim; }
};

/// Evenly spread rows.
Matrix sample_of(const Matrix& rows) {
  Matrix sample{rows.dim, {}};
  const std::size_t n = std::min(kSampleRows, rows.n_rows());
  for (std::size_t i = 0; i < n; ++i) {
    const float* row = rows.row(i * rows.n_rows() / n);
    sample.values.insert(sample.values.end(), row, row + rows.dim);
  }
  return sample;
}

using Positions = std::vector<std::uint32_t>;

/// The `n` best, best first. A threshold from the first scores leaves few to sort.
Positions best_of(const std::vector<float>& scores, std::size_t n) {
  std::vector<float> first(scores.begin(),
                           scores.begin() + std::min<std::ptrdiff_t>(4096, std::ssize(scores)));
  const std::size_t last = std::min(n, first.size()) - 1;
  std::nth_element(first.begin(), first.begin() + std::ptrdiff_t(last), first.end(),
                   std::greater());
  Positions found(scores.size());
  found.resize(kernels().topk.at_least(scores.data(), scores.size(), first[last], found.data()));
  std::sort(found.begin(), found.end(), [&](std::uint32_t a, std::uint32_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  found.resize(std::min(n, found.size()));
  return found;
}

/// Exact scores of the queries, which decide which rows are right.
class Truth {
 public:
  Truth(const Matrix& rows, const Matrix& queries, Similarity similarity)
      : rows_(rows), queries_(queries), similarity_(similarity) {
    std::vector<float> scores(rows.n_rows());
    for (std::size_t q = 0; q < queries.n_rows(); ++q) {
      dense().many(queries.row(q), rows.dim, bytes(0), rows.dim * sizeof(float), rows.n_rows(),
                   scores.data());
      const float worst = scores[best_of(scores, kTop).back()];
      bars_.push_back(worst - 1e-6f * std::abs(worst));
    }
  }

  /// Share of the true best rows found. `by_order`: among the first `kTop` of `found`; else among
  /// all of `found`.
  [[nodiscard]] double recall(std::size_t query, const Positions& found, bool by_order) const {
    const std::size_t n = by_order ? std::min(kTop, found.size()) : found.size();
    std::size_t n_right = 0;
    for (std::size_t i = 0; i < n; ++i) {
      n_right += dense().one(queries_.row(query), rows_.dim, bytes(found[i])) >= bars_[query];
    }
    return static_cast<double>(std::min(n_right, kTop)) / kTop;
  }

 private:
  [[nodiscard]] const DenseKernels& dense() const {
    return kernels().dense(similarity_, RowType::kF32);
  }
  [[nodiscard]] const std::byte* bytes(std::size_t row) const {
    return reinterpret_cast<const std::byte*>(rows_.row(row));
  }

  const Matrix& rows_;
  const Matrix& queries_;
  Similarity similarity_;
  std::vector<float> bars_;
};

/// Map applied before the encoding.
struct Projection {
  std::string name;
  bool is_brief = false;  ///< shown with a few encodings only
  std::uint32_t out_dim = 0;
  std::function<void(const float* in, float* out)> apply;

  [[nodiscard]] Matrix of(const Matrix& in) const {
    Matrix out{out_dim, std::vector<float>(in.n_rows() * out_dim)};
    for (std::size_t i = 0; i < in.n_rows(); ++i) {
      apply(in.row(i), out.values.data() + i * out_dim);
    }
    return out;
  }
};

std::vector<Projection> all_projections(const Pca& pca) {
  const std::uint32_t dim = pca.dim();
  std::vector<Projection> all = {{"All dimensions", false, dim, [dim](const float* in, float* out) {
                                    std::copy_n(in, dim, out);
                                  }}};
  const auto add_pca = [&](std::uint32_t n, bool is_brief, bool is_rotated) {
    const Rotation rotation(n, kSeed);
    all.push_back({fmt::format("PCA to {} dimensions{}", n, is_rotated ? ", rotated" : ""),
                   is_brief, n, [&pca, n, is_rotated, rotation](const float* in, float* out) {
                     std::vector<float> turned(n);
                     pca.turn(in, n, is_rotated ? turned.data() : out);
                     if (is_rotated) rotation.apply(turned.data(), out);
                   }});
  };
  // Multiples of 32, at least 64, which a rotation does not extend.
  const std::uint32_t half = std::max(64u, dim / 2 / 32 * 32);
  add_pca(half, false, true);
  add_pca(half, true, false);
  add_pca(std::max(64u, dim / 4 / 32 * 32), true, true);
  const SparseProjection sparse(dim, half, kSeed);
  all.push_back({fmt::format("Sparse random projection to {} dimensions", half), true, half,
                 [sparse](const float* in, float* out) { sparse.apply(in, out); }});
  return all;
}

/// An encoding, made for rows like those of a sample.
struct Encoding {
  std::string name;
  bool is_brief = false;  ///< shown also for brief projections
  std::function<Result<EncoderPtr>(Similarity, const Matrix& sample)> make;
};

/// A power of two that takes the largest value near the end of the format.
float float8_scale(const Matrix& sample, float largest) {
  return std::exp2(std::floor(std::log2(largest / limit_of(sample.values, 0))));
}

std::vector<Encoding> all_encodings() {
  std::vector<Encoding> all;
  const auto add = [&](std::string name, auto make) {
    constexpr std::string_view kBriefNames[] = {
        "f16",           "i8, one scale", "4-bit, one scale",
        "RaBitQ 4 bits", "RaBitQ 1 bit",  "PQ, 2 dims a nibble"};
    const bool is_brief =
        std::find(std::begin(kBriefNames), std::end(kBriefNames), name) != std::end(kBriefNames);
    all.push_back({std::move(name), is_brief,
                   [make](Similarity s, const Matrix& sample) -> Result<EncoderPtr> {
                     return make(s, sample);
                   }});
  };
  using S = Similarity;
  using M = const Matrix&;
  add("f32", [](S s, M m) { return make_float_encoder(s, m.dim, RowType::kF32); });
  add("f16", [](S s, M m) { return make_float_encoder(s, m.dim, RowType::kF16); });
  add("bf16", [](S s, M m) { return make_float_encoder(s, m.dim, RowType::kBf16); });
  add("fp8 e4m3",
      [](S s, M m) { return make_float8_encoder(s, m.dim, Float8::kE4m3, float8_scale(m, 448)); });
  add("fp8 e5m2", [](S s, M m) {
    return make_float8_encoder(s, m.dim, Float8::kE5m2, float8_scale(m, 57344));
  });
  add("i8, one scale",
      [](S s, M m) { return make_byte_encoder(s, m.dim, limit_of(m.values, kCutOffShare)); });
  add("i8, scale a row", [](S s, M m) { return make_byte_encoder(s, m.dim, 0); });
  add("4-bit, one scale", [](S s, M m) {
    return make_step_encoder(s, m.dim, 4, limit_of(m.values, 10 * kCutOffShare));
  });
  add("4-bit, scale a row", [](S s, M m) { return make_step_encoder(s, m.dim, 4, 0); });
  for (std::uint32_t bits : {8u, 6u, 5u, 4u, 3u, 2u, 1u}) {
    add(fmt::format("RaBitQ {} bit{}", bits, bits > 1 ? "s" : ""),
        [bits](S s, M m) { return make_rabitq_encoder(s, m.dim, bits, kSeed); });
  }
  add("PQ, 2 dims a nibble",
      [](S s, M m) { return train_product_encoder(s, m.dim, m.values, kSeed); });
  return all;
}

/// Blocks of encoded rows on cache lines.
class Codes {
 public:
  Codes(const Encoder& encoder, std::size_t n_rows)
      : n_blocks_((n_rows + encoder.block_rows() - 1) / encoder.block_rows()),
        lines_(n_blocks_ * encoder.block_bytes() / sizeof(Line) + 2) {}
  [[nodiscard]] std::size_t n_blocks() const { return n_blocks_; }
  [[nodiscard]] std::byte* data() { return lines_.front().bytes; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::size_t n_blocks_;
  std::vector<Line> lines_;
};

void encode_all(const Encoder& encoder, const Matrix& rows, Codes& codes) {
  const std::size_t per_block = encoder.block_rows();
  for (std::size_t b = 0; b < codes.n_blocks(); ++b) {
    encoder.encode(rows.row(b * per_block), std::min(per_block, rows.n_rows() - b * per_block),
                   codes.data() + b * encoder.block_bytes());
  }
}

class Bench {
 public:
  Bench(Matrix rows, Matrix queries, Similarity similarity)
      : rows_(std::move(rows)),
        queries_(std::move(queries)),
        similarity_(similarity),
        truth_(rows_, queries_, similarity) {}

  Result<> run() {
    const std::uint32_t dim = rows_.dim;
    QV_TRY(const Pca pca, Pca::train(sample_of(rows_).values, dim));
    std::printf("%zu rows of %u, %zu queries, k = %zu\n", rows_.n_rows(), dim, queries_.n_rows(),
                kTop);
    for (const Projection& projection : all_projections(pca)) QV_TRY(run(projection));
    return {};
  }

 private:
  Result<> run(const Projection& projection) {
    Matrix rows;
    const double seconds = thread_seconds([&] { rows = projection.of(rows_); });
    const bool is_copy = rows.dim == rows_.dim;
    const double seconds_a_row = is_copy ? 0 : seconds / static_cast<double>(rows.n_rows());
    const Matrix queries = projection.of(queries_);
    const Matrix sample = sample_of(rows);
    std::printf(
        "\n**%s**\n\n| code | bytes | of f32 | recall, codes alone | best %zu re-ranked | "
        "encode us | score ns |\n|---|---|---|---|---|---|---|\n",
        projection.name.c_str(), kReranked);
    for (const Encoding& encoding : all_encodings()) {
      if (projection.is_brief && !encoding.is_brief) continue;
      QV_TRY(const EncoderPtr encoder, encoding.make(similarity_, sample));
      measure(encoding.name, *encoder, rows, queries, seconds_a_row);
    }
    return {};
  }

  void measure(const std::string& name, const Encoder& encoder, const Matrix& rows,
               const Matrix& queries, double projection_seconds) {
    Codes codes(encoder, rows.n_rows());
    const auto n_rows = static_cast<double>(rows.n_rows());
    const double encoding =
        thread_seconds([&] { encode_all(encoder, rows, codes); }) / n_rows + projection_seconds;
    std::vector<float> scores(codes.n_blocks() * encoder.block_rows());
    double alone = 0;
    double reranked = 0;
    std::vector<double> times;
    for (std::size_t q = 0; q < queries.n_rows(); ++q) {
      times.push_back(thread_seconds([&] {
        encoder.scorer(queries.row(q))->score(codes.data(), codes.n_blocks(), scores.data());
      }));
      scores.resize(rows.n_rows());
      const Positions found = best_of(scores, kReranked);
      scores.resize(codes.n_blocks() * encoder.block_rows());
      alone += truth_.recall(q, found, true);
      reranked += truth_.recall(q, found, false);
    }
    const auto n_queries = static_cast<double>(queries.n_rows());
    const double bytes =
        static_cast<double>(encoder.block_bytes()) / static_cast<double>(encoder.block_rows());
    std::printf("| %s | %.0f | %.1f %% | %.3f | %.3f | %.2f | %.1f |\n", name.c_str(), bytes,
                100 * bytes / (4.0 * rows_.dim), alone / n_queries, reranked / n_queries,
                encoding * 1e6, median(times) * 1e9 / n_rows);
    std::fflush(stdout);
  }

  Matrix rows_;
  Matrix queries_;
  Similarity similarity_;
  Truth truth_;
};

std::vector<float> mean_of(const Matrix& rows) {
  std::vector<double> sums(rows.dim, 0.0);
  for (std::size_t i = 0; i < rows.values.size(); ++i) sums[i % rows.dim] += rows.values[i];
  std::vector<float> mean(rows.dim);
  for (std::uint32_t d = 0; d < rows.dim; ++d) {
    mean[d] = static_cast<float>(sums[d] / static_cast<double>(rows.n_rows()));
  }
  return mean;
}

void subtract(const std::vector<float>& mean, Matrix& from) {
  for (std::size_t i = 0; i < from.values.size(); ++i) from.values[i] -= mean[i % from.dim];
}

Result<> run(char** arguments) {
  const std::string_view metric = arguments[3];
  if (metric != "dot" && metric != "euclid") {
    return fail(Code::kInvalidArgument, fmt::format("metric {}: wanted dot or euclid", metric));
  }
  QV_TRY(const auto range, dataset::parse_rows(arguments[4]));
  QV_TRY(auto rows, dataset::load_vectors(arguments[1], FieldKind::kDense));
  QV_TRY(auto queries, dataset::load_vectors(arguments[2], FieldKind::kDense, range));
  Matrix row_matrix{rows.shape.dim, std::move(rows.batch.values)};
  Matrix query_matrix{queries.shape.dim, std::move(queries.batch.values)};
  // Products with the query change by one number, the same for all rows. Distances stay the same if
  // the query moves, too.
  const std::vector<float> mean = mean_of(row_matrix);
  subtract(mean, row_matrix);
  if (metric == "euclid") subtract(mean, query_matrix);
  return Bench(std::move(row_matrix), std::move(query_matrix),
               metric == "dot" ? Similarity::kDot : Similarity::kNegL2Squared)
      .run();
}

}  // namespace
}  // namespace quiver

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: encoders_bench ROWS QUERIES dot|euclid FIRST:END\n");
    return 2;
  }
  const auto done = quiver::run(argv);
  if (!done) std::fprintf(stderr, "encoders_bench: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
