// The vector index of each field of a sealed segment: of which type it is, where its files lie, how
// they come there. All of it through the contract of index/index.h.
//
// An index is a cache over the segment's rows. A field whose index is missing or damaged is
// searched exactly until it is built again; one whose index is to be of other parameters is
// searched with the old one until then.
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

/// The type that a field's segments are indexed with; never nullptr.
using IndexChooser = std::function<const index::IndexType*(const FieldSchema&)>;

/// Dense fields: `ivf`; sparse ones: `seismic`; multi-vectors: `multi`; where that does not support
/// the field: `flat`.
[[nodiscard]] const index::IndexType* default_index(const FieldSchema& schema);
/// What exact searchers stand under.
[[nodiscard]] const index::IndexType* flat_index();

/// Which segments are indexed, and how.
struct IndexPolicy {
  IndexChooser choose = default_index;
  /// Vectors of a field that take less than this in a segment are searched exactly; nothing:
  /// `usual_min_bytes`.
  std::optional<std::uint64_t> min_bytes;
  /// What is otherwise for some fields; nullptr: nothing.
  std::shared_ptr<const VectorIndexConfigs> fields = nullptr;
};

/// As the collection's configuration has it.
[[nodiscard]] IndexPolicy index_policy(const IndexChooser& choose,
                                       const std::shared_ptr<const CollectionConfig>& config);
/// The size from which an index saves a search more than the rest of a request costs:
/// docs/decisions/0014.
[[nodiscard]] std::uint64_t usual_min_bytes(const FieldSchema& schema);

/// kInvalidArgument if segments of `field` cannot be indexed as `config` has it: the text names
/// what is unknown or out of its range.
[[nodiscard]] Result<> check_build_values(const FieldSchema& field,
                                          const VectorIndexConfig& config);

/// The type, and what it is built with beside the defaults: `ivf-bits=4`.
[[nodiscard]] std::string to_string(const IndexSpec& spec);
/// `index-<field>-` and the former, or a hash of it where that is long: the directory of an index,
/// below that of its segment.
[[nodiscard]] std::string index_directory(std::size_t field, const IndexSpec& spec);

/// True if segments of such fields have indexes, where they are large enough.
[[nodiscard]] bool has_indexes(const std::vector<FieldSchema>& fields, const IndexPolicy& policy);
/// True if a field of a sealed segment should have an index and is searched without.
[[nodiscard]] bool lacks_index(const SegmentData& data, std::size_t field,
                               const IndexPolicy& policy);
/// Numbers of the fields that should have an index and have none or another. None if `data` is not
/// sealed.
[[nodiscard]] std::vector<std::size_t> missing_indexes(const SegmentData& data,
                                                       const IndexPolicy& policy);
/// True if a field of a sealed segment has an index or would have one if it were larger: a search
/// through an index costs about as much in many rows as in some, or, of sparse fields, does some of
/// its work anew in each segment.
[[nodiscard]] bool may_gain_by_merging(const SegmentData& data, const IndexPolicy& policy);
/// Numbers of the fields that have an index and should have none whatever their size.
[[nodiscard]] std::vector<std::size_t> unwanted_indexes(const SegmentData& data,
                                                        const IndexPolicy& policy);

/// Opens what indexes there are of a sealed segment, in the segment's own `directory`. False if one
/// could not be opened: its field is then searched exactly, and the log says why.
bool open_indexes(SegmentData& data, const Directory& directory, const IndexPolicy& policy);

struct BuiltIndex {
  std::size_t field = 0;
  IndexSpec spec;
  std::shared_ptr<const index::Searcher> searcher;
  std::shared_ptr<const MappedFiles> files;  ///< that it reads
};

struct IndexBuild {
  const IndexPolicy& policy;
  const Cancel& cancel;
  Executor* executor = nullptr;                    ///< nullptr: stay on the calling thread
  std::function<void(double)> progress = nullptr;  ///< gets the share done
  const QuerySamples* queries = nullptr;           ///< what is remembered of them, if anything
  std::optional<std::size_t> anew = {};            ///< a field whose index is not wanted as it is
  std::span<const Segment> inputs = {};            ///< whose rows are written anew in the segment
};

/// Builds the missing indexes of a sealed segment below `segments`, then that of `build.anew`, and
/// opens them; those in whose place they come are removed. Durable on return. An index appears
/// under its name when all its files are there; after an error nothing of the one that failed
/// stays, those before it do, and so does what it was to replace.
[[nodiscard]] Result<std::vector<BuiltIndex>> build_indexes(const SegmentData& data,
                                                            Directory& segments,
                                                            const IndexBuild& build);
/// From here on `data` is searched with them.
void install_indexes(SegmentData& data, std::vector<BuiltIndex> built);
/// From here on the field is searched exactly.
void uninstall_index(SegmentData& data, std::size_t field);
/// Removes the directories of all indexes of a field but `kept`, the name of one; a failure is
/// logged.
void remove_indexes(Directory& directory, std::size_t field, const std::string& kept = {});

}  // namespace quiver::engine
