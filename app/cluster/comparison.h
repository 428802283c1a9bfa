// `quiver cluster check`: do all nodes hold the same points?
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/cluster/options.h"
#include "base/result.h"
#include "payload/json/document.h"

namespace quiver::app {

/// Compares every point of every collection on all nodes, with payload and vectors, and prints a
/// line for each collection and each point that differs. Points that differ are read again, with
/// `consistency`, so changes that are on their way do not count. kDataLoss if a point differs.
[[nodiscard]] Result<> run_cluster_check(const ClusterStatusOptions& options);

/// A point of a page: its text, by the text of its id.
using PointTexts = std::map<std::string, std::string>;
/// The points of an array, as `/points` and `/points/scroll` answer them.
[[nodiscard]] PointTexts point_texts(const payload::Value& points);
/// Ids of points that are not on all pages, or not alike, as texts of JSON.
[[nodiscard]] std::vector<std::string> differing_ids(const std::vector<PointTexts>& pages);

}  // namespace quiver::app
