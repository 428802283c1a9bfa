#include "app/manual/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quiver::app {
namespace {

using testing::HasSubstr;
using testing::Not;

CommandPage program() {
  CommandPage check{"check", "Read it all. Slowly.", "A footer.\n.begins with a dot", {}, {}};
  check.options.push_back({{"--json"}, "json", "", "Print [one] object: it's JSON", false});
  check.options.push_back({{"--data-dir"}, "data-dir", "TEXT", "Where", true});
  check.options.push_back({{}, "to", "TEXT", "New directory", true});
  CommandPage ann{"ann", "Measure an index", "", {{{"--k"}, "k", "INT", "Results", false}}, {}};
  CommandPage bench{"bench", "Measure", "", {}, {ann}};
  return {
      "quiver", "A server.", "", {{{"-h", "--help"}, "help", "", "Help", false}}, {check, bench}};
}

TEST(Completions, OfBash) {
  const std::string text = bash_completion(program());
  EXPECT_THAT(text, HasSubstr("    \"\") words=\"check bench -h --help\" ;;\n"));
  EXPECT_THAT(text, HasSubstr("      \" check\") path=\"check\" ;;\n"));
  EXPECT_THAT(text, HasSubstr("      \"bench ann\") path=\"bench ann\" ;;\n"));
  EXPECT_THAT(text, HasSubstr("    \"check\") words=\"--json --data-dir\" ;;\n"));
  EXPECT_THAT(text, HasSubstr("|--data-dir|"));
  EXPECT_THAT(text, Not(HasSubstr("|--json|")));
}

TEST(Completions, OfZsh) {
  const std::string text = zsh_completion(program());
  EXPECT_THAT(text, HasSubstr("_quiver_bench_ann() {\n"));
  EXPECT_THAT(text, HasSubstr("'--json[Print \\[one\\] object\\: it'\\''s JSON]'"));
  EXPECT_THAT(text, HasSubstr("'--data-dir[Where]:TEXT:_files'"));
  EXPECT_THAT(text, HasSubstr("'check:Read it all'"));
}

TEST(Completions, OfFish) {
  const std::string text = fish_completion(program());
  EXPECT_THAT(text, HasSubstr("-n '__fish_use_subcommand' -f -a check -d 'Read it all'\n"));
  EXPECT_THAT(text,
              HasSubstr("'__fish_seen_subcommand_from check' -l data-dir -r -F -d 'Where'\n"));
  EXPECT_THAT(text, HasSubstr("-s h -l help -d 'Help'\n"));
  EXPECT_THAT(text, HasSubstr("'__fish_seen_subcommand_from bench; and __fish_seen_subcommand_from "
                              "ann' -l k -x -d 'Results'\n"));
}

TEST(ManualPage, NamesCommandsAndOptions) {
  const std::string text = manual_page(program(), "1.2.3");
  EXPECT_THAT(text, HasSubstr(".TH QUIVER 1 \"\" \"quiver 1.2.3\""));
  EXPECT_THAT(text, HasSubstr(".SS quiver bench ann\n"));
  EXPECT_THAT(text, HasSubstr("\\fB\\-\\-data\\-dir\\fR \\fITEXT\\fR\n"));
  EXPECT_THAT(text, HasSubstr("\\fITO\\fR\nNew directory\n"));
  EXPECT_THAT(text, HasSubstr("A footer.\n\\&.begins with a dot\n"));
}

}  // namespace
}  // namespace quiver::app
