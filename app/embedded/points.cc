#include "app/embedded/points.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "service/json/decode/decode.h"

namespace quiver::embedded {
namespace {

std::string_view name_of(const quiver_vectors& vectors) {
  return vectors.field == nullptr ? std::string_view() : std::string_view(vectors.field);
}

Result<> wrong(const quiver_vectors& vectors, std::string_view text) {
  return fail(Code::kInvalidArgument,
              fmt::format("vectors of field `{}`: {}", name_of(vectors), text));
}

Result<> check_offsets(const quiver_vectors& vectors, std::uint64_t n) {
  if (vectors.offsets == nullptr) return wrong(vectors, "offsets are missing");
  if (vectors.offsets[0] != 0) {
    return wrong(vectors,
                 fmt::format("offsets begin with {}, must begin with 0", vectors.offsets[0]));
  }
  for (std::uint64_t i = 0; i < n; ++i) {
    if (vectors.offsets[i] <= vectors.offsets[i + 1]) continue;
    return wrong(vectors, fmt::format("offsets[{}] is {}, less than the {} before it", i + 1,
                                      vectors.offsets[i + 1], vectors.offsets[i]));
  }
  return {};
}

engine::BulkField bulk_field_of(const quiver_vectors& vectors, std::uint64_t n) {
  engine::BulkField field;
  field.name = name_of(vectors);
  if (vectors.kind == QUIVER_DENSE) {
    field.rows = engine::DenseRows{std::span(vectors.values, n * vectors.dim)};
    return field;
  }
  const std::span offsets(vectors.offsets, n + 1);
  if (vectors.kind == QUIVER_SPARSE) {
    field.rows = engine::SparseRows{offsets, std::span(vectors.indices, offsets[n]),
                                    std::span(vectors.values, offsets[n])};
  } else {
    field.rows = engine::MultiRows{offsets, std::span(vectors.values, offsets[n] * vectors.dim)};
  }
  return field;
}

Result<std::string> payload_at(const quiver_points& points, std::size_t row) {
  const std::uint64_t begin = points.payload_offsets[row];
  const std::uint64_t end = points.payload_offsets[row + 1];
  if (begin > end) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("payload_offsets[{}] is {}, less than the {} before it", row + 1, end, begin));
  }
  std::string text(points.payloads + begin, end - begin);
  if (text.empty()) return text;
  auto payload = service::json::decode_payload(text);
  if (!payload) {
    return fail(Code::kInvalidArgument,
                fmt::format("payload of points[{}]: {}", row, payload.error().text));
  }
  return *std::move(payload);
}

Result<> read_payloads(const quiver_points& points, Points& out) {
  if (points.payloads == nullptr) return {};
  if (points.payload_offsets == nullptr) {
    return fail(Code::kInvalidArgument, "there are payloads, but no payload_offsets");
  }
  out.payloads.reserve(points.n);
  for (std::size_t row = 0; row < points.n; ++row) {
    QV_TRY(out.payloads.emplace_back(), payload_at(points, row));
  }
  out.payload_views.assign(out.payloads.begin(), out.payloads.end());
  return {};
}

}  // namespace

Result<> check_vectors(const quiver_vectors& vectors, std::uint64_t n) {
  if (vectors.kind < QUIVER_DENSE || vectors.kind > QUIVER_MULTI) {
    return wrong(vectors, fmt::format("kind is {}, must be 0 (dense), 1 (sparse) or 2 (multi)",
                                      vectors.kind));
  }
  if (vectors.values == nullptr) return wrong(vectors, "values are missing");
  if (vectors.kind == QUIVER_DENSE) return {};
  if (vectors.kind == QUIVER_SPARSE && vectors.indices == nullptr) {
    return wrong(vectors, "indices are missing");
  }
  return check_offsets(vectors, n);
}

Result<> read_points(const quiver_points& points, Points& out) {
  if (points.ids == nullptr) return fail(Code::kInvalidArgument, "ids are missing");
  out.ids.reserve(points.n);
  for (std::size_t i = 0; i < points.n; ++i) {
    out.ids.push_back(points.high == nullptr ? PointId::number(points.ids[i])
                                             : PointId::uuid(points.high[i], points.ids[i]));
  }
  for (const auto& vectors : std::span(points.fields, points.n_fields)) {
    QV_TRY(check_vectors(vectors, points.n));
    out.chunk.fields.push_back(bulk_field_of(vectors, points.n));
  }
  QV_TRY(read_payloads(points, out));
  out.chunk.ids = out.ids;
  out.chunk.payloads = out.payload_views;
  return {};
}

engine::Upsert upsert_of(const quiver_points& points, Points& read) {
  engine::Upsert upsert;
  upsert.points.resize(points.n);
  for (std::size_t row = 0; row < points.n; ++row) {
    auto& point = upsert.points[row];
    point.id = read.ids[row];
    if (!read.payloads.empty()) point.payload = std::move(read.payloads[row]);
    for (const auto& vectors : std::span(points.fields, points.n_fields)) {
      point.vectors.push_back({std::string(name_of(vectors)), vector_at(vectors, row)});
    }
  }
  return upsert;
}

engine::VectorValue vector_at(const quiver_vectors& vectors, std::size_t row) {
  if (vectors.kind == QUIVER_DENSE) {
    const float* const first = vectors.values + row * vectors.dim;
    return engine::DenseVector(first, first + vectors.dim);
  }
  const std::uint64_t begin = vectors.offsets[row];
  const std::uint64_t end = vectors.offsets[row + 1];
  if (vectors.kind == QUIVER_SPARSE) {
    return engine::SparseVector{{vectors.indices + begin, vectors.indices + end},
                                {vectors.values + begin, vectors.values + end}};
  }
  return engine::MultiVector{
      static_cast<std::uint32_t>(end - begin),
      static_cast<std::uint32_t>(vectors.dim),
      {vectors.values + begin * vectors.dim, vectors.values + end * vectors.dim}};
}

}  // namespace quiver::embedded
