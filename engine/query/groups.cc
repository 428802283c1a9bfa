#include "engine/query/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "engine/query/plan.h"
#include "engine/segment/segment_rows.h"
#include "payload/filter/predicate.h"
#include "payload/json/document.h"
#include "payload/json/path.h"

namespace quiver::engine {
namespace {

constexpr std::uint64_t kAllHits = std::numeric_limits<std::uint64_t>::max();
/// Hits of the first search, as a multiple of those that the groups can hold.
constexpr std::uint64_t kFirstDepth = 2;
/// Each search takes so many times more hits than the one before.
constexpr std::uint64_t kLimitGrowth = 8;
/// A search without a filter takes at most so many hits, except the first one.
constexpr std::uint64_t kMaxUnfilteredHits = 4096;
/// Wanted points are sought without a filter if about one in so many points is wanted.
constexpr std::uint64_t kCommon = 32;
constexpr std::size_t kDocumentsBetweenChecks = 64;

std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > kAllHits / b ? kAllHits : a * b;
}

std::optional<GroupId> group_id_of(const payload::Value& value) {
  if (const auto* text = value.as_string()) return GroupId(*text);
  if (const auto number = value.as_unsigned()) return GroupId(*number);
  if (const auto* number = value.as_i64()) return GroupId(*number);
  return std::nullopt;
}

void add_distinct(std::vector<GroupId>& ids, GroupId id) {
  if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(std::move(id));
}

/// The distinct values that a point has under the key, in the order of its document.
std::vector<GroupId> group_ids_of(const payload::Value& document, const payload::JsonPath& key) {
  std::vector<GroupId> ids;
  payload::for_each_element(document, key, [&](const payload::Value& value) {
    if (auto id = group_id_of(value)) add_distinct(ids, *std::move(id));
  });
  return ids;
}

/// The same from the column of the key; nullopt if only the document tells.
std::optional<std::vector<GroupId>> group_ids_of(const payload::ColumnView& column,
                                                 std::uint32_t row) {
  using payload::IndexKind;
  if (column.facts[row].has(payload::RowFacts::kOther)) return std::nullopt;
  std::vector<GroupId> ids;
  switch (column.index->kind) {
    case IndexKind::kKeyword:
      for (const std::uint32_t term : column.row_terms(row)) {
        add_distinct(ids, std::string(column.term(term)));
      }
      return ids;
    case IndexKind::kInteger:
      for (const std::int64_t value : column.row_integers(row)) {
        add_distinct(ids, value < 0 ? GroupId(value) : GroupId(static_cast<std::uint64_t>(value)));
      }
      return ids;
    default:
      return std::nullopt;
  }
}

struct HitGroup {
  GroupId id;
  Candidates hits;  ///< best first
};

/// Group ids of the kinds that a condition can name.
struct WantedIds {
  std::vector<payload::MatchScalar> texts;
  std::vector<payload::MatchScalar> integers;
  std::vector<std::uint64_t> large;  ///< beyond i64

  void add(const GroupId& id) {
    if (const auto* text = std::get_if<std::string>(&id)) {
      texts.emplace_back(*text);
    } else if (const auto* number = std::get_if<std::int64_t>(&id)) {
      integers.emplace_back(*number);
    } else if (const auto value = std::get<std::uint64_t>(id); value > std::uint64_t{INT64_MAX}) {
      large.push_back(value);
    } else {
      integers.emplace_back(static_cast<std::int64_t>(value));
    }
  }
};

/// Pairs of a group's position and a hit.
using HitsOfGroups = std::set<std::pair<std::size_t, PointId>>;

class GroupSearch {
 public:
  GroupSearch(const SearchEnvironment& environment, const GroupsQuery& request,
              payload::JsonPath key, const RankQuery& rank)
      : environment_(environment),
        request_(request),
        rank_(rank),
        key_(std::move(key)),
        query_(request.query),
        n_hits_(saturating_multiply(request.query.limit, request.group_size)) {
    query_.offset = 0;
    for (auto& prefetch : query_.prefetch) deepen(prefetch);
  }

