// Questions to a part of a collection that is on another node, as bytes: docs/formats/peer.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "engine/collection.h"
#include "engine/model/replication.h"

namespace quiver::cluster {

/// The form of the messages. Raised by hand whenever `describe_messages` changes: nodes of another
/// number are not asked.
inline constexpr std::uint32_t kPartCallsVersion = 3;
/// Everything that messages are made of, as text.
[[nodiscard]] std::string describe_messages();

enum class PartVerb : std::uint8_t {
  // Reads: any node that holds the part.
  kFind,
  kCountTerms,
  kRetrieve,
  kExplain,
  kScroll,
  kCount,
  kFacet,
  kAggregate,
  kInfo,
  kShards,
  kOptimizations,
  kSegmentIndexes,
  kSegmentAttributes,
  // Changes: the node that leads the part.
  kUpdate,
  kCreateIndex,
  kDropIndex,
  kSetConfig,
  kChangeReplicas,
};
[[nodiscard]] constexpr bool is_change(PartVerb verb) { return verb >= PartVerb::kUpdate; }
[[nodiscard]] constexpr bool shows_points(PartVerb verb) { return verb <= PartVerb::kAggregate; }

/// What an answer about a part must include at least.
struct PartEntries {
  std::string cluster_id = {};     ///< of the part, as a collection
  engine::EntryNumber number = 0;  ///< of the newest entry; 0: nothing is wanted

  bool operator==(const PartEntries&) const = default;
};

/// How the nodes of a part are found.
class PartRouter {
 public:
  virtual ~PartRouter() = default;
  /// The part if this node answers; nullptr: another one does. A read waits for `wanted_of` here.
  [[nodiscard]] virtual Result<std::shared_ptr<engine::Collection>> part_here(
      const std::string& part, PartVerb verb) = 0;
  /// Sends the message to the nodes that may answer, one after another. kUnavailable: none did
  /// anything.
  [[nodiscard]] virtual Result<std::string> ask_part(const std::string& part, PartVerb verb,
                                                     std::string_view message) = 0;
  /// What each read of the part that begins now must show.
  [[nodiscard]] virtual PartEntries wanted_of(const std::string& part) const = 0;
  /// Returns when this node knows what was committed before.
  virtual void look_again() = 0;
  /// How long it makes sense to ask again while no node answers.
  [[nodiscard]] virtual std::chrono::milliseconds patience_for(const std::string& part,
                                                               PartVerb verb) const = 0;
  /// nullptr: there is no such part any more.
  [[nodiscard]] virtual std::shared_ptr<const engine::CollectionConfig> config_of_part(
      const std::string& part) const = 0;
};

/// A part as a collection, wherever it is. While no node answers, it asks again, at most until the
/// deadline of the request. `router` and `executor`, which waits for changes, outlive it.
[[nodiscard]] std::shared_ptr<engine::Collection> make_part(std::string name, PartRouter& router,
                                                            Executor& executor);

/// What a message is about.
struct PartQuestion {
  std::uint32_t version = 0;
  PartVerb verb{};
  std::string part;
  std::int64_t timeout_ms = -1;  ///< from now; < 0: none
  PartEntries wanted = {};       ///< of reads
};
/// kUnavailable if the message is of another version, kInvalidArgument if it is none.
[[nodiscard]] Result<PartQuestion> read_question(std::string_view message);
/// Answers a message of `make_part`'s collections. kInvalidArgument if it is none; errors of the
/// collection are in the answer.
[[nodiscard]] Result<std::string> answer_question(engine::Collection& part,
                                                  std::string_view message);

/// False: it is an error.
[[nodiscard]] bool is_good(std::string_view answer);

// Questions that are no collection's.

/// Puts `config` in place of `base`, both as JSON.
[[nodiscard]] std::string config_question(const std::string& part, const std::string& base,
                                          const std::string& config);
struct ConfigChange {
  std::string base, config;
};
[[nodiscard]] Result<ConfigChange> read_config_question(std::string_view message);
/// `change`: the numbers of a ReplicaChange.
struct NumberedChange {
  std::uint8_t kind = 0;
  std::uint64_t from = 0, to = 0;
};
[[nodiscard]] std::string replica_question(const std::string& part, const NumberedChange& change);
[[nodiscard]] Result<NumberedChange> read_replica_question(std::string_view message);
/// The answer to a question without a value, and the other way round.
[[nodiscard]] std::string encode_outcome(const Result<>& outcome);
[[nodiscard]] Result<> decode_outcome(std::string_view answer);

}  // namespace quiver::cluster
