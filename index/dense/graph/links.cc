#include "index/dense/graph/links.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/mutex.h"
#include "base/result.h"
#include "gpu/devices.h"
#include "index/dense/lists/search/device_lists.h"
#include "index/parallel.h"
#include "kernels/kernels.h"

namespace quiver::index::dense {
namespace {

constexpr std::uint32_t kLinkedRowsPerTask = 64;
/// The same where a device finds the candidates of all at once.
constexpr std::uint32_t kLinkedRowsPerJob = gpu::kMaxQueries;
/// Largest number of incoming links considered for a row; those for which it ranks nearest come
/// first. Some rows are near to very many.
constexpr std::size_t kMaxIncomingLinks = 256;
/// At most one in this many links leads to an equal row.
constexpr std::size_t kLinksPerEqualLink = 4;
/// Among equal rows, this many with the lowest numbers are linked to other rows by a wider search.
constexpr std::ptrdiff_t kMaxLowerEqualRows = 16;
constexpr std::size_t kWideSearchFactor = 16;
/// If the nearest lists hold too few rows, a second search scans lists of this many times the
/// wanted rows.
constexpr std::size_t kScannedRowsPerWanted = 4;

/// Chooses the links of one row at a time; one thread.
class Chooser {
 public:
  explicit Chooser(const RowSource& source)
      : source_(source),
        kernel_(kernels().dense(Similarity::kNegL2Squared, RowType::kF32)),
        row_(source.dim()) {}

  /// Sorts `near` by distance to row `i`. `near`: distinct rows without `i`, candidates for its
  /// links.
  void order(std::uint32_t i, std::span<const std::uint32_t> near);

  /// True if all candidates equal row `i`, so that links to them lead nowhere. False if many of
  /// them have lower numbers: those link to other rows.
  [[nodiscard]] bool leads_nowhere(std::uint32_t i) const {
    const auto is_lower = [i](const Near& near) { return near.row < i; };
    return !near_.empty() && n_equal() == near_.size() &&
           std::count_if(near_.begin(), near_.end(), is_lower) < kMaxLowerEqualRows;
  }

  /// Fills `out` with links. Equal rows beyond a share come last.
  void choose(std::span<std::uint32_t> out) {
    const std::size_t n_all_equal = n_equal();
    const std::size_t n_first = std::min(n_all_equal, out.size() / kLinksPerEqualLink);
    std::size_t n = 0;
    for (; n < n_first; ++n) out[n] = near_[n].row;
    const auto others = std::span(near_).subspan(n_all_equal);
    n = take_diverse(others, out, n);
    for (const Near& other : others) {
      if (n < out.size() && !other.is_taken) out[n++] = other.row;
    }
    for (std::size_t j = n_first; j < n_all_equal && n < out.size(); ++j) out[n++] = near_[j].row;
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(n), out.end(), kNoLink);
  }

 private:
  struct Near {
    float score = 0;  ///< negative squared distance
    std::uint32_t row = 0;
    std::uint32_t place = 0;  ///< in `vectors_`
    bool is_taken = false;
  };

  [[nodiscard]] std::size_t n_equal() const {
    const auto first =
        std::find_if(near_.begin(), near_.end(), [](const Near& other) { return other.score < 0; });
    return static_cast<std::size_t>(first - near_.begin());
  }

  [[nodiscard]] const float* vector(std::uint32_t place) const {
    return vectors_ + std::size_t{place} * source_.dim();
  }

  /// Scores the vectors at `places`, in their order.
  void score(const float* row, std::span<const std::uint32_t> places) {
    const std::size_t dim = source_.dim();
    scores_.resize(places.size());
    kernel_.gather(row, dim, reinterpret_cast<const std::byte*>(vectors_), dim * sizeof(float),
                   places.data(), places.size(), scores_.data());
  }

