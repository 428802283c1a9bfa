// Changes of points.
#include <fmt/format.h>

#include "service/grpc/messages/decode.h"
#include "service/grpc/messages/values.h"

namespace quiver::service::rpc {
namespace {

using engine::Operation;
using engine::PointInput;
using engine::PointSelector;
using Points = google::protobuf::RepeatedPtrField<qdrant::PointStruct>;
using PointVectors = google::protobuf::RepeatedPtrField<qdrant::PointVectors>;

Decoded<PointInput> decode_point(const qdrant::PointStruct& point, const Path& path) {
  PointInput decoded;
  QV_TRY(decoded.id, decode_id(point.id(), path.member("id")));
  QV_TRY(decoded.vectors, decode_vectors(point.vectors(), path.member("vector")));
  if (!point.payload().empty()) {
    QV_TRY(decoded.payload, to_json(point.payload(), path.member("payload")));
  }
  return decoded;
}

/// `Request`: of points that have `update_filter` and `update_mode`.
template <class Request>
Decoded<Operation> decode_upsert(const Request& request, const Path& path) {
  engine::Upsert upsert;
  upsert.points.reserve(static_cast<std::size_t>(request.points_size()));
  const Path at_points = path.member("points");
  for (const auto& point : request.points()) {
    QV_TRY(auto decoded, decode_point(point, at_points.item(upsert.points.size())));
    upsert.points.push_back(std::move(decoded));
  }
  switch (static_cast<int>(request.update_mode())) {
    case qdrant::Upsert:
      break;
    case qdrant::InsertOnly:
      upsert.mode = engine::UpsertMode::kInsertOnly;
      break;
    case qdrant::UpdateOnly:
      upsert.mode = engine::UpsertMode::kUpdateOnly;
      break;
    default:
      return format_error(path.member("update_mode"),
                          fmt::format("unknown variant `{}`, expected 0, 1 or 2",
                                      static_cast<int>(request.update_mode())));
  }
  if (request.has_update_filter()) {
    QV_TRY(upsert.update_filter,
           decode_filter(request.update_filter(), path.member("update_filter")));
  }
  return Operation(std::move(upsert));
}

Decoded<PointSelector> decode_selector(const qdrant::PointsSelector& selector, const Path& path) {
  if (selector.has_points()) {
    QV_TRY(auto ids, decode_ids(selector.points().ids(), path.member("points")));
    return PointSelector(std::move(ids));
  }
  if (selector.has_filter()) {
    QV_TRY(auto filter, decode_filter(selector.filter(), path.member("filter")));
    return PointSelector(std::move(filter));
  }
  return validation_error(path.member("filter"),
                          "Either list of point ids or filter must be provided");
}

/// `Change`: a DeletePoints or a ClearPayload.
template <class Change>
Decoded<Operation> decode_selected(const qdrant::PointsSelector& selector, const Path& path) {
  QV_TRY(auto points, decode_selector(selector, path));
  return Operation(Change{std::move(points)});
}

/// `Change`: a SetPayload or an OverwritePayload.
template <class Change, class Request>
Decoded<Operation> decode_payload_change(const Request& request, const Path& path) {
  Change change;
  QV_TRY(change.payload, to_json(request.payload(), path.member("payload")));
  if (request.has_key()) {
    change.key = request.key();
    if (auto parsed = payload::JsonPath::parse(*change.key); !parsed) {
      return format_error(path.member("key"), parsed.error().message());
    }
  }
  QV_TRY(change.points, decode_selector(request.points_selector(), path));
  return Operation(std::move(change));
}

template <class Request>
Decoded<Operation> decode_delete_payload(const Request& request, const Path& path) {
  engine::DeletePayload change;
  change.keys.assign(request.keys().begin(), request.keys().end());
  const Path at_keys = path.member("keys");
  for (std::size_t i = 0; i < change.keys.size(); ++i) {
    if (auto parsed = payload::JsonPath::parse(change.keys[i]); !parsed) {
      return format_error(at_keys.item(i), parsed.error().message());
    }
  }
  QV_TRY(change.points, decode_selector(request.points_selector(), path));
  return Operation(std::move(change));
}

template <class Request>
Decoded<Operation> decode_update_vectors(const Request& request, const Path& path) {
  engine::UpdateVectors change;
  const Path at_points = path.member("points");
  for (const auto& point : request.points()) {
    const Path here = at_points.item(change.points.size());
    PointInput& decoded = change.points.emplace_back();
    QV_TRY(decoded.id, decode_id(point.id(), here.member("id")));
    QV_TRY(decoded.vectors, decode_vectors(point.vectors(), here.member("vector")));
    if (decoded.vectors.empty()) {
      return validation_error(here.member("vector"), "must specify vectors to update for point");
    }
  }
  if (change.points.empty()) return validation_error(at_points, "must specify points to update");
  if (request.has_update_filter()) {
    QV_TRY(change.update_filter,
           decode_filter(request.update_filter(), path.member("update_filter")));
  }
  return Operation(std::move(change));
}

template <class Request>
Decoded<Operation> decode_delete_vectors(const Request& request, const Path& path) {
  engine::DeleteVectors change;
  const auto& names = request.vectors().names();
  change.names.assign(names.begin(), names.end());
  if (change.names.empty()) {
    return validation_error(path.member("vector"), "must specify vector names to delete");
  }
  QV_TRY(change.points, decode_selector(request.points_selector(), path));
  return Operation(std::move(change));
}

/// The operation of a message, with the shards that the message is for.
template <class Request>
Decoded<Operation> with_shards(const Request& request, Decoded<Operation> decoded) {
  if (!decoded) return decoded;
  QV_TRY(auto shards, decode_shards(request));
  set_shards(*decoded, std::move(shards));
  return decoded;
}

Decoded<Operation> decode_operation(const qdrant::PointsUpdateOperation& operation,
                                    const Path& path) {
  using Change = qdrant::PointsUpdateOperation;
  switch (operation.operation_case()) {
    case Change::kUpsert:
      return with_shards(operation.upsert(),
                         decode_upsert(operation.upsert(), path.member("upsert")));
    case Change::kDeleteDeprecated:
      return decode_selected<engine::DeletePoints>(operation.delete_deprecated(),
                                                   path.member("delete"));
    case Change::kDeletePoints:
      return with_shards(operation.delete_points(),
                         decode_selected<engine::DeletePoints>(operation.delete_points().points(),
                                                               path.member("delete")));
    case Change::kSetPayload:
      return with_shards(operation.set_payload(),
                         decode_payload_change<engine::SetPayload>(operation.set_payload(),
                                                                   path.member("set_payload")));
    case Change::kOverwritePayload:
      return with_shards(operation.overwrite_payload(),
                         decode_payload_change<engine::OverwritePayload>(
                             operation.overwrite_payload(), path.member("overwrite_payload")));
    case Change::kDeletePayload:
      return with_shards(
          operation.delete_payload(),
          decode_delete_payload(operation.delete_payload(), path.member("delete_payload")));
    case Change::kClearPayloadDeprecated:
      return decode_selected<engine::ClearPayload>(operation.clear_payload_deprecated(),
                                                   path.member("clear_payload"));
    case Change::kClearPayload:
      return with_shards(operation.clear_payload(),
                         decode_selected<engine::ClearPayload>(operation.clear_payload().points(),
                                                               path.member("clear_payload")));
    case Change::kUpdateVectors:
      return with_shards(
          operation.update_vectors(),
          decode_update_vectors(operation.update_vectors(), path.member("update_vectors")));
    case Change::kDeleteVectors:
      return with_shards(
          operation.delete_vectors(),
          decode_delete_vectors(operation.delete_vectors(), path.member("delete_vectors")));
    case Change::OPERATION_NOT_SET:
      break;
  }
  return format_error(path, "missing operation");
}

}  // namespace

Decoded<Operation> decode(const qdrant::UpsertPoints& request) {
  return with_shards(request, decode_upsert(request, Path()));
}

Decoded<Operation> decode(const qdrant::DeletePoints& request) {
  return with_shards(request, decode_selected<engine::DeletePoints>(request.points(), Path()));
}

Decoded<Operation> decode(const qdrant::UpdatePointVectors& request) {
  return with_shards(request, decode_update_vectors(request, Path()));
}

Decoded<Operation> decode(const qdrant::DeletePointVectors& request) {
  return with_shards(request, decode_delete_vectors(request, Path()));
}

Decoded<Operation> decode_set_payload(const qdrant::SetPayloadPoints& request) {
  return with_shards(request, decode_payload_change<engine::SetPayload>(request, Path()));
}

Decoded<Operation> decode_overwrite_payload(const qdrant::SetPayloadPoints& request) {
  return with_shards(request, decode_payload_change<engine::OverwritePayload>(request, Path()));
}

Decoded<Operation> decode(const qdrant::DeletePayloadPoints& request) {
  return with_shards(request, decode_delete_payload(request, Path()));
}

Decoded<Operation> decode(const qdrant::ClearPayloadPoints& request) {
  return with_shards(request, decode_selected<engine::ClearPayload>(request.points(), Path()));
}

Decoded<std::vector<Operation>> decode(const qdrant::UpdateBatchPoints& request) {
  const Path root;
  std::vector<Operation> operations;
  operations.reserve(static_cast<std::size_t>(request.operations_size()));
  for (const auto& operation : request.operations()) {
    const Path parent = root.member("operations");
    const Path here = parent.item(operations.size());
    QV_TRY(auto decoded, decode_operation(operation, here));
    operations.push_back(std::move(decoded));
  }
  return operations;
}

}  // namespace quiver::service::rpc
