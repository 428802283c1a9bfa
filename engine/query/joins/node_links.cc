#include "engine/query/joins/node_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "payload/json/document.h"
#include "payload/json/path.h"

namespace quiver::engine {
namespace {

constexpr std::uint32_t kRowsPerCheck = 256;

std::optional<PointId> id_in(const payload::Value& value) {
  if (const auto number = value.as_unsigned()) return PointId::number(*number);
  const std::string* text = value.as_string();
  return text == nullptr ? std::nullopt : PointId::parse_uuid(*text);
}

std::optional<std::uint32_t> position_of(const JoinRows& rows, const PointId& id) {
  const auto ids = rows.ids();
  const auto at = std::lower_bound(ids.begin(), ids.end(), id);
  if (at == ids.end() || *at != id) return std::nullopt;
  return static_cast<std::uint32_t>(at - ids.begin());
}

}  // namespace

NodeLinks::NodeLinks(std::size_t n_nodes, std::span<const NodeLink> links)
    : offsets_(n_nodes + 1, 0) {
  for (const auto& [from, to] : links) {
    if (from == to) continue;
    ++offsets_[from + 1];
    ++offsets_[to + 1];
  }
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
  others_.resize(offsets_.back());
  auto next = offsets_;
  for (const auto& [from, to] : links) {
    if (from == to) continue;
    others_[next[from]++] = to;
    others_[next[to]++] = from;
  }
  sort_and_drop_repeated();
}

void NodeLinks::sort_and_drop_repeated() {
  std::uint64_t n = 0;
  for (std::size_t node = 0; node < n_nodes(); ++node) {
    const auto first = others_.begin() + static_cast<std::ptrdiff_t>(offsets_[node]);
    const auto end = others_.begin() + static_cast<std::ptrdiff_t>(offsets_[node + 1]);
    std::sort(first, end);
    const auto distinct = std::unique(first, end);
    offsets_[node] = n;
    std::copy(first, distinct, others_.begin() + static_cast<std::ptrdiff_t>(n));
    n += static_cast<std::uint64_t>(distinct - first);
  }
  offsets_.back() = n;
  others_.resize(n);
}

NodeLinks links_of(const KnnGraph& graph) {
  std::vector<NodeLink> links;
  const auto n = static_cast<std::uint32_t>(graph.n_rows());
  for (std::uint32_t row = 0; row < n; ++row) {
    for (const Neighbour& to : graph.of(row)) links.push_back({row, to.position});
  }
  return {n, links};
}

Result<NodeLinks> links_in_payloads(const SearchEnvironment& environment, const JoinRows& rows,
                                    std::string_view path, JoinProgress& progress) {
  QV_TRY(const auto parsed, payload::JsonPath::parse(path));
  std::vector<NodeLink> links;
  const auto n = static_cast<std::uint32_t>(rows.size());
  progress.n_total += n;
  for (std::uint32_t row = 0; row < n; ++row) {
    if (row % kRowsPerCheck == 0) QV_TRY(environment.cancel.check());
    const auto place = rows.place(row);
    const std::string_view text = rows.parts()[place.part].segment->data->documents[place.row];
    payload::Value document;
    if (!text.empty()) {
      QV_TRY(document, payload::parse_json(text));
    }
    payload::for_each_element(document, parsed, [&](const payload::Value& value) {
      const auto id = id_in(value);
      const auto to = id ? position_of(rows, *id) : std::nullopt;
      if (to) links.push_back({row, *to});
    });
    if (links.size() > kMaxJoinEntries) {
      return fail(Code::kInvalidArgument,
                  fmt::format("more than {} links at `{}` are too many: filter the points",
                              kMaxJoinEntries, path));
    }
    ++progress.n_done;
  }
  return NodeLinks(n, links);
}

}  // namespace quiver::engine
