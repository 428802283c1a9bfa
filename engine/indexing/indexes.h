// The vector indexes of a sealed segment's fields: type, directory, building and opening, all
// through the contract of index/index.h.
//
// An index is a cache over the segment's rows. A field whose index is missing or damaged is
// searched exactly until it is rebuilt. A field whose build parameters changed is searched with the
// old index until then.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "base/threads/executor.h"
#include "engine/indexing/query_samples.h"
#include "engine/model/config.h"
#include "engine/segment/segment.h"
#include "index/index.h"

namespace quiver::engine {

/// Chooses the index type of a field; never nullptr.
using IndexChooser = std::function<const index::IndexType*(const FieldSchema&)>;

/// `ivf` for dense, `seismic` for sparse, `multi` for multi-vector fields; `flat` if that type does
/// not support the field.
[[nodiscard]] const index::IndexType* default_index(const FieldSchema& schema);
/// The type `flat` of exact search.
[[nodiscard]] const index::IndexType* flat_index();

/// Which fields of which segments are indexed, and how.
struct IndexPolicy {
  IndexChooser choose = default_index;
  /// A field of a segment with fewer bytes of vectors is searched exactly; nullopt:
  /// `usual_min_bytes`.
  std::optional<std::uint64_t> min_bytes;
  /// Exceptions for single fields; nullptr: none.
  std::shared_ptr<const VectorIndexConfigs> fields = nullptr;
};

/// The type of a field's indexes: the one that its build parameter `type` names, else the policy's
/// choice. Never nullptr.
[[nodiscard]] const index::IndexType* wanted_type(const FieldSchema& field,
                                                  const IndexPolicy& policy);
/// The policy of a collection's configuration.
[[nodiscard]] IndexPolicy index_policy(const IndexChooser& choose,
                                       const std::shared_ptr<const CollectionConfig>& config);
/// Bytes from which an index saves more than the rest of a request costs: docs/decisions/0014.
[[nodiscard]] std::uint64_t usual_min_bytes(const FieldSchema& schema);

/// kInvalidArgument if `field` cannot be indexed with `config`: names what is unknown or out of
/// range. The build parameter `type` names another index type than the default.
[[nodiscard]] Result<> check_build_values(const FieldSchema& field,
                                          const VectorIndexConfig& config);

/// The type, and build parameters that differ from the defaults: `ivf-bits=4`.
[[nodiscard]] std::string to_string(const IndexSpec& spec);
/// Directory of an index below that of its segment: `index-<field>-` and the former, or its hash if
/// that is long.
[[nodiscard]] std::string index_directory(std::size_t field, const IndexSpec& spec);

/// True if large enough segments of such fields have indexes.
[[nodiscard]] bool has_indexes(const std::vector<FieldSchema>& fields, const IndexPolicy& policy);
/// True if a field of a sealed segment should have an index but has none.
[[nodiscard]] bool lacks_index(const SegmentData& data, std::size_t field,
                               const IndexPolicy& policy);
/// Numbers of the fields that should have an index but have none or another. Empty if `data` is not
/// sealed.
[[nodiscard]] std::vector<std::size_t> missing_indexes(const SegmentData& data,
                                                       const IndexPolicy& policy);
/// True if a field of a sealed segment has an index, or would have one if it were larger. Then
/// merging helps: an index search costs little more in a large segment than in a small one, and
/// sparse searches repeat some work in each segment.
[[nodiscard]] bool may_gain_by_merging(const SegmentData& data, const IndexPolicy& policy);
/// Numbers of the fields that have an index but should have none, whatever their size.
[[nodiscard]] std::vector<std::size_t> unwanted_indexes(const SegmentData& data,
                                                        const IndexPolicy& policy);

/// Opens the indexes of a sealed segment in the segment's `directory`. False if one could not be
/// opened: its field is then searched exactly, and the reason is logged.
bool open_indexes(SegmentData& data, const Directory& directory, const IndexPolicy& policy);

struct BuiltFieldIndex {
  std::size_t field = 0;
  IndexSpec spec;
  std::shared_ptr<const index::Searcher> searcher;
  std::shared_ptr<const MappedFiles> files;  ///< files that it reads
};

struct IndexBuild {
  const IndexPolicy& policy;
  const Cancel& cancel;
  Executor* executor = nullptr;                    ///< nullptr: stay on the calling thread
  std::function<void(double)> progress = nullptr;  ///< receives the share done
  const QuerySamples* queries = nullptr;           ///< recorded queries; nullptr: none
  std::optional<std::size_t> rebuilt_field = {};   ///< a field whose index is rebuilt
  std::span<const Segment> inputs = {};  ///< segments whose rows were merged into this one
  gpu::Devices* devices = nullptr;       ///< that may help; nullptr: none
};

/// Builds the missing indexes of a sealed segment below `segments`, then that of
/// `build.rebuilt_field`, and opens them. Replaced indexes are removed. Durable on return. An index
/// gets its name when all its files are complete. After an error the failed one leaves nothing;
/// those before it stay, and so does the one it was to replace.
[[nodiscard]] Result<std::vector<BuiltFieldIndex>> build_indexes(const SegmentData& data,
                                                                 Directory& segments,
                                                                 const IndexBuild& build);
/// Makes `data` search with them.
void install_indexes(SegmentData& data, std::vector<BuiltFieldIndex> built);
/// Makes the field search exactly.
void uninstall_index(SegmentData& data, std::size_t field);
/// Removes the directories of all indexes of a field except `kept`. Failures are logged.
void remove_indexes(Directory& directory, std::size_t field, const std::string& kept = {});

}  // namespace quiver::engine
