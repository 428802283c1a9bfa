#include "storage/catalog/catalog_format.h"

#include <gtest/gtest.h>

namespace quiver::storage {
namespace {

Catalog::State some_state() {
  Catalog::State state;
  state.next_directory = 9;
  state.collections.emplace("b", CatalogEntry{"b", "00000002", "{\"b\":1}", true});
  state.collections.emplace("", CatalogEntry{"", "00000003", std::string("\0\n", 2), false});
  state.aliases.emplace("x", "b");
  state.garbage.insert("00000001");
  return state;
}

TEST(CatalogFormat, RoundTrip) {
  const Catalog::State state = some_state();
  const auto bytes = encode_catalog(state);
  const auto decoded = decode_catalog(bytes, "c");
  ASSERT_TRUE(decoded) << decoded.error().to_string();
  EXPECT_EQ(decoded->next_directory, state.next_directory);
  EXPECT_EQ(decoded->collections, state.collections);
  EXPECT_EQ(decoded->aliases, state.aliases);
  EXPECT_EQ(decoded->garbage, state.garbage);
}

TEST(CatalogFormat, DamageNamesTheFile) {
  auto bytes = encode_catalog(some_state());
  bytes.back() ^= std::byte{1};
  const auto decoded = decode_catalog(bytes, "/data/catalog");
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), Code::kDataLoss);
  EXPECT_NE(decoded.error().message().find("/data/catalog"), std::string::npos);
}

}  // namespace
}  // namespace quiver::storage
