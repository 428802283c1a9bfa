// A real collection beside its model: applies the same requests to both and compares answers.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/database.h"
#include "tests/model/collection_model.h"

namespace quiver::model {

inline constexpr const char* kCollection = "points";

[[nodiscard]] engine::DatabaseOptions small_options(const std::string& directory);

/// Sends one update and waits for it.
[[nodiscard]] Result<std::vector<engine::UpdateResult>> update(engine::Collection& collection,
                                                               Request request,
                                                               const engine::UpdateTerms& terms);

class Runner {
 public:
  /// A new collection that is not open yet.
  Runner(engine::DatabaseOptions options, engine::CollectionConfig config);
  ~Runner();

  [[nodiscard]] CollectionModel& model() { return model_; }
  [[nodiscard]] engine::Collection& collection() { return *collection_; }
  [[nodiscard]] const std::string& directory() const { return options_.data_dir; }

  /// Takes effect at the next opening.
  void set_options(engine::DatabaseOptions options) { options_ = std::move(options); }
  void open();
  void close();
  /// Does one of: a request, several at once, a wrong one, an index created or dropped, a query.
  void random_step(Random& random);
  /// Compares every point, value by value, and the counts.
  void check_everything();
  /// Answers to fixed queries, with every bit of them.
  [[nodiscard]] std::vector<std::string> probe(std::uint64_t seed) const;
  /// Waits until background work is idle, and checks its promises.
  void check_rest();

  /// Reads continuously from another thread until stopped.
  void start_reader(std::uint64_t seed);
  void stop_reader();

 private:
  void request_step(Random& random);
  void burst_step(Random& random);
  /// A request that one shard has taken.
  struct TakenRequest {
    std::uint32_t shard = 0;
    Seq position{};  ///< of its last change
    Request request;
  };
  void writers_step(Random& random);
  std::vector<TakenRequest> write_some(std::uint64_t seed);
  void durable_step(Random& random);
  void invalid_step(Random& random);
  void index_step(Random& random);
  void fields_step(Random& random);
  void bulk_step(Random& random);
  void invalid_bulk_step(Random& random);
  /// Changes the indexes of fields.
  void index_config_step(Random& random);
  void query_step(Random& random);
  void text_step(Random& random);
  /// Compares the answers of a batch with those of single queries.
  void query_batch_step(Random& random);
  void scroll_step(Random& random);
  void order_step(Random& random);
  void retrieve_step(Random& random);
  /// Checks that `got` is the model's answer; for an approximate query, that it is a possible one.
  void expect_answer(const engine::Query& query, const std::vector<engine::Record>& got) const;
  void expect_record(const engine::Record& record, const engine::Row& row) const;
  void read_until_stopped(std::uint64_t seed) const;

  engine::DatabaseOptions options_;
  CollectionModel model_;
  std::unique_ptr<engine::Database> database_;
  std::shared_ptr<engine::Collection> collection_;
  std::string cursor_;  ///< cursor of the last bulk chunk
  std::thread reader_;
  std::atomic<bool> stop_reader_ = false;
};

/// Request `number` of a series that is the same in every process. Some requests are one upsert of
/// many points, which `send` loads as a bulk chunk with its number as the cursor.
[[nodiscard]] Request numbered_request(const engine::CollectionConfig& config, std::uint64_t seed,
                                       std::uint32_t number);

[[nodiscard]] bool is_bulk(std::uint32_t number);
/// Sends the request and waits for the answer.
Result<> send(engine::Collection& collection, const engine::CollectionConfig& config,
              std::uint64_t seed, std::uint32_t number);

/// Progress of an interrupted series.
struct Sent {
  std::uint32_t n_sent = 0;
  std::vector<std::uint32_t> acknowledged;
};

/// Checks after an interruption that each shard holds a prefix of the series: all acknowledged
/// requests, none in part, none that was not sent. Bulk chunks are in all shards or in none, as the
/// cursor says. Updates the model to that state.
void expect_prefix(Runner& runner, std::uint64_t seed, const Sent& sent);

/// Starts a child process that sends a series, kills it, then calls `expect_prefix`. The runner is
/// open before and after.
void crash_and_recover(Runner& runner, std::uint64_t seed, Random& random);
/// The child's part. Does not return.
[[noreturn]] void run_crash_child(const std::string& directory, std::uint64_t seed);

}  // namespace quiver::model
