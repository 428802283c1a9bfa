// Marks the words of a request in the payloads that answer it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/model/config.h"
#include "engine/model/query.h"
#include "engine/segment/segment.h"
#include "payload/json/path.h"
#include "payload/text/highlight.h"

namespace quiver::engine {

/// Knows the words of one request. One thread.
class RecordHighlighter {
 public:
  /// nullptr if the request wants no highlights. kInvalidArgument for a field that is no path, and
  /// if the request has no words.
  [[nodiscard]] static Result<std::unique_ptr<RecordHighlighter>> of(
      const Query& query, const CollectionConfig& config);
  [[nodiscard]] static Result<std::unique_ptr<RecordHighlighter>> of(
      const ScrollRequest& request, const CollectionConfig& config);

  /// For one row. kDataLoss if its payload cannot be read.
  [[nodiscard]] Result<std::vector<FieldHighlights>> run(const Segment& segment, std::uint32_t row);

 private:
  struct Field {
    std::string name;
    payload::JsonPath path;
    std::unique_ptr<payload::Analyzer> analyzer;
    payload::HighlightTokens tokens;
  };
  class Words;

  explicit RecordHighlighter(payload::HighlightOptions options) : options_(std::move(options)) {}
  [[nodiscard]] static Result<std::unique_ptr<RecordHighlighter>> of(
      const Highlight& highlight, const Words& words, const CollectionConfig& config);

  const payload::HighlightOptions options_;
  std::vector<Field> fields_;
};

}  // namespace quiver::engine
