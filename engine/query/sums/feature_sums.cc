#include "engine/query/sums/feature_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "engine/model/row.h"
#include "engine/segment/segment_filter.h"
#include "payload/filter/predicate.h"

namespace quiver::engine {
namespace {

/// Rows whose features are in memory together: their product with the frequencies fills the cache.
constexpr std::size_t kRowsPerBlock = 32;
/// Rows of a piece of work; each piece adds its sums under a lock.
constexpr std::size_t kRowsPerPiece = 1024;

struct Piece {
  const Segment* segment = nullptr;
  std::vector<std::uint32_t> rows;
};

/// The rows to be summed.
Result<std::vector<Piece>> find_pieces(const SearchEnvironment& environment, std::size_t field,
                                       const std::optional<payload::Filter>& filter) {
  std::shared_ptr<const payload::Predicate> predicate;
  if (filter) {
    QV_TRY(predicate, payload::compile(*filter, environment.config.indexes));
  }
  std::vector<Piece> pieces;
  for (const Segment* segment : environment.snapshot.segments()) {
    if (segment->data->fields[field].n_present == 0) continue;
    QV_TRY(const auto allowed,
           SegmentFilter::make(*segment, field, predicate.get(), environment.cancel));
    Piece piece{segment, {}};
    allowed.view().for_each(0, [&](std::uint32_t row) {
      piece.rows.push_back(row);
      if (piece.rows.size() == kRowsPerPiece) {
        pieces.push_back(std::exchange(piece, Piece{segment, {}}));
      }
    });
    if (!piece.rows.empty()) pieces.push_back(std::move(piece));
  }
  return pieces;
}

class Summing {
 public:
  Summing(const SearchEnvironment& environment, std::size_t field, const PrivateFeatures& features)
      : environment_(environment), field_(field), map_(features) {
    total_.sums.resize(map_.n_features());
  }

  void add(const Piece& piece) QV_EXCLUDES(mutex_) {
    FeatureSums sums{std::vector<std::int64_t>(map_.n_features()), piece.rows.size()};
    auto outcome = sum_piece(piece, sums.sums);
    MutexLock lock(mutex_);
    if (!outcome && status_) status_ = std::move(outcome);
    for (std::size_t i = 0; i < sums.sums.size(); ++i) total_.sums[i] += sums.sums[i];
    total_.n_points += sums.n_points;
  }
  [[nodiscard]] Result<FeatureSums> take() QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    QV_TRY(std::move(status_));
    return std::move(total_);
  }

 private:
  Result<> sum_piece(const Piece& piece, std::span<std::int64_t> sums) const;

  const SearchEnvironment& environment_;
  const std::size_t field_;
  const FeatureMap map_;
  Mutex mutex_;
  Result<> status_ QV_GUARDED_BY(mutex_);
  FeatureSums total_ QV_GUARDED_BY(mutex_);
};

Result<> Summing::sum_piece(const Piece& piece, std::span<std::int64_t> sums) const {
  const FieldSchema& schema = environment_.config.fields[field_];
  std::vector<float> vectors;
  std::vector<float> features(kRowsPerBlock * map_.n_features());
  for (std::size_t first = 0; first < piece.rows.size(); first += kRowsPerBlock) {
    QV_TRY(environment_.cancel.check());
    const std::size_t n = std::min(kRowsPerBlock, piece.rows.size() - first);
    vectors.clear();
    for (std::size_t i = first; i < first + n; ++i) {
      const auto value = to_value(schema, piece.segment->vector(field_, piece.rows[i]));
      const auto& vector = std::get<DenseVector>(value);
      vectors.insert(vectors.end(), vector.begin(), vector.end());
    }
    map_.apply(vectors.data(), n, features.data());
    for (std::size_t i = 0; i < n; ++i) {
      add_on_grid(std::span(features).subspan(i * map_.n_features(), map_.n_features()), sums);
    }
  }
  return {};
}

}  // namespace

Result<PrivateFeatures> check_features(const CollectionConfig& config,
                                       const PrivateSumRequest& request) {
  if (config.sharding == ShardingMethod::kCustom) {
    return fail(Code::kUnimplemented,
                "a collection with shard keys has no private sums: an id may be there twice");
  }
  QV_TRY(const std::size_t field, config.field(request.using_field));
  const FieldSchema& schema = config.fields[field];
  if (schema.kind != FieldKind::kDense || schema.metric == Metric::kManhattan) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{} is {}{}; private sums are of dense vectors, compared by Dot, Cosine "
                    "or Euclid",
                    quoted_name(schema), with_article(schema.kind),
                    schema.kind == FieldKind::kDense ? " under Manhattan" : ""));
  }
  PrivateFeatures features = request.features;
  features.dim = schema.dim;
  features.is_normalised = schema.metric != Metric::kEuclid;
  if (features.kernel == PrivateKernel::kCosine) {
    if (features.is_normalised) {
      features.n_features = schema.dim;
      return features;
    }
    return fail(Code::kInvalidArgument,
                fmt::format("{} is compared by Euclid, whose lengths count; the kernel `cosine` is "
                            "for Dot and Cosine",
                            quoted_name(schema)));
  }
  if (std::uint64_t{features.n_features} / 2 * schema.dim > kMaxFrequencyValues) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{} features of {} dimensions are too many: at most {}", features.n_features,
                    schema.dim, 2 * (kMaxFrequencyValues / schema.dim)));
  }
  return features;
}

Result<FeatureSums> sum_features(const SearchEnvironment& environment,
                                 const PrivateSumRequest& request,
                                 const PrivateFeatures& features) {
  QV_TRY(const PrivateFeatures present, check_features(environment.config, request));
  if (present != features) {
    return fail(Code::kUnavailable, "the field was replaced meanwhile: ask again");
  }
  QV_TRY(const std::size_t field, environment.config.field(request.using_field));
  QV_TRY(const auto pieces, find_pieces(environment, field, request.filter));
  Summing summing(environment, field, features);
  const auto add = [&](std::size_t i) { summing.add(pieces[i]); };
  if (environment.executor != nullptr) {
    environment.executor->parallel_for(pieces.size(), add);
  } else {
    for (std::size_t i = 0; i < pieces.size(); ++i) add(i);
  }
  return summing.take();
}

}  // namespace quiver::engine
