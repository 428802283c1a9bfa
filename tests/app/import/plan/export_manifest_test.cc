#include "app/import/plan/export_manifest.h"

#include <gtest/gtest.h>

namespace quiver::app {
namespace {

TEST(ExportManifestTest, RoundTrip) {
  ExportManifest manifest;
  manifest.n_points = 3;
  manifest.ids = "ids.npy";
  manifest.payload = "payload.jsonl";
  manifest.vectors = {*parse_source("sparse:a b=vectors.a b")};
  manifest.vectors.front().present = "present.npy";
  manifest.create = R"({"vectors":{}})";
  manifest.indexes = {R"({"field_name":"x"})"};
  const auto read = parse_manifest(to_json(manifest));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->vectors.front().describe(), manifest.vectors.front().describe());
  EXPECT_EQ(read->vectors.front().present, "present.npy");
  EXPECT_EQ(read->create, manifest.create);
  EXPECT_EQ(read->indexes, manifest.indexes);
  for (const char* wrong : {"", "{}", "[]", R"({"quiver_export":2})", R"({"quiver_export":1})"}) {
    EXPECT_FALSE(parse_manifest(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace quiver::app
