// What a query reads, and who helps it.
#pragma once

#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "engine/indexing/indexes.h"
#include "engine/indexing/query_samples.h"
#include "engine/model/config.h"
#include "engine/model/query_report.h"
#include "engine/recall/recall_watch.h"
#include "engine/segment/snapshot.h"

namespace quiver::engine {

/// Borrows all that it refers to, for the time of one query or batch.
struct SearchEnvironment {
  const Snapshot& snapshot;
  const CollectionConfig& config;
  const Cancel& cancel;
  Executor* executor = nullptr;  ///< nullptr: stay on the calling thread
  IndexPolicy indexes = {};
  index::WorkCounters* work = nullptr;  ///< the searches' work is added to it; nullptr: not counted
  QuerySamples* queries = nullptr;      ///< records queries given by value; nullptr: not recorded
  gpu::Devices* devices = nullptr;      ///< may help; nullptr: none
  StageReport* report = nullptr;        ///< of the running stage; nullptr: not reported
  RecallWatch* recall = nullptr;        ///< watches searches by recall; nullptr: nobody does
};

}  // namespace quiver::engine
