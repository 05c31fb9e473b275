# One line per thing you can do here. `make run` and `make test` are all a fresh machine needs.
#
#   make run    builds the server and starts it; ARGS="--memory --port 0" is passed on
#   make test   what CI runs: check, then every test of the workspace, then the tests with the real client libraries
#   make check  formatting, lints, house rules: the one command before a commit
#   make spec   the cases under spec/, on every engine; UPDATE=1 rewrites golden text
#   make bench  reads and durable writes next to a bare HTTP server and a real mongod; BENCH_ARGS="--help" says more
#   make fuzz   the property tests with many cases (CASES=…), and the targets under fuzz/ (SECONDS_EACH=…)
#   make soak   kill -9 under load (CYCLES=…), stops under load (STOPS=…), races against the clock (ROUNDS=…), the store against its model (TIMES=…: 100 is 10^7 steps),
#               random Mongo commands beside a real mongod (COMPARED=…), random requests through both doors against a model of
#               time to live (WORLDS=…), what the server holds in memory under steady expiry (MEMORY_SECONDS=…),
#               what purging costs (PURGE_ITEMS=…, on a machine that is not busy otherwise)

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Cargo runs in parallel by itself; two targets at once would only wait for each other's lock.
.NOTPARALLEL:
.PHONY: help run test check spec bench fuzz soak tools loaded crates rocksdb clients build

# What is slow to build outlives a clone here: RocksDB's library, and what cargo has built (docs/decisions/0001, 0020).
XDG_CACHE_HOME ?= $(HOME)/.cache
LAPSEDB_CACHE ?= $(XDG_CACHE_HOME)/lapsedb
CARGO_TARGET_DIR ?= $(CURDIR)/target
export LAPSEDB_CACHE CARGO_TARGET_DIR

ARGS ?=
BENCH_ARGS ?=
CASES ?= 20000
PURGE_ITEMS ?= 1000000
CYCLES ?= 500
STOPS ?= 1000
MEMORY_SECONDS ?= 3600
ROUNDS ?= 20000
TIMES ?= 100
COMPARED ?= 10000
WORLDS ?= 50
SECONDS_EACH ?= 60

# cargo-nextest runs tests faster; it is used where it is installed and never built from source here.
# It runs no doc tests, which `cargo test` does by itself.
NEXTEST := $(shell command -v cargo-nextest 2>/dev/null)
CARGO := tools/cargo
CARGO_TEST := $(CARGO) $(if $(NEXTEST),nextest run,test) --release
# Long on purpose: hours, not minutes.
CARGO_SOAK := LAPSEDB_TEST_SECONDS_MAX=36000 $(CARGO_TEST)

help:
	@sed -n 's/^#   //p' Makefile

run: build
	@tools/build-cache save run
	$(CARGO_TARGET_DIR)/release/lapsedb $(ARGS)

test: check build
	$(CARGO_TEST) --workspace --no-fail-fast
	$(if $(NEXTEST),$(CARGO) test --release --workspace --doc)
	tools/clients test
	@tools/build-cache save test

check: rocksdb
	cargo fmt --all --check
	cargo run --release --quiet -p xtask -- tidy
	python3 -m unittest discover -q tools/tests
	tools/same-features
	tools/deny
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

spec: build
	$(CARGO_TEST) -p lapsedb-testkit

bench: build
	cargo run --release --quiet -p lapsedb-bench -- run --server $(CARGO_TARGET_DIR)/release/lapsedb --dir $(LAPSEDB_CACHE)/bench $(BENCH_ARGS)

fuzz: rocksdb
	PROPTEST_CASES=$(CASES) $(CARGO_SOAK) --workspace --no-fail-fast
	tools/fuzz $(SECONDS_EACH)

soak: build
	LAPSEDB_KILL_CYCLES=$(CYCLES) $(CARGO_SOAK) -p lapsedb-server kill $(if $(NEXTEST),--run-ignored all,-- --include-ignored)
	LAPSEDB_STOPS=$(STOPS) $(CARGO_SOAK) -p lapsedb-server every_stop_under_load
	LAPSEDB_RACE_ROUNDS=$(ROUNDS) $(CARGO_SOAK) -p lapsedb-testkit no_reply_contradicts_every_order
	LAPSEDB_MODEL_TIMES=$(TIMES) $(CARGO_SOAK) -p lapsedb-store store_is_as_the_model
	LAPSEDB_DIFFERENTIAL_CASES=$(COMPARED) tools/clients compare
	LAPSEDB_TORTURE_SEEDS=$(WORLDS) LAPSEDB_TORTURE_STEPS=3000 tools/clients torture
	LAPSEDB_MEMORY_SECONDS=$(MEMORY_SECONDS) tools/clients memory
	LAPSEDB_PURGE_ITEMS=$(PURGE_ITEMS) LAPSEDB_TEST_SECONDS_MAX=36000 cargo test --release -p lapsedb-store purging_costs_little -- --ignored --nocapture
	PROPTEST_CASES=1000 $(CARGO_SOAK) -p lapsedb-store $(if $(NEXTEST),,--) versions_are_as_the_model change_feed_is_as_the_model

# The rest are steps of the above.

# The server itself, because tests with real clients and the bench start it as a process.
build: rocksdb
	$(CARGO) build --release -p lapsedb-server

# Installs the Debian packages that are missing; says so in one line where it may not.
tools:
	@tools/need

# Begins the target folder of a new clone with what another one has built.
loaded: tools
	@tools/build-cache load

# Downloads the crates, before anything is compiled.
crates: loaded
	@tools/fetch

# Compiles RocksDB's C++ once per machine, version, set of flags and compiler.
rocksdb: crates
	@cargo run --release --quiet -p rocksdb-archive

# Installs the client libraries the client tests use, in folders that git ignores.
clients: tools
	tools/clients install
