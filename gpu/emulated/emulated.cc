#include "gpu/emulated/emulated.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <thread>

#include "base/mutex.h"
#include "gpu/device.h"
#include "gpu/emulated/dense_job.h"
#include "gpu/emulated/document_job.h"
#include "gpu/emulated/list_job.h"
#include "gpu/emulated/product_job.h"
#include "gpu/emulated/sum_job.h"

namespace {

/// Objects that are alive, and the script of faults. One for the process, as a driver is. It knows
/// the objects, so that those of lost devices are no leaks.
struct World {
  quiver::Mutex mutex;
  std::set<const void*> objects QV_GUARDED_BY(mutex);
  std::atomic<std::int32_t> n_devices = 1;
  std::atomic<std::int32_t> lost = -1;  ///< number of the device that is lost; -1: none
  std::atomic<std::uint64_t> n_calls = 0;
  std::atomic<std::uint64_t> n_jobs = 0;
  std::atomic<std::uint64_t> fails_at = 0;  ///< 0: never
  std::atomic<qv_status> status = QV_DONE;
  std::atomic<std::uint64_t> hangs_at = 0;    ///< 0: never
  std::atomic<std::uint64_t> wrong_from = 0;  ///< 0: never
};
World& world = *new World;  // never destroyed

void add_object(const void* object) {
  quiver::MutexLock lock(world.mutex);
  world.objects.insert(object);
}
void drop_object(const void* object) {
  quiver::MutexLock lock(world.mutex);
  world.objects.erase(object);
}

thread_local const char* last_error = "";

struct Counted {
  Counted() { add_object(this); }
  ~Counted() { drop_object(this); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
};

}  // namespace

struct qv_device {
  std::int32_t number = 0;
  Counted counted;
};

struct qv_part {
  std::int32_t device = 0;
  qv_part_shape shape = {};
  quiver::gpu::emulated::StoredRows rows;
  quiver::gpu::emulated::StoredDocuments documents;
  quiver::gpu::emulated::StoredLists lists;
  quiver::gpu::emulated::StoredBytes bytes;
  quiver::gpu::emulated::StoredRuns runs;
  Counted counted;
};

struct qv_lane {
  std::int32_t device = 0;
  std::function<bool()> step;  ///< does some of the job; true when it is done. Empty: no job
  bool hangs = false;
  Counted counted;
};

namespace quiver::gpu::emulated {
namespace {

constexpr std::uint64_t kMemoryBytes = 1ULL << 30;

/// What this call to a device returns; QV_DONE: it is done as usual.
qv_status next_status(std::int32_t device) {
  const std::uint64_t call = ++world.n_calls;
  const qv_status status = world.status;
  bool fails = call == world.fails_at;
  if (fails && status == QV_LOST) world.lost = device;
  fails = fails || world.lost == device;
  last_error = fails ? "the emulated device was told to fail" : "";
  return fails ? status : QV_DONE;
}

template <class T>
qv_status make(std::int32_t device, T** out) {
  const qv_status status = next_status(device);
  if (status == QV_DONE) *out = new T;
  return status;
}

qv_status open_device(std::int32_t number, qv_device** out) {
  const qv_status status = make(number, out);
  if (status == QV_DONE) (*out)->number = number;
  return status;
}

qv_status make_lane(qv_device* device, qv_lane** out) {
  const qv_status status = make(device->number, out);
  if (status == QV_DONE) (*out)->device = device->number;
  return status;
}

void write_facts(qv_device* /*device*/, qv_device_facts* out) {
  std::snprintf(out->name, sizeof out->name, "emulated");
  std::snprintf(out->products, sizeof out->products, "loops");
  out->memory_bytes = kMemoryBytes;
  out->free_bytes = kMemoryBytes;
}

void make_room(const qv_part_shape& shape, StoredDocuments& documents) {
  documents.stride = shape.stride;
  documents.tokens.resize(shape.n_items * shape.stride / 2);
  documents.documents.resize(shape.n_facts);
}

void make_room(const qv_part_shape& shape, StoredRows& rows) {
  rows.stride = shape.stride;
  rows.codes.resize(shape.n_items * shape.stride);
  rows.rows.resize(shape.n_items);
}

void make_room(const qv_part_shape& shape, StoredLists& lists) {
  lists.stride = shape.stride;
  lists.n_bits = shape.n_bits;
  lists.blocks.resize(shape.n_items * shape.stride);
  lists.first_blocks.resize(shape.n_facts);
}

void make_room(const qv_part_shape& shape, StoredBytes& bytes) {
  bytes.stride = shape.stride;
  bytes.n_bits = shape.n_bits;
  bytes.bytes.resize(shape.n_items * shape.stride);
}

void make_room(const qv_part_shape& shape, StoredRuns& runs) {
  runs.values.resize(shape.n_items);
  runs.places.resize(shape.n_facts);
}

qv_status make_part(qv_device* device, const qv_part_shape* shape, qv_part** out) {
  const qv_status status = make(device->number, out);
  if (status != QV_DONE) return status;
  (*out)->device = device->number;
  (*out)->shape = *shape;
  switch (static_cast<qv_part_kind>(shape->kind)) {
    case QV_ROWS:
      make_room(*shape, (*out)->rows);
      break;
    case QV_DOCUMENTS:
      make_room(*shape, (*out)->documents);
      break;
    case QV_LISTS:
      make_room(*shape, (*out)->lists);
      break;
    case QV_BYTES:
      make_room(*shape, (*out)->bytes);
      break;
    case QV_RUNS:
      make_room(*shape, (*out)->runs);
      break;
  }
  return QV_DONE;
}

void* items_of(qv_part& part) {
  switch (static_cast<qv_part_kind>(part.shape.kind)) {
    case QV_ROWS:
      return part.rows.codes.data();
    case QV_DOCUMENTS:
      return part.documents.tokens.data();
    case QV_LISTS:
      return part.lists.blocks.data();
    case QV_BYTES:
      return part.bytes.bytes.data();
    case QV_RUNS:
      break;
  }
  return part.runs.values.data();
}

void* facts_of(qv_part& part) {
  switch (static_cast<qv_part_kind>(part.shape.kind)) {
    case QV_ROWS:
      return part.rows.rows.data();
    case QV_DOCUMENTS:
      return part.documents.documents.data();
    case QV_LISTS:
      return part.lists.first_blocks.data();
    case QV_BYTES:
      return nullptr;
    case QV_RUNS:
      break;
  }
  return part.runs.places.data();
}

qv_status put(std::int32_t device, void* to, std::uint64_t first, std::uint64_t n,
              std::uint64_t size, const void* from) {
  const qv_status status = next_status(device);
  if (status == QV_DONE) std::memcpy(static_cast<char*>(to) + first * size, from, n * size);
  return status;
}

qv_status put_items(qv_part* part, std::uint64_t first, std::uint64_t n, const void* items) {
  return put(part->device, items_of(*part), first, n, part->shape.stride, items);
}

qv_status put_facts(qv_part* part, std::uint64_t first, std::uint64_t n, const void* facts) {
  const auto kind = static_cast<qv_part_kind>(part->shape.kind);
  return put(part->device, facts_of(*part), first, n, fact_bytes(kind), facts);
}

/// Every byte is set, so that nothing relies on zeros.
void* take_pinned(qv_device* device, std::uint64_t n_bytes) {
  if (next_status(device->number) != QV_DONE) return nullptr;
  void* const memory = std::aligned_alloc(256, (n_bytes + 255) / 256 * 256);
  if (memory == nullptr) return nullptr;
  add_object(memory);
  std::fill_n(static_cast<std::uint8_t*>(memory), n_bytes, std::uint8_t{0xA5});
  return memory;
}

void free_pinned(qv_device* /*device*/, void* memory) {
  drop_object(memory);
  std::free(memory);
}

/// Makes an answer wrong that is told to be.
void spoil(const qv_dense& job) { job.n_rows[0] = 0; }
void spoil(const qv_documents& job) { job.n_documents[0] = 0; }
void spoil(const qv_lists& job) { job.n_positions[0] = 0; }
void spoil(const qv_products& job) {
  if (job.n_pairs > 0) std::memset(job.products, 0x3F, job.n_pairs * sizeof *job.products);
}

void spoil(const qv_sums& job) { job.n_found[0] = 0; }

template <class Pass, class Job, class Stored>
qv_status start(qv_lane* lane, const Job& job, const Stored& stored) {
  const qv_status status = next_status(lane->device);
  if (status != QV_DONE) return status;
  lane->hangs = ++world.n_jobs == world.hangs_at;
  const auto pass = std::make_shared<Pass>(job, stored);
  const bool is_wrong = world.wrong_from != 0 && world.n_jobs >= world.wrong_from;
  lane->step = [pass, is_wrong, job] {
    if (!pass->step()) return false;
    if (is_wrong) spoil(job);
    return true;
  };
  return QV_DONE;
}

qv_status start_dense(qv_lane* lane, const qv_dense* job) {
  return start<DensePass>(lane, *job, job->part->rows);
}

qv_status start_documents(qv_lane* lane, const qv_documents* job) {
  return start<DocumentPass>(lane, *job, job->part->documents);
}

qv_status start_lists(qv_lane* lane, const qv_lists* job) {
  return start<ListPass>(lane, *job, job->part->lists);
}

qv_status start_products(qv_lane* lane, const qv_products* job) {
  return start<ProductPass>(lane, *job, job->part->bytes);
}

qv_status start_sums(qv_lane* lane, const qv_sums* job) {
  return start<SumPass>(lane, *job, job->part->runs);
}

/// Works instead of waiting. A job that hangs does nothing.
qv_status wait_for_job(qv_lane* lane, std::uint32_t us) {
  const qv_status status = next_status(lane->device);
  if (status != QV_DONE) {
    lane->step = nullptr;
    return status;
  }
  if (!lane->step) return QV_DONE;
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
  do {
    if (lane->hangs) {
      std::this_thread::sleep_until(end);
    } else if (lane->step()) {
      lane->step = nullptr;
      return QV_DONE;
    }
  } while (std::chrono::steady_clock::now() < end);
  return QV_BUSY;
}

constexpr qv_gpu_api kApi = {
    .size = sizeof(qv_gpu_api),
    .abi = QV_GPU_ABI,
    .build = "emulated on the CPU, for tests",
    .n_devices = [](char*, std::size_t) -> std::int32_t { return world.n_devices; },
    .open = open_device,
    .close = [](qv_device* device) { delete device; },
    .facts = write_facts,
    .part_make = make_part,
    .part_put = put_items,
    .part_put_facts = put_facts,
    .part_free = [](qv_part* part) { delete part; },
    .pinned = take_pinned,
    .unpin = free_pinned,
    .lane_make = make_lane,
    .lane_free = [](qv_lane* lane) { delete lane; },
    .dense = start_dense,
    .documents = start_documents,
    .lists = start_lists,
    .products = start_products,
    .sums = start_sums,
    .wait = wait_for_job,
    .last_error = [] { return last_error; },
};

Result<> bad_option(const std::string& option) {
  return fail(Code::kInvalidArgument,
              fmt::format("gpu.devices is `{}`: an emulated device fails by `emulated:STATUS@N`, "
                          "with not, no_memory, lost, hang or wrong, and N from 1; "
                          "`emulated*2` is two, of up to 8",
                          option));
}

}  // namespace

const qv_gpu_api* api(std::uint32_t abi) { return abi == QV_GPU_ABI ? &kApi : nullptr; }

Result<> set_faults(const std::string& option) {
  std::string_view rest = option;
  rest.remove_prefix(std::min(rest.size(), std::string_view("emulated").size()));
  std::int32_t n_devices = 1;
  if (rest.starts_with('*')) {
    n_devices = rest.size() > 1 ? rest[1] - '0' : 0;
    if (n_devices < 1 || n_devices > 8) return bad_option(option);
    rest.remove_prefix(2);
  }
  std::uint64_t at = rest.empty() ? 0 : 1;
  if (!rest.empty() && !rest.starts_with(':')) return bad_option(option);
  auto status = rest.substr(rest.empty() ? 0 : 1);
  if (const auto sign = status.find('@'); sign != std::string_view::npos) {
    const auto number = status.substr(sign + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), at);
    if (error != std::errc() || end != number.data() + number.size() || at == 0) {
      return bad_option(option);
    }
    status = status.substr(0, sign);
  }
  const bool hangs = status == "hang";
  const bool is_wrong = status == "wrong";
  const bool is_known =
      hangs || is_wrong || status == "not" || status == "no_memory" || status == "lost";
  if (!rest.empty() && !is_known) return bad_option(option);
  world.n_devices = n_devices;
  world.lost = -1;
  world.n_calls = 0;
  world.n_jobs = 0;
  world.hangs_at = hangs ? at : 0;
  world.wrong_from = is_wrong ? at : 0;
  world.fails_at = hangs || is_wrong ? 0 : at;
  world.status = status == "not" ? QV_NOT : status == "lost" ? QV_LOST : QV_NO_MEMORY;
  return {};
}

std::uint64_t n_calls() { return world.n_calls; }
std::uint64_t n_objects() {
  MutexLock lock(world.mutex);
  return world.objects.size();
}

}  // namespace quiver::gpu::emulated
