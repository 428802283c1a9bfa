// Searches that wait for a thread and could share a pass over the vectors. The first search that
// gets a thread takes others into its pass. On an idle machine no search waits.
//
// Searches whose rows are on a device gather while as many groups as it has lanes are there. A
// group of hundreds costs little more than one search, and more groups would only hold threads.
#pragma once

#include <exception>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/threads/executor.h"
#include "engine/model/planned_query.h"
#include "engine/query/query_source.h"

namespace quiver::engine {

/// Whoever waits for the answer to a search. The batcher calls `answer` or `fail`, one of them and
/// once, on any thread.
class SearchWaiter {
 public:
  virtual ~SearchWaiter() = default;
  /// From now on `cancel` ends the search: its own, or the one of a pass that it shares.
  virtual void use_cancel(std::shared_ptr<const Cancel> cancel) noexcept = 0;
  /// The search begins; again if it has to begin again.
  virtual void begin() noexcept {}
  virtual void answer(Result<std::vector<Record>> records) noexcept = 0;
  /// The search threw.
  virtual void fail(std::exception_ptr exception) noexcept = 0;
};

/// Thread-safe. A shared_ptr owns it, since its tasks may outlive whoever made it.
///
/// Invariants. `mutex_` guards the searches that wait. For each of them there is a task (or a call)
/// that has not taken a search yet, or a group at a device that posts such a task when it leaves.
/// Who takes a search finishes it or queues it again. All hold when memory runs out, too: list
/// nodes are moved without allocation.
class Batcher : public std::enable_shared_from_this<Batcher> {
 public:
  struct Search {
    std::shared_ptr<const QuerySource> source;
    std::shared_ptr<const PlannedQuery> planned;
    std::shared_ptr<const Cancel> cancel;  ///< the search's own
    std::unique_ptr<SearchWaiter> waiter;
  };

  /// Searches run on `compute`. Of each source, at most `n_lanes` groups are at devices at once.
  Batcher(Executor& compute, std::size_t n_lanes) : compute_(compute), n_lanes_(n_lanes) {}

  /// Queues a search whose cost says `can_share_pass`. If it throws (memory runs out), the search
  /// is not queued and its waiter is destroyed without an answer.
  void add(Search search) QV_EXCLUDES(mutex_);

 private:
  struct Waiting {
    Search search;
    bool is_alone = false;  ///< was in a pass that ended early, and joins no other
  };
  using Group = std::list<Waiting>;
  /// A search of a group and its answer.
  struct Answered {
    const Search* search;
    std::vector<Record> records;
  };
  using Answers = std::vector<Answered>;
  /// Searches that wait for one another.
  struct Kind {
    const QuerySource* source;
    bool is_for_device;
    auto operator<=>(const Kind&) const = default;
  };
  struct Queue {
    Group waiting;
    std::size_t n_at_device = 0;  ///< groups; only counted if the queue is for one
  };

  static Kind kind_of(const Waiting& waiting);
  static void gather(Group& group, Group& waiting);
  static std::optional<Answers> answer_together(const Group& group, bool is_for_device);
  static void deliver_one(Answered& answered) noexcept;
  void deliver(Answers answers);
  static void answer_each(const Group& group);
  void answer_some(Kind kind) QV_EXCLUDES(mutex_);
  /// Calls `answer_some` on another thread, or here if no task can be posted.
  void answer_some_later(Kind kind) QV_EXCLUDES(mutex_);
  /// Answers the searches of a group whose pass ended early.
  void answer_apart(Group group) QV_EXCLUDES(mutex_);
  /// Queues searches of one kind again and empties `group`; if memory runs out, `group` does not
  /// change.
  void wait_again(Group& group) QV_EXCLUDES(mutex_);
  /// Takes the search that has waited longest and those that can share its pass. Empty if other
  /// threads took them all, or enough groups are at devices.
  Group take(Kind kind) QV_EXCLUDES(mutex_);
  /// A group that `take` returned needs no device any more.
  void leave_device(Kind kind) QV_EXCLUDES(mutex_);

  Executor& compute_;
  const std::size_t n_lanes_;
  Mutex mutex_;
  std::map<Kind, Queue> queues_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::engine