  Result<std::vector<HitGroup>> run() {
    QV_TRY(const bool is_complete, search_first());
    if (!is_complete) QV_TRY(search_on());
    if (n_searches_ > 1 && !is_listing_) sort_groups();
    return std::move(groups_);
  }

  /// The parts of a ranking that are the same in all searches.
  [[nodiscard]] Ranking ranking_of(Candidates candidates) const {
    Ranking ranking;
    ranking.candidates = std::move(candidates);
    ranking.metric = metric_;
    ranking.is_listing = is_listing_;
    return ranking;
  }

 private:
  void deepen(Query& prefetch) const {
    prefetch.limit = saturating_multiply(prefetch.limit, request_.group_size);
    for (auto& inner : prefetch.prefetch) deepen(inner);
  }

  [[nodiscard]] bool has_mmr() const { return mmr_of(query_.kind) != nullptr; }

  /// True if prefetches only choose points, so that searches for other points give the same
  /// scores. Fused scores and formulas depend on all that the prefetches find.
  [[nodiscard]] bool is_rescored() const {
    const auto& kind = query_.kind;
    return !query_.prefetch.empty() &&
           (std::holds_alternative<Nearest>(kind) || std::holds_alternative<Recommend>(kind) ||
            std::holds_alternative<Discover>(kind) || std::holds_alternative<Context>(kind));
  }

  static void deepen_to(std::uint64_t limit, Query& prefetch) {
    prefetch.limit = std::max(prefetch.limit, limit);
    for (auto& inner : prefetch.prefetch) deepen_to(limit, inner);
  }

  /// The first hits of the points that match `also`, too.
  Result<Ranking> rank(std::uint64_t limit, const std::optional<payload::Filter>& also) {
    Query query = query_;
    query.limit = limit;
    if (also) {
      for (auto& prefetch : query.prefetch) deepen_to(limit, prefetch);
      payload::Filter both = *also;
      if (query.filter) {
        both.must.emplace_back(std::make_shared<const payload::Filter>(*std::move(query.filter)));
      }
      query.filter = std::move(both);
    }
    if (rank_) {
      ++n_searches_;
      return rank_(query);
    }
    SearchEnvironment environment = environment_;
    if (n_searches_++ > 0) environment.queries = nullptr;  // one query is recorded once
    return Plan(query).rank(environment);
  }

  /// Groups by the first hits of all points. True if there is nothing more to be found.
  Result<bool> search_all(std::uint64_t limit) {
    QV_TRY(const auto ranking, rank(limit, std::nullopt));
    limit_ = limit;
    metric_ = ranking.metric;
    is_listing_ = ranking.is_listing;
    groups_.clear();
    numbers_.clear();
    QV_TRY(add_groups(ranking.candidates));
    has_all_groups_ = groups_.size() >= request_.query.limit;
    return !is_rescored() && ranking.candidates.size() < limit;
  }

  Result<bool> search_first() {
    if (has_mmr()) {
      QV_TRY(search_all(n_hits_));
      return true;
    }
    return search_all(query_.prefetch.empty() ? saturating_multiply(n_hits_, kFirstDepth)
                                              : kAllHits);
  }

  /// As `search_all`, among the points that match.
  Result<bool> search_among(const payload::Filter& filter) {
    filtered_limit_ = filtered_limit_ == 0 ? saturating_multiply(n_hits_, kFirstDepth)
                                           : saturating_multiply(filtered_limit_, kLimitGrowth);
    QV_TRY(const auto ranking, rank(filtered_limit_, filter));
    const bool is_exhausted = ranking.candidates.size() < filtered_limit_;
    if (has_all_groups_) {
      QV_TRY(refill(ranking.candidates));
      return is_exhausted;
    }
    QV_TRY(add_groups(ranking.candidates));
    has_all_groups_ = is_exhausted || groups_.size() >= request_.query.limit;
    return false;
  }

