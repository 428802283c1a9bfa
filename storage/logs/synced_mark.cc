#include "storage/logs/synced_mark.h"

#include <fmt/format.h>
#include <rocksdb/env.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "base/hash.h"
#include "base/observe/log.h"

namespace quiver::storage {
namespace {

/// The file has two slots, written in turn, so that a torn write leaves one whole.
struct Slot {
  std::array<char, 8> magic{'Q', 'V', 'S', 'Y', 'N', 'C', 'E', 'D'};
  std::uint64_t n_writes = 0;
  SyncedState state;
  std::uint64_t checksum = 0;  ///< XXH3 of the bytes before
};
static_assert(sizeof(Slot) == 64 && offsetof(Slot, checksum) == 56);

constexpr std::size_t kSlots = 2;

std::uint64_t checksum_of(const Slot& slot) {
  return checksum(std::as_bytes(std::span(&slot, 1)).first(offsetof(Slot, checksum)));
}

/// The newer sound slot; nullopt if neither is sound.
std::optional<Slot> newest(std::string_view bytes) {
  std::optional<Slot> found;
  for (std::size_t i = 0; i < kSlots && (i + 1) * sizeof(Slot) <= bytes.size(); ++i) {
    Slot slot;
    std::memcpy(&slot, bytes.data() + i * sizeof(Slot), sizeof(Slot));
    if (slot.magic != Slot().magic || slot.checksum != checksum_of(slot)) continue;
    if (!found || slot.n_writes > found->n_writes) found = slot;
  }
  return found;
}

std::optional<Slot> read_newest(rocksdb::Env& env, const std::string& path) {
  std::string bytes;
  if (!rocksdb::ReadFileToString(&env, path, &bytes).ok()) return std::nullopt;
  auto slot = newest(bytes);
  if (!slot) log_warning("cannot read `{}`: shortened logs of this store will go unnoticed", path);
  return slot;
}

std::string path_in(const std::string& store) {
  return fmt::format("{}/{}", store, SyncedMark::kFile);
}

}  // namespace

std::optional<SyncedState> SyncedMark::read(rocksdb::Env& env, const std::string& store) {
  const auto slot = read_newest(env, path_in(store));
  return slot ? std::optional(slot->state) : std::nullopt;
}

SyncedMark::SyncedMark(rocksdb::Env& env, const std::string& store) : path_(path_in(store)) {
  if (env.FileExists(path_).ok()) {
    if (const auto slot = read_newest(env, path_)) {
      state_ = slot->state;
      n_writes_ = slot->n_writes;
    }
  } else {
    // Writes whole slots at once, so that rewriting them needs no more disk space.
    Slot empty;
    empty.checksum = checksum_of(empty);
    const std::string bytes(reinterpret_cast<const char*>(&empty), sizeof(empty));
    rocksdb::WriteStringToFile(&env, bytes + bytes, path_, false).PermitUncheckedError();
  }
  const auto opened = env.NewRandomRWFile(path_, &file_, rocksdb::EnvOptions());
  if (!opened.ok()) {
    log_warning("cannot write `{}`: {}; shortened logs of this store will go unnoticed", path_,
                opened.ToString());
  }
}

SyncedMark::~SyncedMark() = default;

void SyncedMark::note_log(std::uint64_t sequence, std::uint64_t log, std::uint64_t log_bytes) {
  MutexLock lock(mutex_);
  state_.sequence = sequence;
  state_.log = log;
  state_.log_bytes = log_bytes;
  write();
}

void SyncedMark::note_manifest(std::uint64_t manifest, std::uint64_t manifest_bytes) {
  MutexLock lock(mutex_);
  // Notes may arrive out of order, from several threads.
  const bool is_older = manifest < state_.manifest ||
                        (manifest == state_.manifest && manifest_bytes <= state_.manifest_bytes);
  if (is_older) return;
  state_.manifest = manifest;
  state_.manifest_bytes = manifest_bytes;
  write();
}

void SyncedMark::sync() {
  MutexLock lock(mutex_);
  if (file_ != nullptr) file_->Sync().PermitUncheckedError();
}

void SyncedMark::write() {
  if (file_ == nullptr) return;
  Slot slot;
  slot.n_writes = ++n_writes_;
  slot.state = state_;
  slot.checksum = checksum_of(slot);
  const rocksdb::Slice bytes(reinterpret_cast<const char*>(&slot), sizeof(slot));
  const auto written = file_->Write(n_writes_ % kSlots * sizeof(slot), bytes);
  if (written.ok()) return;
  log_warning("cannot write `{}`: {}; shortened logs of this store will go unnoticed", path_,
              written.ToString());
  file_.reset();
}

}  // namespace quiver::storage
