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

/// Waits for one update.
[[nodiscard]] Result<std::vector<engine::UpdateResult>> update(engine::Collection& collection,
                                                               Request request, engine::Ack ack);

class Runner {
 public:
  /// A new collection, not open yet.
  Runner(engine::DatabaseOptions options, engine::CollectionConfig config);
  ~Runner();

  [[nodiscard]] CollectionModel& model() { return model_; }
  [[nodiscard]] engine::Collection& collection() { return *collection_; }
  [[nodiscard]] const std::string& directory() const { return options_.data_dir; }

  /// For the next opening.
  void set_options(engine::DatabaseOptions options) { options_ = std::move(options); }
  void open();
  void close();
  /// One of: a request, several at once, a wrong one, an index created or dropped, a question.
  void random_step(Random& random);
  /// Every point, value by value, and the counts.
  void check_everything();
  /// Answers to fixed questions, with every bit of them.
  [[nodiscard]] std::vector<std::string> probe(std::uint64_t seed) const;
  /// Waits until background work has come to rest, and checks what it promises.
  void check_rest();

  /// Reads without pause from another thread until stopped.
  void start_reader(std::uint64_t seed);
  void stop_reader();

 private:
  void request_step(Random& random);
  void burst_step(Random& random);
  void durable_step(Random& random);
  void invalid_step(Random& random);
  void index_step(Random& random);
  void bulk_step(Random& random);
  void invalid_bulk_step(Random& random);
  /// Fields are indexed otherwise from here on.
  void index_config_step(Random& random);
  void query_step(Random& random);
  /// The same answers as one by one.
  void query_batch_step(Random& random);
  void scroll_step(Random& random);
  void order_step(Random& random);
  void retrieve_step(Random& random);
  /// The same answer as the model's; of an approximate query: one that could be.
  void expect_answer(const engine::Query& query, const std::vector<engine::Record>& got) const;
  void expect_record(const engine::Record& record, const engine::Row& row) const;
  void read_until_stopped(std::uint64_t seed) const;

  engine::DatabaseOptions options_;
  CollectionModel model_;
  std::unique_ptr<engine::Database> database_;
  std::shared_ptr<engine::Collection> collection_;
  std::string cursor_;  ///< of the last bulk chunk
  std::thread reader_;
  std::atomic<bool> stop_reader_ = false;
};

/// Request `number` of a series that is the same in every process. Now and then one upsert of many
/// points, which `send` loads as a bulk chunk with its number for a cursor.
[[nodiscard]] Request numbered_request(const engine::CollectionConfig& config, std::uint64_t seed,
                                       std::uint32_t number);

[[nodiscard]] bool is_bulk(std::uint32_t number);
/// Sends it and waits for the answer.
Result<> send(engine::Collection& collection, const engine::CollectionConfig& config,
              std::uint64_t seed, std::uint32_t number);

/// What is known of a series that was cut off.
struct Sent {
  std::uint32_t n_sent = 0;
  std::vector<std::uint32_t> acknowledged;
};

/// After an interruption each shard holds the series up to some point: all that was acknowledged,
/// nothing in part, nothing that was not sent; bulk chunks are in all shards or in none, as the
/// cursor says. Brings the model to what is there.
void expect_prefix(Runner& runner, std::uint64_t seed, const Sent& sent);

/// A child process that sends a series until it is killed, then `expect_prefix`. The runner is open
/// before and after.
void crash_and_recover(Runner& runner, std::uint64_t seed, Random& random);
/// What the child does; does not return.
[[noreturn]] void run_crash_child(const std::string& directory, std::uint64_t seed);

}  // namespace quiver::model
