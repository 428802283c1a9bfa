#include "app/cluster/comparison.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "app/cluster/answer.h"
#include "service/client/server_connection.h"

namespace quiver::app {
namespace {

using payload::Value;

constexpr int kPagePoints = 500;
constexpr int kReadings = 5;
constexpr std::chrono::milliseconds kReadAgain{300};
/// Of a collection; the rest is counted.
constexpr std::size_t kShownPoints = 20;

struct ComparedNode {
  std::string url;
  std::unique_ptr<client::ServerConnection> connection;
};

Result<ComparedNode> connect(const std::string& url, const ClusterStatusOptions& options) {
  QV_TRY(client::Endpoint endpoint, client::parse_url(url));
  endpoint.ca_file = options.ca;
  return ComparedNode{url, std::make_unique<client::ServerConnection>(endpoint, options.api_key)};
}

/// The `result` of an answer.
Result<Value> ask(ComparedNode& node, std::string_view method, const std::string& target,
                  std::string_view body) {
  QV_TRY(const client::HttpResponse answer, node.connection->exchange(method, target, body));
  if (answer.status != 200) {
    return fail(Code::kUnavailable, fmt::format("{}: {}", node.url, client::error_text(answer)));
  }
  QV_TRY(const Value document, payload::parse_json(answer.body));
  const Value* result = document.find("result");
  if (result != nullptr) return *result;
  return fail(Code::kInvalidArgument, fmt::format("{}: the answer has no result", node.url));
}

/// The elements of an array in an object; none if it is missing.
const payload::Array& array_of(const Value& object, std::string_view key) {
  static const payload::Array kNone;
  const Value* found = object.find(key);
  return found == nullptr || found->as_array() == nullptr ? kNone : *found->as_array();
}

Result<std::vector<ComparedNode>> nodes_of(const ClusterStatusOptions& options) {
  QV_TRY(ComparedNode asked, connect(options.url, options));
  QV_TRY(const Value cluster, ask(asked, "GET", "/cluster", ""));
  std::vector<ComparedNode> nodes;
  for (const Value& node : array_of(cluster, "nodes")) {
    QV_TRY(ComparedNode connected, connect(text_member(node, "http"), options));
    nodes.push_back(std::move(connected));
  }
  if (!nodes.empty()) return nodes;
  return fail(Code::kFailedPrecondition, "the server belongs to no cluster");
}

/// Compares one collection.
class Comparison {
 public:
  Comparison(std::vector<ComparedNode>& nodes, std::string path)
      : nodes_(nodes), path_(std::move(path)) {}

  Result<> run() {
    std::string offset;
    do {
      std::vector<PointTexts> pages;
      std::string next;
      for (ComparedNode& node : nodes_) {
        QV_TRY(const Value page, ask(node, "POST", path_ + "/points/scroll", question(offset)));
        const Value* points = page.find("points");
        if (points == nullptr) return fail(Code::kInvalidArgument, node.url + " answers no points");
        pages.push_back(point_texts(*points));
        const Value* next_id = page.find("next_page_offset");
        const bool is_first = &node == &nodes_.front();
        if (is_first && next_id != nullptr && !next_id->is_null()) next = to_json(*next_id);
      }
      n_points_ += pages.front().size();
      for (const std::string& id : differing_ids(pages)) QV_TRY(read_again(id));
      offset = next;
    } while (!offset.empty());
    return {};
  }

  [[nodiscard]] std::uint64_t n_points() const { return n_points_; }
  [[nodiscard]] const std::set<std::string>& differing() const { return differing_; }

 private:
  static std::string question(const std::string& offset) {
    return fmt::format(R"({{"limit":{},"with_payload":true,"with_vector":true{}{}}})", kPagePoints,
                       offset.empty() ? "" : R"(,"offset":)", offset);
  }

  /// The pages of two nodes may begin and end differently, and a change may be on its way.
  Result<> read_again(const std::string& id) {
    const std::string body =
        fmt::format(R"({{"ids":[{}],"with_payload":true,"with_vector":true}})", id);
    for (int i = 0; i < kReadings; ++i) {
      if (i != 0) std::this_thread::sleep_for(kReadAgain);
      std::vector<PointTexts> found;
      for (ComparedNode& node : nodes_) {
        QV_TRY(const Value points, ask(node, "POST", path_ + "/points?consistency=majority", body));
        found.push_back(point_texts(points));
      }
      if (differing_ids(found).empty()) return {};
    }
    differing_.insert(id);
    return {};
  }

  std::vector<ComparedNode>& nodes_;
  const std::string path_;
  std::uint64_t n_points_ = 0;
  std::set<std::string> differing_;
};

}  // namespace

PointTexts point_texts(const Value& points) {
  PointTexts texts;
  if (points.as_array() == nullptr) return texts;
  for (const Value& point : *points.as_array()) {
    const Value* id = point.find("id");
    if (id != nullptr) texts[to_json(*id)] = to_json(point);
  }
  return texts;
}

std::vector<std::string> differing_ids(const std::vector<PointTexts>& pages) {
  std::set<std::string> ids;
  for (const PointTexts& page : pages) {
    for (const auto& [id, text] : page) {
      for (const PointTexts& other : pages) {
        const auto found = other.find(id);
        if (found == other.end() || found->second != text) ids.insert(id);
      }
    }
  }
  return {ids.begin(), ids.end()};
}

Result<> run_cluster_check(const ClusterStatusOptions& options) {
  QV_TRY(auto nodes, nodes_of(options));
  QV_TRY(const Value listed, ask(nodes.front(), "GET", "/collections", ""));
  std::size_t n_differing = 0;
  for (const Value& item : array_of(listed, "collections")) {
    const std::string name = text_member(item, "name");
    Comparison comparison(nodes, "/collections/" + client::escape_segment(name));
    QV_TRY(comparison.run());
    const auto& differing = comparison.differing();
    fmt::print("{}: {} points, {} differ\n", name, comparison.n_points(), differing.size());
    std::size_t n_shown = 0;
    for (const std::string& id : differing) {
      if (n_shown++ == kShownPoints) break;
      fmt::print("  point {} is not the same on all nodes\n", id);
    }
    n_differing += differing.size();
  }
  if (n_differing == 0) return {};
  return fail(Code::kDataLoss,
              fmt::format("{} points are not the same on all {} nodes: empty the data directory of "
                          "the node that is wrong",
                          n_differing, nodes.size()));
}

}  // namespace quiver::app
