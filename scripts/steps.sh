# The steps of scripts/test and scripts/test-all. Source it with the repository root as the working directory.
# Each step writes JUnit XML into build/results, and `finish` counts the results.

results=build/results
failed_steps=()
rm -rf "$results"
mkdir -p "$results"
started="$SECONDS"

# Time limit in seconds: the most that an idle machine needs, times QUIVER_TEST_PATIENCE (default 5; as in
# tests/patience.h, tests/patience.py and cmake/room.cmake).
patience() { echo $(($1 * ${QUIVER_TEST_PATIENCE:-5})); }

# step NAME COMMAND…: runs the command, records a failure and continues.
step() {
  local name="$1" begun="$SECONDS"
  shift
  echo "== $name"
  # A command in a condition runs without `set -e`, hence the subshell that sets it again.
  set +e
  (set -e; "$@")
  local status="$?"
  set -e
  [[ "$status" -eq 0 ]] || failed_steps+=("$name")
  echo "== $name: $([[ "$status" -eq 0 ]] && echo passed || echo "FAILED ($status)"), $((SECONDS - begun)) s"
}

# Tests wait for disks and clocks for half of their time, hence more of them than cores.
ctest_of() {
  local preset="$1"
  ctest --test-dir "build/$preset" --output-on-failure --parallel "$(($(nproc) * 5 / 2))" \
    --output-junit "$PWD/$results/ctest-$preset.xml"
}

at_level() {
  local level="$1" preset="$2" pattern="$3"
  QUIVER_SIMD="$level" ctest --test-dir "build/$preset" --output-on-failure --parallel "$(nproc)" -R "$pattern" \
    --output-junit "$PWD/$results/ctest-$level.xml"
}

e2e_of() {
  local preset="$1"
  QUIVER_BINARY="$PWD/build/$preset/quiver" timeout --kill-after=10 "$(patience 900)" \
    .venv/bin/python -B -m pytest -q -p no:cacheprovider -n "$(($(nproc) * 3 / 2))" --dist loadfile --junitxml="$results/e2e.xml" tests/e2e
}

# sanitized PRESET TEST: builds first, which has no time limit.
sanitized() {
  local preset="$1" test="$2"
  scripts/sanitized "$preset" "$test" --gtest_list_tests > /dev/null
  timeout --kill-after=10 "$(patience 600)" scripts/sanitized "$preset" "$test" --gtest_brief=1 \
    --gtest_output="xml:$PWD/$results/$test-$preset.xml"
}

long_model() {
  QUIVER_SOAK_SECONDS="${QUIVER_SOAK_SECONDS:-300}" timeout --kill-after=10 "$(patience 1800)" "build/$1/tests/model_test" \
    --gtest_brief=1 --gtest_output="xml:$PWD/$results/model-long.xml"
}

# A million changed tokens, none of which may be taken.
long_tokens() {
  QUIVER_LONG_TESTS=1 "build/$1/tests/service_test" --gtest_filter='Token.*' --gtest_brief=1 \
    --gtest_output="xml:$PWD/$results/tokens-long.xml"
}

# 204,000 random filters: by columns, by attributes and by lists of rows, against the documents.
long_filters() {
  QUIVER_LONG_TESTS=1 "build/$1/tests/payload_test" --gtest_filter='Predicate.EvaluateEquals*:Attributes.RandomFilters*' \
    --gtest_brief=1 --gtest_output="xml:$PWD/$results/filters-long.xml"
}

# Runs every fuzz target for some seconds, starting from its corpus in the tree, which is not changed.
fuzz_of() {
  local target name names corpus seconds="${QUIVER_FUZZ_SECONDS:-10}"
  mapfile -t names < <(basename -s .cc tests/fuzz/*.cc)
  scripts/build "$1" "${names[@]/#/fuzz_}"
  for target in "build/$1"/fuzz/fuzz_*; do
    name="${target##*/fuzz_}"
    corpus="$(mktemp -d)"
    "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
      -artifact_prefix="$results/fuzz-$name-" "$corpus" "tests/fuzz/corpus/$name" > "$results/fuzz-$name.log" 2>&1 ||
      { tail -n 50 "$results/fuzz-$name.log"; return 1; }
    rm -rf "$corpus"
    echo "$name: $seconds s, nothing found"
  done
}

# Prints the counts; exit status 1 if a step failed.
finish() {
  local counts name
  counts="$(python3 -B scripts/count_tests.py "$results"/*.xml)"
  echo
  for name in "${failed_steps[@]}"; do echo "FAILED: $name"; done
  echo "$counts; ${#failed_steps[@]} steps failed; $((SECONDS - started)) s"
  [[ "${#failed_steps[@]}" -eq 0 ]]
}