  /// Takes the rows that are no nearer to a taken row than to the row itself. Writes after the
  /// first `n` of `out`; returns the new number.
  std::size_t take_diverse(std::span<Near> nearest, std::span<std::uint32_t> out, std::size_t n) {
    left_.resize(nearest.size());
    std::iota(left_.begin(), left_.end(), 0U);
    while (!left_.empty() && n < out.size()) {
      Near& taken = nearest[left_.front()];
      taken.is_taken = true;
      out[n++] = taken.row;
      left_.erase(left_.begin());
      places_.clear();
      for (const std::uint32_t j : left_) places_.push_back(nearest[j].place);
      score(vector(taken.place), places_);
      std::size_t n_left = 0;
      for (std::size_t j = 0; j < left_.size(); ++j) {
        if (!(scores_[j] > nearest[left_[j]].score)) left_[n_left++] = left_[j];
      }
      left_.resize(n_left);
    }
    return n;
  }

  const RowSource& source_;
  const DenseKernels& kernel_;
  std::vector<float> row_;
  std::vector<float> read_;         ///< candidates, where the source keeps no rows
  const float* vectors_ = nullptr;  ///< kept rows, or `read_`
  std::vector<std::uint32_t> places_;
  std::vector<float> scores_;
  std::vector<Near> near_;
  std::vector<std::uint32_t> left_;  ///< candidates that may still be taken
};

void Chooser::order(std::uint32_t i, std::span<const std::uint32_t> near) {
  const std::size_t dim = source_.dim();
  places_.assign(near.begin(), near.end());
  vectors_ = source_.kept().data();
  if (source_.kept().empty()) {
    read_.resize(near.size() * dim);
    for (std::size_t j = 0; j < near.size(); ++j) source_.read(near[j], &read_[j * dim]);
    std::iota(places_.begin(), places_.end(), 0U);
    vectors_ = read_.data();
  }
  score(source_.view(i, row_.data()), places_);
  near_.clear();
  for (std::uint32_t j = 0; j < near.size(); ++j) {
    // Overflow gives NaN.
    const float score =
        std::isnan(scores_[j]) ? -std::numeric_limits<float>::infinity() : scores_[j];
    near_.push_back({score, near[j], places_[j]});
  }
  std::sort(near_.begin(), near_.end(), [](const Near& a, const Near& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
  });
}

/// Incoming links of each row; those for which it ranks nearest come first.
struct Incoming {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> rows;

  explicit Incoming(const Links& links) {
    const std::size_t n = links.rows.size() / links.degree;
    offsets.assign(n + 1, 0);
    for (const std::uint32_t to : links.rows) {
      if (to != kNoLink) ++offsets[to + 1];
    }
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    rows.resize(offsets.back());
    auto next = offsets;
    for (std::uint32_t j = 0; j < links.degree; ++j) {
      for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t to = links.of(i)[j];
        if (to != kNoLink) rows[next[to]++] = i;
      }
    }
  }
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t i) const {
    return std::span(rows).subspan(offsets[i], offsets[i + 1] - offsets[i]);
  }
};

/// Makes each row reachable: a row without incoming links replaces the last replaceable link of a
/// near row. A link is replaceable if its target has other incoming links. Few links of a row are
/// replaced.
class LinkToAll {
 public:
  explicit LinkToAll(Links& links)
      : links_(links),
        n_incoming_(links.rows.size() / links.degree, 0),
        n_given_(n_incoming_.size(), 0) {
    for (const std::uint32_t to : links.rows) {
      if (to != kNoLink) ++n_incoming_[to];
    }
  }

  void run() {
    for (std::uint32_t i = 0; i < n_incoming_.size(); ++i) {
      for (std::uint32_t j = 0; n_incoming_[i] == 0 && j < links_.degree; ++j) {
        if (links_.of(i)[j] == kNoLink) break;
        link(links_.of(i)[j], i);
      }
    }
  }

 private:
  void link(std::uint32_t from, std::uint32_t to) {
    constexpr std::uint32_t kLinksPerReplacedLink = 4;
    if (n_given_[from] == links_.degree / kLinksPerReplacedLink) return;
    const auto out =
        std::span(links_.rows).subspan(std::size_t{from} * links_.degree, links_.degree);
    const auto last = std::find_if(out.rbegin(), out.rend(), [this](std::uint32_t row) {
      return row == kNoLink || n_incoming_[row] > 1;
    });
    if (last == out.rend()) return;
    if (*last != kNoLink) --n_incoming_[*last];
    *last = to;
    ++n_incoming_[to];
    ++n_given_[from];
  }

