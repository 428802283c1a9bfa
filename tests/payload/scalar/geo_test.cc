#include "payload/scalar/geo.h"

#include <gtest/gtest.h>

#include <random>

namespace quiver::payload {
namespace {

TEST(Geo, DistancesOfKnownCities) {
  const GeoPoint moscow{37.6173, 55.7558};
  const GeoPoint london{-0.1278, 51.5074};
  EXPECT_NEAR(geo_distance_m(moscow, london), 2500e3, 3e3);
  EXPECT_EQ(geo_distance_m(london, london), 0);
  EXPECT_NEAR(geo_distance_m({0, 0}, {180, 0}), 20015114.35, 1);
  EXPECT_NEAR(geo_distance_m({179.9, 0}, {-179.9, 0}), 22239, 1);
}

TEST(Geo, RadiusIsStrict) {
  const GeoPoint center{13.4, 52.5};
  const GeoPoint point{13.5, 52.6};
  const double distance = geo_distance_m(center, point);
  EXPECT_TRUE(contains(GeoRadius{center, distance + 1e-6}, point));
  EXPECT_FALSE(contains(GeoRadius{center, distance}, point));
  EXPECT_FALSE(contains(GeoRadius{center, 0}, center));
}

TEST(Geo, BoxesMayCrossTheAntimeridian) {
  const GeoBoundingBox plain{{10, 50}, {20, 40}};
  EXPECT_TRUE(contains(plain, {15, 45}));
  EXPECT_FALSE(contains(plain, {25, 45}));
  EXPECT_FALSE(contains(plain, {10, 45})) << "borders are outside";
  const GeoBoundingBox crossing{{170, 10}, {-170, -10}};
  EXPECT_TRUE(contains(crossing, {175, 0}));
  EXPECT_TRUE(contains(crossing, {-175, 0}));
  EXPECT_FALSE(contains(crossing, {0, 0}));
  EXPECT_FALSE(contains(crossing, {175, 11}));
}

TEST(Geo, PolygonsHaveHolesAndOpenBorders) {
  const GeoPolygon polygon{{{0, 0}, {10, 0}, {10, 10}, {0, 10}, {0, 0}},
                           {{{4, 4}, {6, 4}, {6, 6}, {4, 6}, {4, 4}}}};
  EXPECT_TRUE(contains(polygon, {1, 1}));
  EXPECT_FALSE(contains(polygon, {5, 5}));
  EXPECT_FALSE(contains(polygon, {4, 5})) << "border of the hole";
  EXPECT_FALSE(contains(polygon, {10, 5})) << "outer border";
  EXPECT_FALSE(contains(polygon, {0, 0})) << "corner";
  EXPECT_FALSE(contains(polygon, {11, 5}));
  const GeoPolygon concave{{{0, 0}, {10, 0}, {10, 10}, {5, 2}, {0, 10}, {0, 0}}, {}};
  EXPECT_TRUE(contains(concave, {1, 5}));
  EXPECT_FALSE(contains(concave, {5, 5}));
}

TEST(Geo, LatitudesCoverWhatIsInside) {
  std::mt19937_64 random(41);
  std::uniform_real_distribution<> lon(-180, 180), lat(-90, 90), radius(0, 2e7);
  for (int i = 0; i < 20000; ++i) {
    const GeoRadius circle{{lon(random), lat(random)}, radius(random)};
    const GeoBoundingBox box{{lon(random), lat(random)}, {lon(random), lat(random)}};
    const GeoPoint point{lon(random), lat(random)};
    const auto covered = [&](const LatitudeRange& range) {
      return point.lat >= range.low && point.lat <= range.high;
    };
    ASSERT_TRUE(!contains(circle, point) || covered(latitudes(circle)));
    ASSERT_TRUE(!contains(box, point) || covered(latitudes(box)));
  }
}

TEST(Geo, OnlyObjectsOnTheGlobeArePoints) {
  const auto point = [](const char* text) { return as_geo_point(*parse_json(text)); };
  EXPECT_EQ(point(R"({"lon":1,"lat":2.5})"), (GeoPoint{1, 2.5}));
  EXPECT_EQ(point(R"({"lat":2,"lon":1,"name":"x"})"), (GeoPoint{1, 2}));
  for (const char* text : {R"({"lon":1})", R"({"lon":"1","lat":2})", R"([1,2])", R"("1,2")",
                           R"({"lon":181,"lat":0})", R"({"lon":0,"lat":-90.1})", "null"}) {
    EXPECT_FALSE(point(text)) << text;
  }
}

}  // namespace
}  // namespace quiver::payload
