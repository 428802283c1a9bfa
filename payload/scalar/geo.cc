#include "payload/scalar/geo.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "payload/scalar/number.h"

namespace quiver::payload {
namespace {

constexpr double kRadiansPerDegree = std::numbers::pi / 180;

enum class Side { kInside, kOutside, kBorder };

bool on_segment(const GeoPoint& p, const GeoPoint& a, const GeoPoint& b) {
  const double cross = (b.lon - a.lon) * (p.lat - a.lat) - (b.lat - a.lat) * (p.lon - a.lon);
  return cross == 0 && (a.lon - p.lon) * (b.lon - p.lon) <= 0 &&
         (a.lat - p.lat) * (b.lat - p.lat) <= 0;
}

/// Even-odd rule: a point is inside if a ray to the east crosses the ring an odd number of times.
Side side_of(const std::vector<GeoPoint>& ring, const GeoPoint& p) {
  bool inside = false;
  for (std::size_t i = 1; i < ring.size(); ++i) {
    const GeoPoint& a = ring[i - 1];
    const GeoPoint& b = ring[i];
    if (on_segment(p, a, b)) return Side::kBorder;
    if ((a.lat > p.lat) == (b.lat > p.lat)) continue;
    const double lon = a.lon + (b.lon - a.lon) * (p.lat - a.lat) / (b.lat - a.lat);
    if (p.lon < lon) inside = !inside;
  }
  return inside ? Side::kInside : Side::kOutside;
}

}  // namespace

bool is_on_globe(const GeoPoint& point) {
  return std::abs(point.lon) <= 180 && std::abs(point.lat) <= 90;
}

std::optional<GeoPoint> as_geo_point(const Value& value) {
  const Value* lon = value.find("lon");
  const Value* lat = value.find("lat");
  if (lon == nullptr || lat == nullptr) return std::nullopt;
  const auto lon_number = as_number(*lon);
  const auto lat_number = as_number(*lat);
  if (!lon_number || !lat_number) return std::nullopt;
  const GeoPoint point{nearest_double(*lon_number).value, nearest_double(*lat_number).value};
  return is_on_globe(point) ? std::optional(point) : std::nullopt;
}

double geo_distance_m(const GeoPoint& a, const GeoPoint& b) {
  const double lat_a = a.lat * kRadiansPerDegree;
  const double lat_b = b.lat * kRadiansPerDegree;
  const double sin_lat = std::sin((lat_b - lat_a) / 2);
  const double sin_lon = std::sin((b.lon - a.lon) * kRadiansPerDegree / 2);
  const double h = sin_lat * sin_lat + std::cos(lat_a) * std::cos(lat_b) * sin_lon * sin_lon;
  return 2 * kEarthRadiusM * std::asin(std::sqrt(std::min(1.0, h)));
}

bool contains(const GeoRadius& circle, const GeoPoint& point) {
  return geo_distance_m(circle.center, point) < circle.radius_m;
}

bool contains(const GeoBoundingBox& box, const GeoPoint& point) {
  const double west = box.top_left.lon;
  const double east = box.bottom_right.lon;
  const bool lon_inside =
      west > east ? point.lon > west || point.lon < east : point.lon > west && point.lon < east;
  return lon_inside && point.lat < box.top_left.lat && point.lat > box.bottom_right.lat;
}

bool contains(const GeoPolygon& polygon, const GeoPoint& point) {
  if (side_of(polygon.exterior, point) != Side::kInside) return false;
  return std::all_of(
      polygon.interiors.begin(), polygon.interiors.end(),
      [&](const std::vector<GeoPoint>& hole) { return side_of(hole, point) == Side::kOutside; });
}

LatitudeRange latitudes(const GeoRadius& circle) {
  // Slightly wider than exact, to cover rounding of the distance.
  const double reach = circle.radius_m / kEarthRadiusM / kRadiansPerDegree * (1 + 1e-9) + 1e-9;
  return {circle.center.lat - reach, circle.center.lat + reach};
}

LatitudeRange latitudes(const GeoBoundingBox& box) {
  return {box.bottom_right.lat, box.top_left.lat};
}

LatitudeRange latitudes(const GeoPolygon& polygon) {
  const auto [low, high] =
      std::minmax_element(polygon.exterior.begin(), polygon.exterior.end(),
                          [](const GeoPoint& a, const GeoPoint& b) { return a.lat < b.lat; });
  if (low == polygon.exterior.end()) return {1, 0};
  return {low->lat, high->lat};
}

}  // namespace quiver::payload