  Links& links_;
  std::vector<std::uint32_t> n_incoming_;
  std::vector<std::uint32_t> n_given_;
};

class LinkBuilder {
 public:
  LinkBuilder(const RowSource& source, const CandidateSearch& lists, const LinkParams& params,
              const BuildContext& context)
      : source_(source),
        lists_(lists),
        params_(params),
        context_(context),
        numbers_(source.numbers()),
        order_(order_of_lists()),
        all_(RowFilter::all(source.column().n_rows)),
        on_device_(lists.lists(), lists.second()) {
    gpu::Devices* const devices = context.devices;
    if (devices == nullptr || !devices->is_useful() || !devices->do_help_builds()) return;
    if (lists.lists().code_bytes() >= devices->min_bytes()) devices_ = devices;
  }

  Result<Links> build() {
    Links near;
    const std::uint32_t n_together = devices_ != nullptr ? kLinkedRowsPerJob : kLinkedRowsPerTask;
    QV_TRY(near, pass(n_together, [&](std::span<const std::uint32_t> rows, Chooser& chooser,
                                      Links& out) { return choose_near(rows, chooser, out); }));
    const Incoming incoming(near);
    Links links;
    const auto choose_again = [&](std::span<const std::uint32_t> rows, Chooser& chooser,
                                  Links& out) -> Result<> {
      for (const std::uint32_t i : rows) {
        QV_TRY(context_.cancel.check());
        choose_among_all(i, near, incoming, chooser, out.of(i));
      }
      return {};
    };
    QV_TRY(links, pass(kLinkedRowsPerTask, choose_again));
    LinkToAll(links).run();
    return links;
  }

 private:
  /// All rows, list by list: near rows have the same candidates, and read them while caches hold
  /// them.
  [[nodiscard]] std::vector<std::uint32_t> order_of_lists() const {
    auto order = lists_.lists().rows_by_list(source_.column().n_rows);
    for (std::uint32_t& row : order) row = numbers_[row];
    return order;
  }

  /// Calls `fn(rows, chooser, links)` for all rows, `n_together` at a time, on all threads; returns
  /// the links.
  template <class F>
  Result<Links> pass(std::uint32_t n_together, F&& fn) {
    Links links{params_.degree, {}};
    links.rows.assign(std::size_t{source_.n()} * params_.degree, kNoLink);
    const auto n_rows = static_cast<std::uint32_t>(order_.size());
    const std::size_t n_tasks = (n_rows + n_together - 1) / n_together;
    for_each(context_, n_tasks, [&](std::size_t task) {
      Chooser chooser(source_);
      const auto first = static_cast<std::uint32_t>(task * n_together);
      const std::uint32_t n = std::min(n_rows - first, n_together);
      auto done = fn(std::span<const std::uint32_t>(order_).subspan(first, n), chooser, links);
      if (!done) return fail_with(std::move(done));
      report(n);
    });
    MutexLock lock(mutex_);
    if (!status_) return tl::unexpected(status_.error());
    return links;
  }

  void fail_with(Result<> status) {
    MutexLock lock(mutex_);
    if (status_) status_ = std::move(status);
  }

  /// Reports rows done in both passes, each half of the work.
  void report(std::uint32_t n) {
    const std::uint64_t n_done = n_done_.fetch_add(n) + n;
    if (context_.progress) context_.progress(n_done / 2);
  }

  /// Row by row, or all at once if a device has the lists by now.
  Result<> choose_near(std::span<const std::uint32_t> rows, Chooser& chooser, Links& out) const {
    if (devices_ != nullptr) {
      on_device_.want(*devices_);
      if (on_device_.are_there()) return choose_near_with_device(rows, chooser, out);
    }
    for (const std::uint32_t i : rows) {
      QV_TRY(context_.cancel.check());
      QV_TRY(order_nearest(i, params_.candidates, chooser));
      QV_TRY(choose_ordered(i, chooser, out));
    }
    return {};
  }

  /// Of candidates that `chooser` has in order.
  Result<> choose_ordered(std::uint32_t i, Chooser& chooser, Links& out) const {
    if (chooser.leads_nowhere(i))
      QV_TRY(order_nearest(i, kWideSearchFactor * params_.candidates, chooser));
    chooser.choose(out.of(i));
    return {};
  }