  Result<> search_on() {
    bool is_complete = false;
    while (!is_complete && (!has_all_groups_ || !is_full())) {
      const auto filter = has_all_groups_ ? among_incomplete() : beyond_found();
      const std::uint64_t deeper = saturating_multiply(limit_, kLimitGrowth);
      bool is_unfiltered = deeper <= kMaxUnfilteredHits;
      if (is_unfiltered) {
        QV_TRY(is_unfiltered, matches_often(filter));
      }
      QV_TRY(is_complete, is_unfiltered ? search_all(deeper) : search_among(filter));
    }
    return {};
  }

  [[nodiscard]] bool is_incomplete(const HitGroup& group) const {
    return group.hits.size() < request_.group_size;
  }
  [[nodiscard]] bool is_full() const {
    return std::none_of(groups_.begin(), groups_.end(),
                        [&](const HitGroup& group) { return is_incomplete(group); });
  }

  /// Matches every point with a value of which no group is found, and others.
  [[nodiscard]] payload::Filter beyond_found() const {
    WantedIds found;
    for (const auto& group : groups_) found.add(group.id);
    payload::Filter filter;
    filter.must.emplace_back(
        payload::FieldCondition{request_.group_by, payload::MatchExcept{found.texts}});
    filter.must.emplace_back(
        payload::FieldCondition{request_.group_by, payload::MatchExcept{found.integers}});
    return filter;
  }

  /// Matches the points of groups that are not full.
  [[nodiscard]] payload::Filter among_incomplete() const {
    WantedIds wanted;
    for (const auto& group : groups_) {
      if (is_incomplete(group)) wanted.add(group.id);
    }
    payload::Filter filter;
    const auto add = [&](payload::ValueCondition condition) {
      filter.should.emplace_back(payload::FieldCondition{request_.group_by, std::move(condition)});
    };
    if (!wanted.texts.empty()) add(payload::MatchAny{wanted.texts});
    if (!wanted.integers.empty()) add(payload::MatchAny{wanted.integers});
    for (const std::uint64_t value : wanted.large) {
      payload::Range range;
      range.gte = range.lte = value;
      add(range);
    }
    return filter;
  }

  [[nodiscard]] Result<bool> matches_often(const payload::Filter& filter) const {
    QV_TRY(const auto predicate, payload::compile(filter, environment_.config.indexes));
    std::uint64_t n_expected = 0;
    for (const Segment* segment : environment_.snapshot.segments()) {
      n_expected += predicate->estimate(SegmentRows(*segment->data)).expected;
    }
    return n_expected > environment_.snapshot.n_live() / kCommon;
  }

  Result<std::vector<GroupId>> group_ids(const Candidate& candidate) const {
    const SegmentData& data = *candidate.segment->data;
    if (const auto column = data.columns.find(request_.group_by); column != data.columns.end()) {
      if (auto ids = group_ids_of(column->second, candidate.row)) return *std::move(ids);
    }
    const auto text = data.documents[candidate.row];
    if (text.empty()) return std::vector<GroupId>();
    const auto document = payload::parse_json(text);
    if (document) return group_ids_of(*document, key_);
    return fail(Code::kDataLoss,
                fmt::format("the payload of point {} is no JSON", candidate.id.to_string()));
  }

  /// Calls `visit(candidate, id of a group)` for each candidate in order, for each of its groups,
  /// while `is_open()`.
  template <class Visit, class IsOpen>
  Result<> for_each_candidate(const Candidates& candidates, const Visit& visit,
                              const IsOpen& is_open) {
    for (std::size_t i = 0; i < candidates.size() && is_open(); ++i) {
      if (i % kDocumentsBetweenChecks == 0) QV_TRY(environment_.cancel.check());
      QV_TRY(auto ids, group_ids(candidates[i]));
      for (auto& id : ids) visit(candidates[i], std::move(id));
    }
    return {};
  }

