# Latch: one Makefile, no recursion. `make help` lists what a person types.
# Objects of each set of flags live in build/<variant>/, so nothing stale is ever linked.
SHELL := /bin/bash
.DEFAULT_GOAL := all
VARIANT ?= release
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
B := build/$(VARIANT)
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
CC ?= gcc
VERSION := $(shell cat VERSION)
COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)

WARN := -Wall -Wextra -Wshadow -Wconversion -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wformat=2 -Werror
CPPFLAGS := -I. -D_GNU_SOURCE -DLATCH_VERSION='"$(VERSION)"' -DLATCH_COMMIT='"$(COMMIT)"' -include proto/base/banned.h
CFLAGS := -std=gnu17 -g -fno-omit-frame-pointer -pthread $(WARN)
LDFLAGS := -pthread -Wl,--as-needed -Wl,-z,now -Wl,-z,relro
LIBS_proto := -lxxhash -lnettle
LIBS_manifest := -lzstd -lz -lbz2 -llzma -lroaring
LIBS_catalog := -lsqlite3
LIBS_server := -lmicrohttpd
ifeq ($(VARIANT),release)
CFLAGS += -O2 -fstack-protector-strong -D_FORTIFY_SOURCE=2
else ifeq ($(VARIANT),debug)
CFLAGS += -O1 -DLATCH_DEBUG
else ifeq ($(VARIANT),asan)
CFLAGS += -O1 -DLATCH_DEBUG -fsanitize=address,undefined -fno-sanitize-recover=undefined
LDFLAGS += -fsanitize=address,undefined
else ifeq ($(VARIANT),tsan)
CFLAGS += -O1 -DLATCH_DEBUG -fsanitize=thread
LDFLAGS += -fsanitize=thread
else ifeq ($(VARIANT),cov)
CFLAGS += -O0 -DLATCH_DEBUG --coverage
LDFLAGS += --coverage
else
$(error unknown VARIANT $(VARIANT))
endif

# --- what is built ------------------------------------------------------------------------------
LAYERS := proto manifest catalog server
SRC_proto    := $(wildcard proto/*/*.c)
SRC_manifest := $(wildcard manifest/*.c manifest/*/*.c)
SRC_catalog  := $(wildcard catalog/*.c catalog/*/*.c)
SRC_server   := $(filter-out server/main.c,$(wildcard server/*.c server/*/*.c))
ASM_catalog  := $(wildcard catalog/*/*.S)
ASM_server   := $(wildcard server/*.S)
OBJ = $(patsubst %.c,$(B)/%.o,$(SRC_$(1))) $(patsubst %.S,$(B)/%.o,$(ASM_$(1)))
LIB = $(B)/lib$(1).a
# A layer links itself and what is below it.
DEPS_proto    := proto
DEPS_manifest := manifest proto
DEPS_catalog  := catalog manifest proto
DEPS_server   := server catalog manifest proto
LINK = $(foreach l,$(DEPS_$(1)),$(call LIB,$(l))) $(foreach l,$(DEPS_$(1)),$(LIBS_$(l)))

.PHONY: all
all: $(B)/latch

$(B)/latch: $(B)/server/main.o $(foreach l,$(LAYERS),$(call LIB,$(l)))
	@echo "  LINK $@"
	$(Q)$(CC) $(LDFLAGS) -o $@ $< $(call LINK,server)

define layer_rule
$(call LIB,$(1)): $$(call OBJ,$(1))
	@echo "  AR   $$@"
	$(Q)rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call layer_rule,$(l))))

$(B)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/%.o: %.S
	@mkdir -p $(@D)
	@echo "  AS   $<"
	$(Q)$(CC) -I. -MMD -MP -c -o $@ $<
# Files that are embedded: their assembler stubs depend on them.
$(B)/catalog/store/migrations.o: $(wildcard catalog/store/migrations/*.sql)
$(B)/server/openapi.o: server/openapi.json
# The version is in the binary: a new commit rebuilds the one file that says it.
$(B)/server/version.o: VERSION $(wildcard .git/HEAD .git/refs/heads/main)

# --- unit tests: tests/unit/<layer>/test_x.c links that layer and what is below ------------------
UNIT_SRC := $(wildcard tests/unit/*/test_*.c)
UNIT_BIN := $(patsubst tests/unit/%.c,$(B)/unit/%,$(UNIT_SRC))
define unit_rule
$(B)/unit/$(1)/%: $(B)/tests/unit/$(1)/%.o $$(foreach l,$(DEPS_$(1)),$$(call LIB,$$(l)))
	@mkdir -p $$(@D)
	$(Q)$(CC) $(LDFLAGS) -o $$@ $$< $$(call LINK,$(1)) -lcmocka
endef
$(foreach l,$(LAYERS),$(eval $(call unit_rule,$(l))))
.PRECIOUS: $(B)/tests/unit/%.o
.PHONY: unit
unit: $(UNIT_BIN)

-include $(shell find $(B) -name '*.d' 2>/dev/null)

