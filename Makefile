# What people type. Every target is a script that also works on its own, from any folder.
.PHONY: demo bench demo-cluster bench-peers bench-late-interaction late-interaction-table test test-all conformance soak-operations setup build gpu gpu-check deb tarball wheel site format tidy docs clean help

help:
	@echo "make demo      set up, build, load the sample, run a tour of queries, stop"
	@echo "make demo-cluster  three nodes on this machine, one of them killed under load (wants etcd-server)"
	@echo "make bench     set up, build, measure exact search over the sample: a table and a picture"
	@echo "make bench-peers  other libraries beside ours over DATA= (default the sample): wants PyPI"
	@echo "make bench-late-interaction  late interaction beside its exhaustive scans over DATA= (default the sample)"
	@echo "make late-interaction-table  all figures of late interaction over DATA=, each beside its bar"
	@echo "make test      set up, build, run every test"
	@echo "make test-all  make test, then AddressSanitizer, ThreadSanitizer, clang, clang-tidy, other instruction levels, fuzzing, long tests"
	@echo "make conformance  our wire tests with the stock client CLIENT= (a version on PyPI), over REST and gRPC"
	@echo "make soak-operations  STEPS= random operations (default 100,000), compared with the stock client's local mode"
	@echo "make soak-kill9         kill -9 under load over the network"
	@echo "make soak-power-cut     power cuts of a disk in memory, with three kinds of loss"
	@echo "make soak-system-calls  system calls of a server that fail, once or for ever"
	@echo "make soak-allocations   allocations that fail"
	@echo "make soak-flips         flipped bits and cuts in files of a stopped and a running server"
	@echo "make soak-model         random operations beside a model, under ThreadSanitizer and AddressSanitizer"
	@echo "make soak-fuzz          every fuzz target"
	@echo "make soak-hostile       hostile requests over REST and gRPC"
	@echo "make soak-memory        a load beyond the limit of memory, in a control group of 1.2 times the limit"
	@echo "make soak-day           a day in the life: mixed load, deletes, merges, snapshots, restarts"
	@echo "make soak-cluster       faults against three nodes under load"
	@echo "                        All soaks go on where their last run stopped, for MINUTES= (default 55) or ROUNDS=;"
	@echo "                        SEED=, FIRST= (number of a round) or FRESH=1 begin anew"
	@echo "make build     the release build: build/release/quiver"
	@echo "make gpu       the module for NVIDIA GPUs: build/gpu/libquiver_gpu_cuda.so (wants nvcc)"
	@echo "make gpu-check  on a machine with an NVIDIA GPU: the module's answers beside the CPU's, and its speed"
	@echo "make deb       the release build as a package for Debian 12"
	@echo "make tarball   the release build with its libraries, for any Linux with glibc 2.36 or newer"
	@echo "make wheel     the Python package quiver-search as a wheel: build/python/wheel (wants PyPI)"
	@echo "make site      the documentation as a site: build/site/html (wants PyPI)"
	@echo "make format    clang-format over the tree"
	@echo "make tidy      clang-tidy over the tree"
	@echo "make docs      write docs/configuration.md from the declaration of the keys"
	@echo "make clean     remove the build folders"

demo:
	@scripts/demo

demo-cluster:
	@scripts/setup
	@scripts/build release quiver
	@.venv/bin/python -B examples/cluster.py

bench:
	@scripts/bench

bench-peers:
	@scripts/bench-peers

bench-late-interaction:
	@scripts/bench-late-interaction

late-interaction-table:
	@scripts/late-interaction-table

test:
	@scripts/test

test-all:
	@scripts/test-all

conformance:
	@scripts/conformance $(CLIENT)

soak-operations:
	@scripts/setup
	@scripts/build release quiver
	@.venv/bin/python -B tests/e2e/random_operations.py --steps $(or $(STEPS),100000)

# Each goes on where its last run stopped: tests/e2e/soak.py.
SOAKS := kill9 power-cut system-calls allocations flips model fuzz hostile memory day cluster
.PHONY: $(addprefix soak-,$(SOAKS))
$(addprefix soak-,$(SOAKS)): soak-%:
	@scripts/soak $* $(if $(MINUTES),--minutes $(MINUTES)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SEED),--seed $(SEED)) $(if $(FIRST),--first $(FIRST)) $(if $(FRESH),--fresh)

setup:
	@scripts/setup

build:
	@scripts/build release

gpu:
	@scripts/gpu

gpu-check:
	@scripts/gpu-check

deb:
	@scripts/deb

tarball:
	@scripts/tarball

wheel:
	@scripts/wheel

site:
	@scripts/site

format:
	@scripts/format

tidy:
	@scripts/tidy

docs:
	@scripts/build release quiver
	@build/release/quiver serve --config-docs > docs/configuration.md

clean:
	@rm -rf build
