// Searches that wait for a thread and could share a pass over the vectors: whichever gets a thread
// first answers for some of the others, too. On an idle machine nothing waits and nothing changes.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/threads/executor.h"
#include "engine/collection.h"
#include "service/http/exchange.h"

namespace quiver::service {

/// Thread-safe, and owned by a shared_ptr: tasks may outlive the server that posted them. Guarded
/// by `mutex_`: what waits. For each that waits there is a task (or a call) that has yet to take
/// somebody, and each that was taken is finished by who took it or waits again, also when memory
/// runs out: nodes of lists change hands without allocation.
class SharedPasses : public std::enable_shared_from_this<SharedPasses> {
 public:
  /// Writes the answer to a search.
  using Write = std::function<void(Exchange&, const std::vector<engine::Record>&)>;

  struct Search {
    std::shared_ptr<engine::Collection> collection;
    engine::Query query;
    std::shared_ptr<const Cancel> cancel;  ///< its own
    Write write;
  };

  explicit SharedPasses(Executor& compute) : compute_(compute) {}

  /// `search.query` is one that `Collection::shares_passes` is true for. The exchange is finished
  /// later.
  Answer add(Exchange& x, Search search) QV_EXCLUDES(mutex_);

 private:
  struct Waiting {
    Exchange* x = nullptr;
    Search search;
    bool is_alone = false;  ///< it was in a pass that ended early, and joins no other
  };
  using Group = std::list<Waiting>;
  using Answers = std::vector<std::vector<engine::Record>>;

  static std::optional<Answers> answer_together(const Group& group);
  static void write(const Group& group, const Answers& answers);
  static void answer_each(const Group& group);
  void answer_some(const engine::Collection* collection) QV_EXCLUDES(mutex_);
  /// `answer_some` on another thread, or here if none can be told to.
  void answer_some_later(const engine::Collection* collection) QV_EXCLUDES(mutex_);
  /// Answers a group whose pass ended early.
  void part(Group group) QV_EXCLUDES(mutex_);
  /// Of one collection; empty afterwards, or as it was if there is no memory.
  void wait_again(Group& group) QV_EXCLUDES(mutex_);
  /// The search that has waited longest and those that go with it; empty if others took them all.
  Group take(const engine::Collection* collection) QV_EXCLUDES(mutex_);

  Executor& compute_;
  Mutex mutex_;
  std::unordered_map<const engine::Collection*, Group> waiting_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::service
