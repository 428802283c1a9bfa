// Geometry on the globe, for filters. Points on a border are outside throughout.
#pragma once

#include <optional>

#include "payload/filter.h"
#include "payload/json/document.h"

namespace quiver::payload {

/// Mean radius of the earth in metres (IUGG).
inline constexpr double kEarthRadiusM = 6371008.8;

/// -180..180 and -90..90.
[[nodiscard]] bool is_on_globe(const GeoPoint& point);
/// An object with numeric `lon` and `lat` that is on the globe.
[[nodiscard]] std::optional<GeoPoint> as_geo_point(const Value& value);

/// Great-circle distance in metres (haversine).
[[nodiscard]] double geo_distance_m(const GeoPoint& a, const GeoPoint& b);

[[nodiscard]] bool contains(const GeoRadius& circle, const GeoPoint& point);
/// A box whose left edge lies east of its right one crosses the 180th meridian.
[[nodiscard]] bool contains(const GeoBoundingBox& box, const GeoPoint& point);
/// In the plane of longitude and latitude; a border of a hole belongs to the hole.
[[nodiscard]] bool contains(const GeoPolygon& polygon, const GeoPoint& point);

/// Latitudes in degrees; a superset of those of points inside.
struct LatitudeRange {
  double low = -90;
  double high = 90;
};
[[nodiscard]] LatitudeRange latitudes(const GeoRadius& circle);
[[nodiscard]] LatitudeRange latitudes(const GeoBoundingBox& box);
[[nodiscard]] LatitudeRange latitudes(const GeoPolygon& polygon);

}  // namespace quiver::payload
