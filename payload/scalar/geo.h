// Geometry on the globe, for filters. Points on a border count as outside.
#pragma once

#include <optional>

#include "payload/filter.h"
#include "payload/json/document.h"

namespace quiver::payload {

/// Mean radius of the earth in metres (IUGG).
inline constexpr double kEarthRadiusM = 6371008.8;

/// True for longitudes -180..180 and latitudes -90..90.
[[nodiscard]] bool is_on_globe(const GeoPoint& point);
/// Converts an object with numeric `lon` and `lat` on the globe; else nullopt.
[[nodiscard]] std::optional<GeoPoint> as_geo_point(const Value& value);

/// Great-circle distance in metres (haversine).
[[nodiscard]] double geo_distance_m(const GeoPoint& a, const GeoPoint& b);

[[nodiscard]] bool contains(const GeoRadius& circle, const GeoPoint& point);
/// A box whose left edge lies east of its right one crosses the 180th meridian.
[[nodiscard]] bool contains(const GeoBoundingBox& box, const GeoPoint& point);
/// Works in the plane of longitude and latitude. The border of a hole belongs to the hole.
[[nodiscard]] bool contains(const GeoPolygon& polygon, const GeoPoint& point);

/// Latitudes in degrees. Contains the latitude of every point inside the shape.
struct LatitudeRange {
  double low = -90;
  double high = 90;
};
[[nodiscard]] LatitudeRange latitudes(const GeoRadius& circle);
[[nodiscard]] LatitudeRange latitudes(const GeoBoundingBox& box);
[[nodiscard]] LatitudeRange latitudes(const GeoPolygon& polygon);

}  // namespace quiver::payload
