#include "engine/query/joins/node_links.h"

#include <fmt/format.h>

#include <algorithm>
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

void NodeLinks::sort_and_drop_repeated() {
  std::uint64_t n = 0;
  for (std::size_t node = 0; node < n_nodes(); ++node) {
    const auto first = others_.begin() + static_cast<std::ptrdiff_t>(offsets_[node]);
    const auto end = others_.begin() + static_cast<std::ptrdiff_t>(offsets_[node + 1]);
    std::sort(first, end);
    const auto distinct = std::unique(first, end);
    const auto target = others_.begin() + static_cast<std::ptrdiff_t>(n);
    if (target != first) std::copy(first, distinct, target);
    offsets_[node] = n;
    n += static_cast<std::uint64_t>(distinct - first);
  }
  offsets_.back() = n;
  others_.resize(n);
}

NodeLinks links_of(const KnnGraph& graph) {
  const auto n = static_cast<std::uint32_t>(graph.n_rows());
  return {n, [&](auto&& visit) {
            for (std::uint32_t row = 0; row < n; ++row) {
              for (const Neighbour& to : graph.of(row)) visit(row, to.position);
            }
          }};
}

Result<NodeLinks> links_in_payloads(const SearchEnvironment& environment, const JoinRows& rows,
                                    std::string_view path, JoinProgress& progress) {
  QV_TRY(const auto parsed, payload::JsonPath::parse(path));
  std::vector<NodeLink> links;
  const auto n = static_cast<std::uint32_t>(rows.size());
  for (std::uint32_t row = 0; row < n; ++row) {
    if (row % kRowsPerCheck == 0) QV_TRY(environment.cancel.check());
    const auto place = rows.place(row);
    const std::string_view text = rows.parts()[place.part].segment->data->documents[place.row];
    const auto document =
        text.empty() ? Result<payload::Value>(payload::Value()) : payload::parse_json(text);
    if (!document) {
      return fail(Code::kDataLoss,
                  fmt::format("the payload of point {} is no JSON", rows.ids()[row].to_string()));
    }
    payload::for_each_element(*document, parsed, [&](const payload::Value& value) {
      const auto id = id_in(value);
      const auto to = id ? position_of(rows, *id) : std::nullopt;
      if (to && *to != row) links.push_back({row, *to});
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
