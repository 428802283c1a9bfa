// The contents of a shard store after the first n of a fixed series of batches.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "base/ids.h"
#include "storage/rows/shard_store.h"

namespace quiver::fault {

struct StoreModel {
  std::map<PointId, std::string> rows;
  std::map<Seq, std::string> ops;
  std::map<std::string, std::string, std::less<>> meta;
  bool operator==(const StoreModel&) const = default;
};

inline PointId some_id(std::mt19937_64& random) {
  const std::uint64_t n = random() % 60;
  return n % 3 == 0 ? PointId::uuid(n, n * 7) : PointId::number(n);
}

/// Appends batch `n` (from 1) of series `seed` to `batch` and applies it to `model`.
inline void add_batch(std::uint64_t seed, std::uint64_t n, storage::RowBatch& batch,
                      StoreModel& model) {
  std::mt19937_64 random(seed * 1'000'003 + n);
  for (std::uint64_t i = 0, n_changes = 1 + random() % 8; i < n_changes; ++i) {
    const PointId id = some_id(random);
    if (random() % 4 == 0) {
      batch.delete_row(id);
      model.rows.erase(id);
    } else {
      const std::string row(random() % 4000, static_cast<char>('a' + n % 26));
      batch.put_row(id, row);
      model.rows[id] = row;
    }
  }
  const std::string op = "op " + std::to_string(n);
  batch.put_op(Seq{n}, op);
  model.ops[Seq{n}] = op;
  if (n % 10 == 0) {
    batch.trim_ops(Seq{n - 5});
    model.ops.erase(model.ops.begin(), model.ops.lower_bound(Seq{n - 5}));
  }
  batch.put_meta("last", std::to_string(n));
  model.meta["last"] = std::to_string(n);
}

/// The state after batches 1 to `n`.
inline StoreModel model_after(std::uint64_t seed, std::uint64_t n) {
  StoreModel model;
  storage::RowBatch unused;
  for (std::uint64_t i = 1; i <= n; ++i) add_batch(seed, i, unused, model);
  return model;
}

inline Result<StoreModel> read_all(const storage::ShardStore& store) {
  StoreModel found;
  QV_TRY(store.scan_rows(std::nullopt, [&](const PointId& id, std::string_view row) {
    found.rows[id] = row;
    return true;
  }));
  QV_TRY(store.scan_ops(Seq{0}, [&](Seq seq, std::string_view op) {
    found.ops[seq] = op;
    return true;
  }));
  QV_TRY(store.scan_meta("", [&](std::string_view key, std::string_view value) {
    found.meta[std::string(key)] = value;
    return true;
  }));
  return found;
}

/// Number of batches that the store contains, as it says itself.
inline std::uint64_t n_batches(const StoreModel& model) {
  const auto last = model.meta.find("last");
  return last == model.meta.end() ? 0 : std::stoull(last->second);
}

}  // namespace quiver::fault
