// One opened device: its lanes, the parts that it holds, and whether it is still there.
//
// A device that reports QV_LOST, or a job that does not end, makes it lost for good: nothing is
// asked of it again, and nothing is given back to it, because that might wait for ever.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "gpu/abi.h"
#include "gpu/module.h"

namespace quiver::gpu {

class Device;

/// Rows, documents, lists or bytes on a device. Immutable once it is filled. Any thread.
class Part {
 public:
  Part(std::shared_ptr<Device> device, qv_part* handle, const qv_part_shape& shape);
  ~Part();
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  [[nodiscard]] Device& device() const { return *device_; }
  [[nodiscard]] const qv_part* handle() const { return handle_; }
  [[nodiscard]] const qv_part_shape& shape() const { return shape_; }
  [[nodiscard]] std::uint64_t n_bytes() const { return n_bytes_; }
  /// Copies items from number `first` on. False if the device is lost or out of memory.
  [[nodiscard]] bool put(std::uint64_t first, std::span<const std::byte> items);
  /// The same for facts.
  [[nodiscard]] bool put_facts(std::uint64_t first, std::span<const std::byte> facts);

 private:
  using Put = decltype(qv_gpu_api::part_put);
  [[nodiscard]] bool put_by(Put function, std::uint64_t first, std::span<const std::byte> from,
                            std::uint64_t size);

  const std::shared_ptr<Device> device_;
  qv_part* const handle_;
  const qv_part_shape shape_;
  const std::uint64_t n_bytes_;
};

/// Bytes of one of a part's facts.
[[nodiscard]] std::uint64_t fact_bytes(qv_part_kind kind);
/// Memory that a part takes on a device.
[[nodiscard]] std::uint64_t bytes_of(const qv_part_shape& shape);

/// A stream of a device with pinned memory of its own. Used by one thread at a time.
class Lane {
 public:
  Lane(Device& device, qv_lane* handle) : device_(device), handle_(handle) {}
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  [[nodiscard]] qv_lane* handle() const { return handle_; }
  /// Pinned memory of at least this size, aligned to 256 bytes; nullptr if there is none. What was
  /// there is gone.
  [[nodiscard]] std::byte* memory(std::uint64_t n_bytes);
  /// The part that the lane's job reads, until the job ends.
  std::shared_ptr<const Part> reads;

 private:
  Device& device_;
  qv_lane* const handle_;
  void* memory_ = nullptr;
  std::uint64_t n_bytes_ = 0;
};

/// What happened on a device since it was opened.
struct DeviceCounts {
  std::atomic<std::uint64_t> n_done = 0;     ///< jobs
  std::atomic<std::uint64_t> n_failed = 0;   ///< jobs that the device did not do
  std::atomic<std::uint64_t> n_queries = 0;  ///< in jobs that were done
  std::atomic<std::uint64_t> n_uploaded_bytes = 0;
  std::atomic<std::uint64_t> busy_us = 0;      ///< time in jobs, all lanes together
  std::atomic<std::uint64_t> n_checked = 0;    ///< queries that the CPU answered, too
  std::atomic<std::uint64_t> n_different = 0;  ///< of them, those whose best rows were not named
};

/// Thread-safe.
class Device : public std::enable_shared_from_this<Device> {
 public:
  struct Limits {
    std::uint64_t memory_bytes = 0;  ///< for parts; 0: nine tenths of what is free
    std::chrono::milliseconds job_time = std::chrono::seconds(10);  ///< then the device is lost
  };
  static constexpr std::size_t kLanes = 2;

  /// kUnavailable, with the reason, if the device cannot be used.
  [[nodiscard]] static Result<std::shared_ptr<Device>> open(const Module& module,
                                                            std::int32_t number, Limits limits);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Waits for abandoned jobs, up to the time limit of a job. Called once, when no other calls
  /// come; their parts keep the device until then.
  void drain() QV_EXCLUDES(mutex_);

  [[nodiscard]] std::int32_t number() const { return number_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& products() const { return products_; }
  [[nodiscard]] std::uint64_t memory_bytes() const { return limits_.memory_bytes; }
  [[nodiscard]] std::uint64_t resident_bytes() const { return resident_bytes_.load(); }
  [[nodiscard]] std::uint64_t n_parts() const { return n_parts_.load(); }
  [[nodiscard]] std::uint64_t free_bytes() const;
  [[nodiscard]] bool is_lost() const { return lost_.load(); }
  /// Logs the reason, once.
  void lose(const std::string& why);
  [[nodiscard]] const DeviceCounts& counts() const { return counts_; }

  /// Notes whether the rows that the device named held those that the CPU found. It is lost after
  /// the third time that they did not.
  void note_check(bool is_right);

  struct MadePart {
    std::shared_ptr<Part> part;  ///< nullptr: the memory is not enough, or `is_refused`
    bool is_refused = false;     ///< the device cannot hold rows of this shape
  };
  [[nodiscard]] MadePart make_part(const qv_part_shape& shape);

  enum class Outcome : std::uint8_t { kDone, kNot, kBusy, kLost };
  /// A free lane; nullptr if none gets free within `patience`, or `cancel` stops the wait. Give it
  /// back by `put_back`.
  [[nodiscard]] std::unique_ptr<Lane> take_lane(std::chrono::microseconds patience,
                                                const Cancel& cancel) QV_EXCLUDES(mutex_);
  void put_back(std::unique_ptr<Lane> lane) QV_EXCLUDES(mutex_);
  /// Starts a job in a lane.
  using Start = std::function<qv_status(const qv_gpu_api& api, const Lane& lane)>;
  /// Queues the job and waits for it; a job over the time limit makes the device lost. The error of
  /// `cancel` leaves the job running: `lane` is then empty, and the lane is free again when the job
  /// has ended. Otherwise the caller still has the lane and may read the results.
  [[nodiscard]] Result<Outcome> run(std::unique_ptr<Lane>& lane, const Start& start,
                                    std::uint32_t n_queries, const Cancel& cancel)
      QV_EXCLUDES(mutex_);

 private:
  struct Abandoned;
  friend class Part;
  friend class Lane;
  Device(const Module& module, std::int32_t number, Limits limits, qv_device* handle);
  Result<> make_lanes();
  [[nodiscard]] Outcome outcome_of(qv_status status, const char* call);
  /// Moves lanes whose abandoned jobs have ended to the idle ones. Returns the parts that these
  /// read, to be released outside the lock.
  std::vector<std::shared_ptr<const Part>> collect_drained() QV_REQUIRES(mutex_);

  const Module module_;
  const std::int32_t number_;
  Limits limits_;
  qv_device* const handle_;
  std::string name_;
  std::string products_;
  std::atomic<bool> lost_ = false;
  std::atomic<std::uint64_t> resident_bytes_ = 0;
  std::atomic<std::uint64_t> n_parts_ = 0;
  DeviceCounts counts_;

  Mutex mutex_;
  CondVar lane_free_;
  std::vector<std::unique_ptr<Lane>> idle_ QV_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Lane>> draining_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::gpu