  Result<> choose_near_with_device(std::span<const std::uint32_t> rows, Chooser& chooser,
                                   Links& out) const {
    const std::uint32_t dim = source_.column().dense().dim;
    std::vector<float> vectors(rows.size() * dim);
    std::vector<CandidateRequest> requests;
    WorkCounters work;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const std::span vector(&vectors[j * dim], dim);
      source_.read_stored(rows[j], vector.data());
      requests.push_back(request_of(vector, params_.candidates, work));
    }
    const DeviceHelp help{on_device_, *devices_, nullptr};
    return lists_.find_each_assisted(
        requests, help, [&](std::size_t j, const ListCandidates& found, WorkCounters&) -> Result<> {
          QV_TRY(order_found(rows[j], requests[j], found, chooser));
          return choose_ordered(rows[j], chooser, out);
        });
  }

  [[nodiscard]] CandidateRequest request_of(std::span<const float> vector, std::size_t n,
                                            WorkCounters& work) const {
    const std::size_t k = std::min<std::size_t>(n, source_.n());
    ListsSearchParams effort;
    effort.effort = params_.effort;
    return {.vector = vector,
            .k = k,
            .params = lists_.settled(effort, k),
            .filter = all_,
            .n_allowed = source_.n(),
            .cancel = context_.cancel,
            .work = work};
  }

  Result<> order_nearest(std::uint32_t i, std::size_t n, Chooser& chooser) const {
    thread_local std::vector<float> query;
    query.resize(source_.column().dense().dim);
    source_.read_stored(i, query.data());
    WorkCounters work;
    const CandidateRequest request = request_of(query, n, work);
    QV_TRY(const auto found, lists_.find(request));
    return order_found(i, request, found, chooser);
  }

  /// Gives `chooser` the rows found. If they are too few, more lists are scanned.
  Result<> order_found(std::uint32_t i, CandidateRequest request, ListCandidates found,
                       Chooser& chooser) const {
    thread_local std::vector<std::uint32_t> near;
    if (found.rows.size() < request.k) {
      request.params.nprobe = n_lists_of(kScannedRowsPerWanted * request.k);
      QV_TRY(found, lists_.find(request));
    }
    near.clear();
    for (const std::uint32_t row : found.rows) {
      const std::uint32_t number = numbers_[row];
      if (number != i) near.push_back(number);
    }
    chooser.order(i, near);
    return {};
  }

  /// Number of lists that hold about `n_rows` rows.
  [[nodiscard]] std::uint32_t n_lists_of(std::size_t n_rows) const {
    constexpr std::size_t kMinLists = 16;
    const auto& lists = lists_.lists();
    const std::size_t per_list = lists.rows().size() / std::max(1U, lists.n_lists()) + 1;
    return static_cast<std::uint32_t>(std::max(kMinLists, n_rows / per_list + 1));
  }

  void choose_among_all(std::uint32_t i, const Links& near, const Incoming& incoming,
                        Chooser& chooser, std::span<std::uint32_t> out) const {
    thread_local std::vector<std::uint32_t> all;
    all.clear();
    for (const std::uint32_t to : near.of(i)) {
      if (to != kNoLink) all.push_back(to);
    }
    auto from = incoming.of(i);
    from = from.first(std::min(from.size(), kMaxIncomingLinks));
    all.insert(all.end(), from.begin(), from.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    chooser.order(i, all);
    chooser.choose(out);
  }

  const RowSource& source_;
  const CandidateSearch& lists_;
  const LinkParams& params_;
  const BuildContext& context_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint32_t> order_;
  RowFilter all_;
  DeviceLists on_device_;
  gpu::Devices* devices_ = nullptr;  ///< that may find candidates
  std::atomic<std::uint64_t> n_done_ = 0;
  Mutex mutex_;
  Result<> status_;
};

}  // namespace

Result<Links> choose_links(const RowSource& source, const CandidateSearch& lists,
                           const LinkParams& params, const BuildContext& context) {
  return LinkBuilder(source, lists, params, context).build();
}

}  // namespace quiver::index::dense
