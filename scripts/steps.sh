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

# Tests wait for disks and clocks for a third of their time, hence more of them than cores.
ctest_of() {
  local preset="$1"
  ctest --test-dir "build/$preset" --output-on-failure --parallel "$(($(nproc) * 2))" \
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

# sanitized PRESET TEST: builds only this test with its dependencies, and runs it.
sanitized() {
  local preset="$1" test="$2"
  if [[ "$preset" == tsan ]]; then
    # Kernels are compiled without ThreadSanitizer in any case, so those of the release build serve.
    scripts/build release qv_kernels
    cmake --preset tsan -DQV_PREBUILT_KERNELS="$PWD/build/release/kernels/libqv_kernels.a" > /dev/null
  fi
  scripts/build "$preset" "$test"
  export ASAN_OPTIONS="detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1"
  export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1"
  export LSAN_OPTIONS="suppressions=$PWD/tests/sanitizers/lsan.supp:print_suppressions=0"
  export TSAN_OPTIONS="suppressions=$PWD/tests/sanitizers/tsan.supp:print_suppressions=0:halt_on_error=1:second_deadlock_stack=1"
  timeout --kill-after=10 "$(patience 600)" $(no_aslr) "build/$preset/tests/$test" --gtest_brief=1 \
    --gtest_output="xml:$PWD/$results/$test-$preset.xml"
}

# ThreadSanitizer of g++ 12 crashes on kernels that randomise 32 bits of an address. Prints the command that
# disables it, or nothing where a container forbids that.
no_aslr() {
  if setarch "$(uname -m)" -R true 2> /dev/null; then echo "setarch $(uname -m) -R"; fi
}

long_model() {
  QUIVER_MODEL_SECONDS="${QUIVER_MODEL_SECONDS:-300}" timeout --kill-after=10 "$(patience 1800)" "build/$1/tests/model_test" \
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
  local target name corpus seconds="${QUIVER_FUZZ_SECONDS:-10}"
  scripts/build "$1" fuzz_body fuzz_head fuzz_query fuzz_ragged fuzz_text
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
