// Verbs about collections, aliases and payload indexes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/schema.h"
#include "engine/model/config.h"
#include "engine/model/reports.h"
#include "payload/schema.h"
#include "service/api/call.h"

namespace quiver::engine {
class Collection;
}

namespace quiver::service::api {

/// A collection that a call found. Verbs take it in place of a name, so that a transport can decode
/// a request once it knows the collection.
struct OpenCollection {
  std::string_view name;  ///< as the caller wrote it; valid until the call is answered
  std::shared_ptr<engine::Collection> collection;
};

/// Live points of a collection that reads may go through on this machine; 0 if it asks other ones.
[[nodiscard]] std::uint64_t n_rows(const OpenCollection& target);

/// Keeps the call off threads that others need if the collection of this name or alias asks other
/// machines. `open_collection` does so, too.
void note_waits(Call& call, const std::string& name);

/// Finds a collection by name or alias and opens it if it is not open. Answers at once if it is
/// open. kNotFound if there is none. `name` is valid until the call is answered.
void open_collection(Call& call, const std::string& name, Done<OpenCollection> done);

/// Those that the caller may read.
[[nodiscard]] Result<std::vector<std::string>> collection_names(Call& call);
[[nodiscard]] Result<bool> collection_exists(Call& call, const std::string& name);
/// kNotFound if there is none.
[[nodiscard]] Result<> check_exists(Call& call, const std::string& name);

/// kInvalidArgument for a name that no collection can have, kAlreadyExists.
void create_collection(Call& call, std::string name, engine::CollectionConfig config, Done<> done);
/// Stores durably what `change` makes of a copy of the configuration.
void update_collection(Call& call, std::string name,
                       std::function<Result<>(engine::CollectionConfig&)> change, Done<> done);
/// Adds a vector field: `add` puts it into a copy of the configuration. Existing points lack the
/// vector. On answer the field is durable and in force. A transport decodes `add` from a body
/// `{"dense": {…}}` or `{"sparse": {…}}` (`json::VectorCreation`).
void create_vector(Call& call, std::string name,
                   std::function<Result<>(engine::CollectionConfig&)> add, Done<> done);
/// Drops a vector field with all its vectors (`json::VectorDeletion`). A field of that name created
/// later begins empty.
void delete_vector(Call& call, std::string name,
                   std::function<Result<>(engine::CollectionConfig&)> remove, Done<> done);
/// Answers false if there was none.
void drop_collection(Call& call, std::string name, Done<bool> done);

[[nodiscard]] Result<engine::CollectionInfo> collection_info(Call& call,
                                                             const OpenCollection& target);
[[nodiscard]] Result<engine::OptimizationReport> optimizations(Call& call,
                                                               const OpenCollection& target);

/// The indexes of all segments, and how those of each field are configured.
struct SegmentIndexes {
  std::vector<engine::SegmentIndexInfo> indexes;
  engine::VectorIndexConfigs configs;
  std::vector<engine::SegmentAttributesInfo> attributes;
};
[[nodiscard]] Result<SegmentIndexes> segment_indexes(Call& call, const OpenCollection& target);
/// The vector field of this name; kInvalidArgument if there is none.
[[nodiscard]] Result<FieldSchema> vector_field(const OpenCollection& target,
                                               const std::string& name);

/// With kVisible the answer comes when the index answers for every segment, which may take minutes.
void create_index(Call& call, const OpenCollection& target, payload::FieldIndex index,
                  engine::Ack ack, Done<> done);
/// Answers false if there was none.
void drop_index(Call& call, const OpenCollection& target, std::string key, Done<bool> done);

}  // namespace quiver::service::api
