// Pages that list the parameters of an index type.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/params.h"

namespace quiver::index::testing {

/// The page has a row "| `name` | … |" for each parameter, with its default in it
/// unless that is 0.
template <class Params>
void expect_documented(const std::string& path) {
  std::ifstream in(path);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  for (const auto& param : describe_params<Params>()) {
    std::string value = to_string(param.default_value);
    if (value.front() == '"') value = '`' + value.substr(1, value.size() - 2) + '`';
    const auto begin = page.find("| `" + param.name + "` |");
    ASSERT_NE(begin, std::string::npos) << path << " has no row of " << param.name;
    const std::string row = page.substr(begin, page.find('\n', begin) - begin);
    if (value == "0") continue;  // the row says what stands in for it
    EXPECT_NE(row.find("| " + value), std::string::npos) << value << " is not in " << row;
  }
}

}  // namespace quiver::index::testing