# --- what a person types ---------------------------------------------------------------------------
TESTS := python3 tests/run.py
ARGS ?=

.PHONY: help run packages test test-quick test-crash lint format asan tsan cov bench fuzz install clean
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

packages-%:
	$(Q)tests/setup/packages.sh $*

run: packages-build ## installs what is missing, builds, serves ./latch-data on 127.0.0.1:8181 (ARGS="--listen …")
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all
	$(Q)exec $(B)/latch serve $(ARGS)

test: packages-build packages-test ## installs what is missing, builds, runs every test
	$(Q)tests/setup/clients.sh
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all tools
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) VARIANT=debug unit replay
	$(Q)LATCH_BIN=$(CURDIR)/$(B)/latch $(TESTS) unit replay conform crash

test-quick: ## unit tests only (what it needs must be installed)
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) VARIANT=debug unit replay
	$(Q)$(TESTS) unit replay

test-crash: all ## the long crash test: many more kills than `make test`
	$(Q)LATCH_BIN=$(CURDIR)/$(B)/latch CRASH_KILLS=$(or $(KILLS),200) $(TESTS) crash

lint: packages-lint ## layers, owners of third-party headers, format, static checks
	$(Q)tests/lint/lint.sh

format: ## applies .clang-format
	$(Q)clang-format -i $(shell git ls-files '*.c' '*.h')

asan: ## unit tests and HTTP suites with address and undefined-behaviour sanitizers
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) VARIANT=asan all unit replay
	$(Q)VARIANT=asan LATCH_BIN=$(CURDIR)/build/asan/latch $(TESTS) unit replay http

tsan: ## the same with the thread sanitizer
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) VARIANT=tsan all unit
	$(Q)VARIANT=tsan LATCH_BIN=$(CURDIR)/build/tsan/latch $(TESTS) unit http

cov: packages-build packages-test packages-cov ## line and branch coverage of the unit tests and the HTTP suites: build/cov/report.txt
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) VARIANT=cov all unit
	$(Q)VARIANT=cov LATCH_BIN=$(CURDIR)/build/cov/latch $(TESTS) unit http
	$(Q)gcovr --root . --exclude tests --object-directory build/cov --branches -s -o build/cov/report.txt build/cov
	$(Q)tail -25 build/cov/report.txt

bench: packages-build packages-test packages-bench ## Latch beside a null server, libmicrohttpd and the file system
	$(Q)tests/setup/clients.sh
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all tools $(B)/bench/nullserver $(B)/bench/constserver $(B)/bench/nativeload
	$(Q)LATCH_BIN=$(CURDIR)/$(B)/latch python3 tests/bench/bench.py

$(B)/bench/%: $(B)/tests/bench/%.o $(foreach l,proto,$(call LIB,$(l)))
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $< $(call LINK,proto) $(LIBS_server)

# Programs of the tests that link the daemon's code.
TOOLS := $(patsubst tests/tools/%.c,$(B)/tools/%,$(wildcard tests/tools/*.c))
.PHONY: tools
tools: $(TOOLS)
$(B)/tools/%: $(B)/tests/tools/%.o $(foreach l,manifest proto,$(call LIB,$(l)))
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $< $(call LINK,manifest)
.PRECIOUS: $(B)/tests/tools/%.o

# Fuzz targets: replayed over their corpora by `make test`, run for long by `make fuzz`. They link the
# manifest layer, or the one that is named for them.
FUZZ := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
.PHONY: replay
replay: $(FUZZ:%=$(B)/replay/%)
FUZZ_LAYER_state_ckpt := catalog
FUZZ_LAYER = $(or $(FUZZ_LAYER_$(1)),manifest)
define replay_rule
$(B)/replay/$(1): $(B)/tests/fuzz/fuzz_$(1).o $(B)/tests/fuzz/replay.o $(foreach l,$(DEPS_$(2)),$(call LIB,$(l)))
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $$< $(B)/tests/fuzz/replay.o $$(call LINK,$(2))
endef
$(foreach t,$(FUZZ),$(eval $(call replay_rule,$(t),$(call FUZZ_LAYER,$(t)))))
.PRECIOUS: $(B)/tests/fuzz/%.o
SECONDS_EACH ?= 600
fuzz: packages-build packages-fuzz ## every fuzz target for SECONDS_EACH (600) seconds; T=json for one
	$(Q)tests/fuzz/run.sh $(SECONDS_EACH) $(foreach t,$(or $(T),$(FUZZ)),$(t):$(call FUZZ_LAYER,$(t)))

PREFIX ?= /usr/local
install: all ## into PREFIX (/usr/local), below DESTDIR
	install -D -m 0755 $(B)/latch $(DESTDIR)$(PREFIX)/bin/latch
	install -D -m 0644 deploy/latch.conf $(DESTDIR)$(PREFIX)/share/doc/latch/latch.conf
	install -D -m 0644 README.md $(DESTDIR)$(PREFIX)/share/doc/latch/README.md

clean: ## removes what was built; build/deps (clients) stays
	rm -rf build/release build/debug build/asan build/tsan build/cov
