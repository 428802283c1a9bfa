#include "engine/query/report.h"

#include <array>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "engine/model/query_report.h"

namespace quiver::engine {
namespace {

class ReportedStage final : public PlanStage {
 public:
  ReportedStage(const Query& query, std::uint64_t limit, bool is_root, StagePtr stage)
      : query_(query), limit_(limit), is_root_(is_root), stage_(std::move(stage)) {}

  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& environment) const override {
    if (environment.report == nullptr) return stage_->run(environment);
    StageReport report;
    report.kind = name_of(query_.kind);
    report.using_field = query_.using_field;
    report.limit = limit_;
    SearchEnvironment inner = environment;
    inner.report = &report;
    const Stopwatch clock;
    auto ranking = stage_->run(inner);
    report.us = clock.seconds() * 1e6;
    if (ranking) report.n_hits = ranking->candidates.size();
    if (is_root_) {
      *environment.report = std::move(report);
    } else {
      environment.report->prefetch.push_back(std::move(report));
    }
    return ranking;
  }

 private:
  const Query& query_;
  const std::uint64_t limit_;
  const bool is_root_;
  const StagePtr stage_;
};

}  // namespace

std::string_view name_of(const QueryKind& kind) {
  constexpr std::array<std::string_view, 13> kNames{
      "list",     "nearest", "rrf",      "dbsf",    "order_by", "sample", "recommend",
      "discover", "context", "feedback", "formula", "text",     "linear"};
  static_assert(kNames.size() == std::variant_size_v<QueryKind>);
  return kNames[kind.index()];
}

StagePtr reported(const Query& query, std::uint64_t limit, bool is_root, StagePtr stage) {
  return std::make_unique<ReportedStage>(query, limit, is_root, std::move(stage));
}

}  // namespace quiver::engine
