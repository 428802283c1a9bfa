// All devices of a process, and what a search asks of them.
//
// A device never changes an answer: it names rows among which the best certainly are, and the
// caller scores these as it always does. Whatever goes wrong on a device, the caller does the work
// itself.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/io/shared_span.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "base/views.h"
#include "gpu/abi.h"
#include "gpu/device.h"
#include "gpu/placing.h"
#include "gpu/slot.h"
#include "kernels/codes/codes.h"
#include "kernels/similarity.h"

namespace quiver::gpu {

/// Most hits of a query that a device looks for.
inline constexpr std::uint64_t kMaxHits = 4096;
/// Most queries of one job; more are several jobs.
inline constexpr std::size_t kMaxQueries = 256;

struct Options {
  /// "auto": all devices that there are, none is no error. "off". "0,2": these, or an error. Tests:
  /// "emulated", "emulated:lost@40" (gpu/emulated/emulated.h).
  std::string devices = "auto";
  std::string module;              ///< path; empty: `find_module`
  std::uint64_t memory_bytes = 0;  ///< of each device, for rows; 0: nine tenths of what is free
  /// What the CPU would read stays with it if it is less: allowed rows as stored, or codes that all
  /// queries of a call scan.
  std::uint64_t min_bytes = 8ULL << 20;
  double check_share = 1e-4;  ///< of jobs: one of their queries is answered by the CPU, too
  bool do_help_builds = true;
  std::chrono::milliseconds idle_time = std::chrono::minutes(1);  ///< unused rows give way after it
  std::chrono::milliseconds job_time = std::chrono::seconds(10);  ///< then a device counts as lost
};

/// Why the CPU did what a device might have done.
enum class Fallback : std::uint8_t {
  kLoading = 0,  ///< the rows are not on the device yet
  kMemory,       ///< the rows do not fit
  kRows,         ///< values that have no codes, or rows that the device cannot hold
  kQuery,        ///< a zero query, or one too long or too short
  kHits,         ///< more hits wanted than the device keeps
  kWork,         ///< a query of so many tokens that its job would take too long
  kBusy,         ///< all lanes in use
  kUncertain,    ///< too many rows may be among the best
  kNot,          ///< the device did not do the job
  kLost,         ///< the device is gone
};
inline constexpr std::array<std::string_view, 10> kFallbackNames = {
    "loading", "memory", "rows", "query", "hits", "work", "busy", "uncertain", "not_done", "lost"};

/// Dense rows of a sealed segment: f32, f16, bf16 or u8.
struct DenseRows {
  SharedBytes bytes;  ///< what `view` refers to
  MatrixView view;
  Similarity similarity = Similarity::kDot;  ///< kDot or kNegL2Squared
};

struct DenseQuery {
  std::span<const float> vector;
  std::uint64_t k = 0;
  /// A bit for each row; nullptr: all rows. Queries with equal pointers share a mask.
  const std::uint64_t* allowed = nullptr;
};

/// Documents of tokens of a sealed segment: f32, f16, bf16 or u8, under Dot.
struct Documents {
  SharedBytes bytes;  ///< what `tokens` refers to
  MatrixView tokens;
  SharedSpan<std::uint64_t>
      offsets;  ///< `[n + 1]`; those of document i begin at token `offsets[i]`

  [[nodiscard]] std::size_t n() const { return offsets.empty() ? 0 : offsets.size() - 1; }
};

struct DocumentQuery {
  std::span<const float> tokens;  ///< `[n_tokens, dim]`
  std::uint64_t k = 0;
  const std::uint64_t* allowed = nullptr;  ///< as in DenseQuery, for each document
};

/// Posting lists of codes of a sealed segment.
struct CodeLists {
  SharedBytes bytes;                       ///< what `blocks` refers to
  CodeBlocks blocks;                       ///< of all lists, one after another
  SharedSpan<std::uint32_t> first_blocks;  ///< `[n_lists + 1]`: where list i begins
};

struct ListVisit {
  std::uint32_t list = 0;
  float base = 0;  ///< as in `CodeKernels::scan`
};

struct ListQuery {
  CodeTables tables;
  std::span<const ListVisit> visits;  ///< different lists
  std::uint64_t k = 0;                ///< codes wanted, >= 1
};

/// Estimates of codes and where these are: 16 * block + row of the block.
struct ScoredCodes {
  std::vector<float> scores;
  std::vector<std::uint32_t> positions;
};
/// For each query its `k` best codes by (estimate, position), and some as good as the last, in no
/// order; nullopt: the caller scans.
using BestCodes = std::vector<std::optional<ScoredCodes>>;

/// Second codes of a sealed segment: bytes, or pairs of half bytes as `qv_products` has them.
struct ByteCodes {
  SharedBytes bytes;  ///< `[n_rows, stride]`
  std::uint64_t n_rows = 0;
  std::uint32_t dim = 0;
  std::uint32_t n_bits = 8;  ///< or 4
  std::uint32_t stride = 0;
};

struct ProductQuery {
  std::span<const std::int8_t> values;  ///< `[dim]`
  std::span<const std::uint32_t> rows;
  static constexpr std::uint64_t k = 0;  ///< all products are wanted
};
/// For each query the product with each of its rows; nullopt: the caller multiplies.
using Products = std::vector<std::optional<std::vector<std::int32_t>>>;

/// Runs of postings of a sealed segment, as `qv_part_kind` has them.
struct ImpactRuns {
  SharedSpan<std::uint16_t> runs;
  SharedSpan<std::uint32_t> places;  ///< `[n_terms, n_ranges]`
  std::uint32_t n_rows = 0;

