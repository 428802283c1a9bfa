#include "index/graph/links.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/mutex.h"
#include "base/result.h"
#include "index/parallel.h"
#include "kernels/kernels.h"

namespace quiver::index::graph {
namespace {

constexpr std::uint32_t kRowsOfATask = 64;
/// Where the lists nearest to a row hold too few, more are searched: of as many times what is
/// wanted.
constexpr std::size_t kTimesLists = 4;

/// Chooses links among rows; one thread.
class Chooser {
 public:
  explicit Chooser(const ivf::RowSource& source)
      : source_(source),
        kernel_(kernels().dense(Similarity::kNegL2Squared, RowType::kF32)),
        row_(source.dim()) {}

  /// Writes to `out`, of `degree` places. `near`: distinct, without `i`.
  void choose(std::uint32_t i, std::span<const std::uint32_t> near, std::span<std::uint32_t> out) {
    order(i, near);
    std::size_t n = take_diverse(out);
    for (std::size_t j = 0; j < near_.size() && n < out.size(); ++j) {
      if (!near_[j].is_taken) out[n++] = near_[j].row;
    }
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(n), out.end(), kNoLink);
  }

 private:
  struct Near {
    float score = 0;  ///< minus the square of the distance
    std::uint32_t row = 0;
    std::uint32_t place = 0;  ///< in `vectors_`
    bool is_taken = false;
  };

  void order(std::uint32_t i, std::span<const std::uint32_t> near) {
    const std::size_t dim = source_.dim();
    source_.read(i, row_.data());
    vectors_.resize(near.size() * dim);
    scores_.resize(near.size());
    for (std::size_t j = 0; j < near.size(); ++j) source_.read(near[j], &vectors_[j * dim]);
    score(row_.data());
    near_.clear();
    for (std::uint32_t j = 0; j < near.size(); ++j) near_.push_back({scores_[j], near[j], j});
    std::sort(near_.begin(), near_.end(), [](const Near& a, const Near& b) {
      return a.score != b.score ? a.score > b.score : a.row < b.row;
    });
  }

  void score(const float* row) {
    const std::size_t dim = source_.dim();
    kernel_.many(row, dim, reinterpret_cast<const std::byte*>(vectors_.data()), dim * sizeof(float),
                 scores_.size(), scores_.data());
  }

  /// Those that are no nearer to one that was taken than to the row.
  std::size_t take_diverse(std::span<std::uint32_t> out) {
    hidden_.assign(near_.size(), 0);
    std::size_t n = 0;
    for (auto& near : near_) {
      if (n == out.size()) break;
      if (hidden_[near.place] != 0) continue;
      near.is_taken = true;
      out[n++] = near.row;
      score(&vectors_[near.place * source_.dim()]);
      for (const Near& other : near_) {
        if (scores_[other.place] > other.score) hidden_[other.place] = 1;
      }
    }
    return n;
  }

  const ivf::RowSource& source_;
  const DenseKernels& kernel_;
  std::vector<float> row_;
  std::vector<float> vectors_;
  std::vector<float> scores_;
  std::vector<Near> near_;
  std::vector<std::uint8_t> hidden_;
};

/// Rows that link to each row.
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
    for (std::uint32_t i = 0; i < n; ++i) {
      for (const std::uint32_t to : links.of(i)) {
        if (to != kNoLink) rows[next[to]++] = i;
      }
    }
  }
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t i) const {
    return std::span(rows).subspan(offsets[i], offsets[i + 1] - offsets[i]);
  }
};

class Builder {
 public:
  Builder(const ivf::RowSource& source, const ivf::CandidateSearch& lists, const LinkParams& params,
          const BuildContext& context)
      : source_(source),
        lists_(lists),
        params_(params),
        context_(context),
        numbers_(source.numbers()) {}

  Result<Links> build() {
    Links near;
    QV_TRY(near, pass([&](std::uint32_t i, Chooser& chooser, std::span<std::uint32_t> out) {
             return choose_near(i, chooser, out);
           }));
    const Incoming incoming(near);
    return pass([&](std::uint32_t i, Chooser& chooser, std::span<std::uint32_t> out) -> Result<> {
      choose_among_all(i, near, incoming, chooser, out);
      return {};
    });
  }

