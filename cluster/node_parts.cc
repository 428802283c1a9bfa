// Spread collections: who answers for a part, and how parts keep one configuration.
// docs/decisions/0076.
#include <fmt/format.h>

#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "cluster/first_answer.h"
#include "cluster/node_impl.h"
#include "cluster/parts/part_calls.h"
#include "engine/spread/spread_collection.h"

namespace quiver::cluster {
namespace {

constexpr std::chrono::milliseconds kPartPatience{5000};
constexpr std::chrono::milliseconds kPatienceForGone{300};
constexpr std::chrono::milliseconds kFollowAgain{100};
/// A node that is behind for longer lets another one answer.
constexpr std::chrono::milliseconds kPatienceForWanted{1000};
/// Longer than one request asks its nodes.
constexpr std::chrono::seconds kWantedFor{60};

using Clock = std::chrono::steady_clock;

/// `first` as the configuration of a part that is configured like `own` now.
engine::CollectionConfig followed(const engine::CollectionConfig& first,
                                  const engine::CollectionConfig& own) {
  engine::CollectionConfig next = first;
  next.cluster_id = own.cluster_id;
  next.created_at_ms = own.created_at_ms;
  next.part = own.part;
  next.recall = own.recall;
  return next;
}

/// Asks again while nobody is known to lead, or does not lead any more.
template <class Ask>
std::invoke_result_t<Ask> patiently(const Ask& ask) {
  const Deadline patience = Deadline::after(kPartPatience);
  while (true) {
    auto answer = ask();
    const bool may_pass = !answer && answer.error().code() == Code::kUnavailable;
    if (!may_pass || patience.has_passed()) return answer;
    std::this_thread::sleep_for(kFollowAgain);
  }
}

/// True if the answer is an error that another node may not have.
bool is_of_node(const std::string& answer) {
  if (is_good(answer)) return false;
  const auto outcome = decode_outcome(answer);
  const Code code = outcome ? Code::kUnknown : outcome.error().code();
  return code == Code::kUnavailable || code == Code::kResourceExhausted ||
         code == Code::kInternal || code == Code::kUnknown || code == Code::kDataLoss;
}

tl::unexpected<Error> no_such_part(const std::string& part) {
  return fail(Code::kNotFound, Subject::kCollection, part,
              fmt::format("collection `{}` does not exist", part));
}

}  // namespace

/// The same object as long as the collection is the same: limits of rates are kept by it.
std::shared_ptr<engine::Collection> NodeImpl::spread_collection(const std::string& name_or_alias) {
  const auto state = state_.load();
  if (state == nullptr || state->placed.empty()) return nullptr;
  const std::string name = state->resolve(name_or_alias);
  std::vector<std::string> ids;
  for (std::uint32_t i = 0; i < state->n_parts(name); ++i) {
    ids.push_back(state->collections.at(part_name(name, i)).config.cluster_id);
  }
  MutexLock lock(mutex_);
  if (ids.empty()) {
    spread_.erase(name);
    return nullptr;
  }
  Spread& known = spread_[name];
  if (known.ids == ids) return known.collection;
  std::vector<std::shared_ptr<engine::Collection>> parts;
  for (std::uint32_t i = 0; i < ids.size(); ++i) {
    parts.push_back(make_part(part_name(name, i), *this, part_executor_));
  }
  known = {std::move(ids),
           std::make_shared<engine::SpreadCollection>(std::move(parts), part_executor_)};
  return known.collection;
}

Result<engine::SnapshotScope> NodeImpl::scope_here(const engine::SnapshotScope& scope) const {
  const auto state = state_.load();
  const std::uint32_t n_parts = state == nullptr ? 0 : state->n_parts(scope.collection);
  if (n_parts == 0) return scope;
  const std::string name = state->resolve(scope.collection);
  if (!scope.shard) {
    return fail(Code::kUnimplemented,
                fmt::format("the shards of collection `{0}` have nodes of their own, and each has "
                            "its snapshots: /collections/{0}/shards/N/snapshots, N from 0 to {1}",
                            name, n_parts - 1));
  }
  if (*scope.shard < n_parts) {
    return engine::SnapshotScope{part_name(name, *scope.shard), std::nullopt};
  }
  return fail(Code::kNotFound, fmt::format("shard {} of collection `{}` does not exist: it has {}",
                                           *scope.shard, name, n_parts));
}

// Who answers.

Result<std::shared_ptr<engine::Collection>> NodeImpl::held_part(const std::string& part,
                                                                PartVerb verb) {
  if (is_change(verb)) {
    QV_TRY(const auto leader, leader_of(part));
    if (leader) return std::shared_ptr<engine::Collection>();
    return local_->collection(part);
  }
  const auto there = holders(part);
  if (!there) return no_such_part(part);
  if (!there->is_here) return std::shared_ptr<engine::Collection>();
  return local_->collection(part);
}

Result<std::shared_ptr<engine::Collection>> NodeImpl::part_here(const std::string& part,
                                                                PartVerb verb) {
  QV_TRY(auto here, held_part(part, verb));
  if (here == nullptr || !shows_points(verb)) return here;
  auto waited = wait_for_wanted(wanted_of(part));
  if (waited) return here;
  const auto there = holders(part);
  const bool has_others = there && !there->others.empty();
  if (has_others) return std::shared_ptr<engine::Collection>();
  return fail(std::move(waited).error());
}

PartEntries NodeImpl::wanted_of(const std::string& part) const {
  const auto state = state_.load();
  const auto* record = state == nullptr ? nullptr : state->find(part);
  if (record == nullptr) return {};
  MutexLock lock(mutex_);
  const auto found = wanted_.find(record->second.config.cluster_id);
  const bool is_wanted = found != wanted_.end() && found->second.until > Clock::now();
  return is_wanted ? PartEntries{found->first, found->second.number} : PartEntries();
}

/// Reads of parts that begin now show what `state` says, whichever of their nodes they ask.
void NodeImpl::want_from_now(const ClusterState& state, const std::string& name) {
  const auto now = Clock::now();
  MutexLock lock(mutex_);
  std::erase_if(wanted_, [&](const auto& item) { return item.second.until <= now; });
  for (std::uint32_t i = 0; i < state.n_parts(name); ++i) {
    const std::string& id = state.collections.at(part_name(name, i)).config.cluster_id;
    const auto tail = state.tails.find({id, 0});
    if (tail == state.tails.end()) continue;
    Wanted& wanted = wanted_[id];
    wanted = {std::max(wanted.number, tail->second.number), now + kWantedFor};
  }
}

Result<> NodeImpl::wait_for_wanted(const PartEntries& wanted) {
  if (wanted.number == 0) return {};
  const engine::ShardName shard{wanted.cluster_id, 0};
  if (replicas_.applied(shard) >= wanted.number) return {};
  const auto is_known = [&] {
    const auto state = state_.load();
    return state != nullptr && state->name_of(wanted.cluster_id) != nullptr;
  };
  if (!is_known()) QV_TRY(refresh());
  if (!is_known()) {
    return fail(Code::kUnavailable,
                fmt::format("node {} does not know collection {}", self_, wanted.cluster_id));
  }
  return wait_until_applied(shard, wanted.number, Clock::now() + kPatienceForWanted);
}

Result<std::string> NodeImpl::ask_part(const std::string& part, PartVerb verb,
                                       std::string_view message) {
  if (is_change(verb)) {
    QV_TRY(const auto leader, leader_of(part));
    if (!leader) return fail(Code::kUnavailable, "this node is about to lead");
    auto answer = peers_.call(leader->peer, kPartCall, message);
    if (answer || answer.error().code() != Code::kDeadlineExceeded) return answer;
    return fail(answer.error().with_context("the operation may be sent again"));
  }
  const auto there = holders(part);
  if (!there) return no_such_part(part);
  const auto answers = std::make_shared<FirstAnswer<std::string>>();
  const auto ask = [this, answers, message = std::string(message)](const NodeAddress& node) {
    ReadTimer timer(*this, node);
    auto answer = peers_.call(node.peer, kPartCall, message);
    timer.end(answer && is_good(*answer));
    if (!answer) return answers->miss(answer.error().message());
    return is_of_node(*answer) ? answers->spare(*std::move(answer))
                               : answers->keep(*std::move(answer));
  };
  (void)ask_holders(*there, ask);
  if (auto answer = answers->take()) return *std::move(answer);
  return fail(Code::kUnavailable, answers->trouble("no node has it"));
}

/// Nodes that are gone do not come back within seconds.
std::chrono::milliseconds NodeImpl::patience_for(const std::string& part, PartVerb verb) const {
  const auto state = state_.load();
  const auto* record = state == nullptr ? nullptr : state->find(part);
  if (record == nullptr || !state->is_placed(record->second.config.cluster_id)) {
    return kPartPatience;
  }
  const MemberSet& set = *state->group_of(record->second.config.cluster_id).set;
  std::uint32_t n_alive = 0;
  for (const auto& [node, member] : set.members) {
    const bool counts = is_change(verb) ? set.is_active(node) : set.answers_reads(node);
    if (counts && state->alive.contains(node)) ++n_alive;
  }
  return n_alive >= (is_change(verb) ? set.quorum() : 1) ? kPartPatience : kPatienceForGone;
}

void NodeImpl::look_again() { (void)refresh(); }

std::shared_ptr<const engine::CollectionConfig> NodeImpl::config_of_part(
    const std::string& part) const {
  const auto state = state_.load();
  if (state == nullptr) return nullptr;
  const auto record = state->collections.find(part);
  if (record == state->collections.end()) return nullptr;
  return {state, &record->second.config};
}

Result<std::string> NodeImpl::answer_part(std::string_view message) {
  QV_TRY(const auto question, read_question(message));
  switch (question.verb) {
    case PartVerb::kSetConfig: {
      QV_TRY(const auto change, read_config_question(message));
      return encode_outcome(set_part_config(question.part, change.base, change.config));
    }
    case PartVerb::kChangeReplicas: {
      QV_TRY(const auto change, read_replica_question(message));
      return encode_outcome(change_replicas(
          question.part, {ReplicaChange::Kind{change.kind}, change.from, change.to}));
    }
    default:
      break;
  }
  QV_TRY(wait_for_wanted(question.wanted));
  QV_TRY(const auto part, held_part(question.part, question.verb));
  if (part != nullptr) return answer_question(*part, message);
  return fail(Code::kUnavailable, fmt::format("shard {} is not on node {}, or it does not lead it",
                                              question.part, self_));
}

Result<> NodeImpl::change_part_replicas(const std::string& part, const ReplicaChange& change) {
  const NumberedChange numbered{static_cast<std::uint8_t>(change.kind), change.from, change.to};
  const std::string question = replica_question(part, numbered);
  return patiently([&]() -> Result<> {
    QV_TRY(const auto leader, leader_of(part));
    if (!leader) return change_replicas(part, change);
    QV_TRY(const auto answer, ask_part(part, PartVerb::kChangeReplicas, question));
    return decode_outcome(answer);
  });
}

// One configuration.

Result<> NodeImpl::set_part_config(const std::string& part, const std::string& base,
                                   const std::string& config) {
  QV_TRY(auto next, engine::parse_config(config));
  return local_->update_config(part, [&](engine::CollectionConfig& now) -> Result<> {
    const std::string found = engine::to_json(now);
    if (found != base && found != config) {
      return fail(Code::kAborted, "the collection was changed meanwhile, try again");
    }
    now = std::move(next);
    return {};
  });
}

Result<> NodeImpl::send_part_config(const std::string& part, const engine::CollectionConfig& base,
                                    const engine::CollectionConfig& config) {
  const std::string from = engine::to_json(base), to = engine::to_json(config);
  const std::string question = config_question(part, from, to);
  return patiently([&]() -> Result<> {
    QV_TRY(const auto leader, leader_of(part));
    if (!leader) return set_part_config(part, from, to);
    QV_TRY(const auto answer, ask_part(part, PartVerb::kSetConfig, question));
    return decode_outcome(answer);
  });
}

/// The first part's configuration is that of the collection. Once it is changed, the others follow,
/// now or when their leaders look at the ledger.
Result<> NodeImpl::change_spread_config(
    const std::string& name_or_alias,
    const std::function<Result<>(engine::CollectionConfig&)>& change) {
  QV_TRY(auto state, fetch_state());
  const std::string name = state.resolve(name_or_alias);
  const std::uint32_t n_parts = state.n_parts(name);
  if (n_parts == 0) return no_such_part(name);
  const auto& base = state.collections.at(part_name(name, 0)).config;
  engine::CollectionConfig next = base;
  next.shard_number = n_parts;
  QV_TRY(change(next));
  next.shard_number = base.shard_number;
  if (next.tenant_quota) {
    return fail(
        Code::kUnimplemented,
        fmt::format("the shards of collection `{}` have nodes of their own: the points of a "
                    "tenant are not counted over them",
                    name));
  }
  if (const auto sent = send_part_config(part_name(name, 0), base, next); !sent) {
    const bool was_late = sent.error().code() == Code::kAborted;
    return fail(was_late ? Error(Code::kUnavailable, sent.error().message()) : sent.error());
  }
  Result<> behind;
  const Deadline patience = Deadline::after(2 * kPartPatience);
  while (!patience.has_passed()) {
    QV_TRY(state, fetch_state());
    if (state.n_parts(name) == 0) return no_such_part(name);
    const auto& first = state.collections.at(part_name(name, 0)).config;
    behind = {};
    for (std::uint32_t i = 1; i < n_parts; ++i) {
      const auto& own = state.collections.at(part_name(name, i)).config;
      const auto wanted = followed(first, own);
      if (wanted == own) continue;
      behind = send_part_config(part_name(name, i), own, wanted);
      if (!behind) break;
    }
    if (behind) return {};
    std::this_thread::sleep_for(kFollowAgain);
  }
  return fail(Code::kUnavailable,
              fmt::format("the change is made, but a shard does not follow it yet: {}",
                          behind.error().message()));
}

/// Of the leader of a part, at each look: also of the first one, whose name says which it is.
void NodeImpl::follow_first_part(const ClusterState& state, const std::string& id) {
  const std::string* name = state.name_of(id);
  const auto part = name == nullptr ? std::nullopt : parse_part_name(*name);
  if (!part) return;
  const auto first = state.collections.find(part_name(part->collection, 0));
  if (first == state.collections.end()) return;
  const auto& own = state.collections.at(*name).config;
  auto wanted = followed(first->second.config, own);
  wanted.part = state.part_of(*name);  // older ones do not have it
  if (wanted == own) return;
  {
    MutexLock lock(mutex_);
    if (!following_.insert(*name).second) return;  // it is on its way
  }
  part_executor_.post(Priority::kHigh, [this, name = *name, from = engine::to_json(own),
                                        to = engine::to_json(wanted)] {
    const auto set = guarded([&] { return set_part_config(name, from, to); });
    if (!set) log_info("shard {} does not follow yet: {}", name, set.error().message());
    MutexLock lock(mutex_);
    following_.erase(name);
  });
}

std::vector<PlacementView> NodeImpl::part_placements(std::string_view collection) const {
  std::vector<PlacementView> views;
  const auto state = state_.load();
  const std::uint32_t n_parts = state == nullptr ? 0 : state->n_parts(collection);
  if (n_parts == 0) return views;
  const auto departs = departing(*state);
  const std::string name = state->resolve(collection);
  for (std::uint32_t i = 0; i < n_parts; ++i) {
    views.push_back(view_of(*state, part_name(name, i), departs));
  }
  return views;
}

}  // namespace quiver::cluster