  [[nodiscard]] std::uint32_t n_ranges() const {
    return (n_rows + QV_RANGE_ROWS - 1) / QV_RANGE_ROWS;
  }
};

struct SumQuery {
  std::span<const qv_sum_term> terms;
  std::uint64_t n_postings = 0;            ///< that it reads
  std::uint64_t k = 0;                     ///< rows wanted, >= 1
  const std::uint64_t* allowed = nullptr;  ///< as in DenseQuery
};

struct SummedRow {
  std::uint32_t row = 0;
  std::uint32_t sum = 0;
};
/// For each query the `k` rows with the largest sums, and those with the sum of the last, by row;
/// nullopt: the caller adds.
using SummedRows = std::vector<std::optional<std::vector<SummedRow>>>;

/// For each query the rows among which its `k` best are, ascending; nullopt: the caller looks
/// itself.
using RowLists = std::vector<std::optional<std::vector<std::uint32_t>>>;

/// State of a device, for reports.
struct DeviceReport {
  std::int32_t number = 0;
  std::string name;
  bool is_lost = false;
  std::uint64_t memory_bytes = 0;    ///< for rows
  std::uint64_t resident_bytes = 0;  ///< used of it
  std::uint64_t n_parts = 0;
  std::uint64_t n_done = 0;  ///< jobs
  std::uint64_t n_failed = 0;
  std::uint64_t n_queries = 0;
  std::uint64_t n_uploaded_bytes = 0;
  double busy_s = 0;
  std::string products;           ///< how it multiplies
  std::uint64_t n_checked = 0;    ///< queries that the CPU answered, too
  std::uint64_t n_different = 0;  ///< of them
};

struct Report {
  std::string reason;  ///< why there are no devices; "" if there are
  std::string module;  ///< its path; "" if there is none
  std::string build;   ///< what the module says of itself
  std::vector<DeviceReport> devices;
  std::array<std::uint64_t, kFallbackNames.size()> fallbacks = {};  ///< queries by `Fallback`
  std::uint64_t n_evictions = 0;  ///< parts that gave way to others
};

/// Thread-safe. Has a thread that copies rows to devices, and one that checks what they name.
class Devices {
 public:
  /// kInvalidArgument: options that mean nothing. kFailedPrecondition, with the reason: a named
  /// device is not there.
  [[nodiscard]] static Result<std::unique_ptr<Devices>> open(const Options& options);
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  /// What the CPU would read for a device to be asked (`Options::min_bytes`).
  [[nodiscard]] std::uint64_t min_bytes() const { return options_.min_bytes; }
  [[nodiscard]] bool do_help_builds() const { return options_.do_help_builds; }
  /// False if no device can do anything.
  [[nodiscard]] bool is_useful() const;
  /// True if a device was lost: its driver may keep the process from ending as usual.
  [[nodiscard]] bool has_lost_device() const;
  /// Jobs that can be at the devices at once.
  [[nodiscard]] std::size_t n_lanes() const { return devices_.size() * Device::kLanes; }
  /// Asks a device about queries of one length. `slot` belongs to the rows. Rows that are not on a
  /// device yet are copied there in the background. `executor` helps to prepare many queries;
  /// nullptr: the calling thread does all. The only error is that of `cancel`.
  [[nodiscard]] Result<RowLists> find_best(Slot& slot, const DenseRows& rows,
                                           std::span<const DenseQuery> queries,
                                           const Cancel& cancel, Executor* executor = nullptr);
  /// The same for documents of tokens.
  [[nodiscard]] Result<RowLists> find_best(Slot& slot, const Documents& documents,
                                           std::span<const DocumentQuery> queries,
                                           const Cancel& cancel, Executor* executor = nullptr);
  /// Has something copied to a device in the background, if it is so large that some search may be
  /// worth it, and notes that it is in use.
  void want(Slot& slot, const DenseRows& rows);
  void want(Slot& slot, const Documents& documents);
  void want(Slot& slot, const CodeLists& lists);
  void want(Slot& slot, const ByteCodes& codes);
  void want(Slot& slot, const ImpactRuns& runs);
  /// Waits while what belongs to `slot` is on its way to a device, for a minute at most. The only
  /// error is that of `cancel`.
  Result<> wait_for(Slot& slot, const Cancel& cancel) const;
  /// Puts the setting of a field in force for what it has: kAlways also wants it now, kNever takes
  /// it off its device. What is too small for any search stays on the CPU. False if it is to be on
  /// a device and is not there yet: it may be on its way, or there was no room.
  bool place(Slot& slot, const DenseRows& rows, Placing placing);
  bool place(Slot& slot, const Documents& documents, Placing placing);
  bool place(Slot& slot, const CodeLists& lists, Placing placing);
  bool place(Slot& slot, const ByteCodes& codes, Placing placing);
  bool place(Slot& slot, const ImpactRuns& runs, Placing placing);
  /// The best codes of lists, with the estimates that `CodeKernels::scan` gives.
  [[nodiscard]] Result<BestCodes> scan_lists(Slot& slot, const CodeLists& lists,
                                             std::span<const ListQuery> queries,
                                             const Cancel& cancel);
  /// Products with second codes.
  [[nodiscard]] Result<Products> multiply(Slot& slot, const ByteCodes& codes,
                                          std::span<const ProductQuery> queries,
                                          const Cancel& cancel);
  /// The largest sums of impacts among the allowed rows.
  [[nodiscard]] Result<SummedRows> add_impacts(Slot& slot, const ImpactRuns& runs,
                                               std::span<const SumQuery> queries,
                                               const Cancel& cancel);
  /// The number of a query of a job with `n` queries that is to be checked; nullopt most of the
  /// time (`Options::check_share`), and while a check is under way. Numbers change from job to job.
  [[nodiscard]] std::optional<std::size_t> next_to_check(std::size_t n);
  /// The same among the answers that a device gave.
  template <class Answers>
  [[nodiscard]] std::optional<std::size_t> answer_to_check(const Answers& answers) {
    std::vector<std::size_t> answered;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i]) answered.push_back(i);
    }
    const auto i = next_to_check(answered.size());
    return i ? std::optional(answered[*i]) : std::nullopt;
  }
  /// What the CPU says about a list of rows: true if it holds the best ones. The error is that of
  /// the cancellation.
  using Check = std::function<Result<bool>(const Cancel& cancel)>;
  /// Runs `check` behind all other work, and notes what it says about the device of `slot`. One
  /// check at a time: others that are posted meanwhile are dropped.
  void post_check(Slot& slot, const Check& check);
  [[nodiscard]] Report report() const;
  /// Waits until no rows are on their way to a device and no check is under way. For tests.
  void wait_for_loading();

 private:
  explicit Devices(const Options& options) : options_(options) {}
  Result<> open_module();
  Result<> open_devices();
  struct Loading;
  struct Checking;
  template <class Rows>
  [[nodiscard]] bool post_load(const std::shared_ptr<Slot::Content>& content, const Rows& rows);
  template <class Rows>
  void load(Loading& loading, const Rows& rows);
  [[nodiscard]] Device::MadePart make_part(const qv_part_shape& shape, Placing placing);
  struct Evictable;
  [[nodiscard]] std::vector<Evictable> evictable(Placing newcomer) const;
  [[nodiscard]] Device& device_for(std::uint64_t n_bytes, Placing newcomer);
  [[nodiscard]] bool has_room(std::uint64_t n_bytes) const;
  template <class Rows>
  void want_part(Slot& slot, const Rows& rows);
  template <class Rows>
  bool place_part(Slot& slot, const Rows& rows, Placing placing);
  /// `is_placed`: wanted by a setting, not by one of many searches.
  template <class Rows>
  [[nodiscard]] std::shared_ptr<const Part> part_for(Slot& slot, const Rows& rows, Fallback& why,
                                                     bool is_placed = false);
  template <class Job>
  [[nodiscard]] Result<typename Job::Answers> find(Slot& slot, const typename Job::Rows& rows,
                                                   std::span<const typename Job::Query> queries,
                                                   const Cancel& cancel, Executor* executor);
  template <class Job>
  Result<> run(Job& job, const std::shared_ptr<const Part>& part,
               std::chrono::microseconds patience, const Cancel& cancel,
               typename Job::Answers& answers);
  void count(Fallback why, std::size_t n_queries) {
    fallbacks_[static_cast<std::size_t>(why)] += n_queries;
  }

  const Options options_;
  std::string reason_;
  std::string module_path_;
  std::optional<Module> module_;
  std::vector<std::shared_ptr<Device>> devices_;
  std::array<std::atomic<std::uint64_t>, kFallbackNames.size()> fallbacks_ = {};
  std::atomic<std::size_t> n_loading_ = 0;
  std::atomic<std::uint64_t> n_evictions_ = 0;
  std::atomic<std::int64_t> next_eviction_ms_ = 0;  ///< on the steady clock
  std::atomic<std::uint64_t> n_checkable_ = 0;      ///< jobs
  std::atomic<bool> is_checking_ = false;
  const Cancel stop_checking_;
  std::vector<std::weak_ptr<Slot::Content>> loaded_;  ///< of the loader's thread
  std::unique_ptr<Executor> checker_;                 ///< as `loader_`
  std::unique_ptr<Executor> loader_;                  ///< only with a device; destroyed first
};

}  // namespace quiver::gpu