  /// Adds the groups that are not found yet, with their hits.
  Result<> add_groups(const Candidates& candidates) {
    const std::size_t n_before = groups_.size();
    std::size_t n_full = 0;
    HitsOfGroups seen;
    const auto visit = [&](const Candidate& candidate, GroupId id) {
      auto found = numbers_.find(id);
      if (found == numbers_.end()) {
        if (groups_.size() >= request_.query.limit) return;
        found = numbers_.emplace(id, groups_.size()).first;
        groups_.push_back({std::move(id), {}});
      }
      const std::size_t number = found->second;
      if (number < n_before) return;
      n_full += fills(groups_[number].hits, number, candidate, seen) ? 1 : 0;
    };
    return for_each_candidate(candidates, visit, [&] {
      return groups_.size() < request_.query.limit || n_full < groups_.size() - n_before;
    });
  }

  /// Replaces the hits of groups that are not full by those of a ranking of all their points.
  Result<> refill(const Candidates& candidates) {
    std::map<std::size_t, Candidates> refilled;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (is_incomplete(groups_[i])) refilled[i];
    }
    std::size_t n_full = 0;
    HitsOfGroups seen;
    const auto visit = [&](const Candidate& candidate, const GroupId& id) {
      const auto number = numbers_.find(id);
      if (number == numbers_.end()) return;
      const auto group = refilled.find(number->second);
      if (group == refilled.end()) return;
      n_full += fills(group->second, group->first, candidate, seen) ? 1 : 0;
    };
    QV_TRY(for_each_candidate(candidates, visit, [&] { return n_full < refilled.size(); }));
    for (auto& [number, hits] : refilled) {
      if (hits.size() > groups_[number].hits.size()) groups_[number].hits = std::move(hits);
    }
    return {};
  }

  /// Adds a hit to a group that is not full. True if it is full now.
  /// `order_by` lists a point once for each of its values; a group holds it once.
  bool fills(Candidates& hits, std::size_t group, const Candidate& candidate,
             HitsOfGroups& seen) const {
    if (hits.size() >= request_.group_size) return false;
    if (is_listing_ && !seen.emplace(group, candidate.id).second) return false;
    hits.push_back(candidate);
    return hits.size() == request_.group_size;
  }

  /// By the best hit. Of groups with the same one, the first found stays first.
  void sort_groups() {
    std::stable_sort(groups_.begin(), groups_.end(), [](const HitGroup& a, const HitGroup& b) {
      const Candidate& best_a = a.hits.front();
      const Candidate& best_b = b.hits.front();
      if (best_a.score != best_b.score) return best_a.score > best_b.score;
      return best_a.id < best_b.id;
    });
  }

  const SearchEnvironment& environment_;
  const GroupsQuery& request_;
  const RankQuery& rank_;
  const payload::JsonPath key_;
  Query query_;                       ///< the request's, with prefetches that find more
  const std::uint64_t n_hits_;        ///< that all groups can hold
  std::uint64_t limit_ = 0;           ///< hits of the last search among all points
  std::uint64_t filtered_limit_ = 0;  ///< hits of the last search among some; 0: none yet
  std::uint64_t n_searches_ = 0;
  Metric metric_ = Metric::kDot;
  bool is_listing_ = false;
  bool has_all_groups_ = false;  ///< no search can find another group
  std::vector<HitGroup> groups_;
  std::map<GroupId, std::size_t> numbers_;  ///< positions in `groups_`
};

}  // namespace

Result<std::vector<PointGroup>> find_groups(const SearchEnvironment& environment,
                                            const GroupsQuery& request, const RankQuery& rank) {
  QV_TRY(auto key, payload::JsonPath::parse(request.group_by));
  GroupSearch search(environment, request, std::move(key), rank);
  QV_TRY(auto groups, search.run());
  Candidates hits;
  for (const auto& group : groups) hits.insert(hits.end(), group.hits.begin(), group.hits.end());
  Query shown = request.query;
  shown.offset = 0;
  shown.limit = hits.size();
  QV_TRY(auto records, records_of(environment, shown, search.ranking_of(std::move(hits))));
  std::vector<PointGroup> answer;
  auto next = records.begin();
  for (auto& group : groups) {
    const auto end = next + static_cast<std::ptrdiff_t>(group.hits.size());
    answer.push_back(
        {std::move(group.id), {std::move_iterator(next), std::move_iterator(end)}, {}});
    next = end;
  }
  return answer;
}

}  // namespace quiver::engine