 private:
  /// Calls `fn(i, chooser, out)` for each row, on all threads.
  template <class F>
  Result<Links> pass(F&& fn) {
    Links links{params_.degree, {}};
    links.rows.resize(std::size_t{source_.n()} * params_.degree);
    const std::size_t n_tasks = (source_.n() + kRowsOfATask - 1) / kRowsOfATask;
    for_each(context_, n_tasks, [&](std::size_t task) {
      if (auto status = context_.cancel.check(); !status) return fail_with(std::move(status));
      Chooser chooser(source_);
      const auto first = static_cast<std::uint32_t>(task * kRowsOfATask);
      const std::uint32_t end = std::min(source_.n(), first + kRowsOfATask);
      for (std::uint32_t i = first; i < end; ++i) {
        const std::size_t at = std::size_t{i} * params_.degree;
        auto done = fn(i, chooser, std::span(links.rows).subspan(at, params_.degree));
        if (!done) fail_with(std::move(done));
      }
      report(end - first);
    });
    MutexLock lock(mutex_);
    if (!status_) return tl::unexpected(status_.error());
    return links;
  }

  void fail_with(Result<> status) {
    MutexLock lock(mutex_);
    if (status_) status_ = std::move(status);
  }

  /// Of both passes, each of which is half of the work.
  void report(std::uint32_t n) {
    const std::uint64_t n_done = n_done_.fetch_add(n) + n;
    if (context_.progress) context_.progress(n_done / 2);
  }

  Result<> choose_near(std::uint32_t i, Chooser& chooser, std::span<std::uint32_t> out) {
    thread_local std::vector<float> query;
    thread_local std::vector<std::uint32_t> near;
    query.resize(source_.column().dense().dim);
    source_.read_stored(i, query.data());
    const FilterView all = FilterView::all(source_.column().n_rows);
    WorkCounters work;
    const std::size_t k = std::min<std::size_t>(params_.candidates, source_.n());
    ivf::SearchParams effort;
    effort.effort = params_.effort;
    ivf::CandidateRequest request{.vector = query,
                                  .k = k,
                                  .params = lists_.settled(effort, k),
                                  .filter = all,
                                  .n_allowed = source_.n(),
                                  .cancel = context_.cancel,
                                  .work = work};
    QV_TRY(auto found, lists_.find(request));
    if (found.rows.size() < k) {
      request.params.nprobe = n_lists_of(kTimesLists * k);
      QV_TRY(found, lists_.find(request));
    }
    near.clear();
    for (const std::uint32_t row : found.rows) {
      const std::uint32_t number = numbers_[row];
      if (number != i) near.push_back(number);
    }
    chooser.choose(i, near, out);
    return {};
  }

  /// That hold about so many rows.
  [[nodiscard]] std::uint32_t n_lists_of(std::size_t n_rows) const {
    constexpr std::size_t kLeast = 16;
    const auto& lists = lists_.lists();
    const std::size_t per_list = lists.rows().size() / std::max(1U, lists.n_lists()) + 1;
    return static_cast<std::uint32_t>(std::max(kLeast, n_rows / per_list + 1));
  }

  void choose_among_all(std::uint32_t i, const Links& near, const Incoming& incoming,
                        Chooser& chooser, std::span<std::uint32_t> out) const {
    thread_local std::vector<std::uint32_t> all;
    all.clear();
    for (const std::uint32_t to : near.of(i)) {
      if (to != kNoLink) all.push_back(to);
    }
    const auto from = incoming.of(i);
    all.insert(all.end(), from.begin(), from.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    chooser.choose(i, all, out);
  }

  const ivf::RowSource& source_;
  const ivf::CandidateSearch& lists_;
  const LinkParams& params_;
  const BuildContext& context_;
  std::vector<std::uint32_t> numbers_;
  std::atomic<std::uint64_t> n_done_ = 0;
  Mutex mutex_;
  Result<> status_;
};

}  // namespace

Result<Links> choose_links(const ivf::RowSource& source, const ivf::CandidateSearch& lists,
                           const LinkParams& params, const BuildContext& context) {
  return Builder(source, lists, params, context).build();
}

}  // namespace quiver::index::graph
