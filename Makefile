# Build with PGXS; everything longer than a line is a script in test/harness.
EXTENSION  = reservation
MODULE_big = reservation
EXT_VERSION := $(shell sed -n "s/^default_version = .\(.*\)./\1/p" $(EXTENSION).control)
OBJS      := $(patsubst %.cpp,%.o,$(sort $(wildcard src/*.cpp src/*/*.cpp)))
DATA      := $(sort $(wildcard sql/reservation--*.sql))
DOCS      := $(sort $(wildcard doc/*.md))

PG_CONFIG ?= pg_config
PG_CPPFLAGS = -isystem $(shell $(PG_CONFIG) --includedir-server) -Isrc -DRESERVATION_VERSION=\"$(EXT_VERSION)\"
PG_CXXFLAGS = -std=c++20 -Wall -Wextra -Wpedantic -Wno-register -MMD -MP \
              -fvisibility=hidden -fvisibility-inlines-hidden
SHLIB_LINK  = -Wl,--version-script=src/exports.map  # hides what libstdc++'s templates would export

REGRESS       := $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
ISOLATION     := $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
REGRESS_OPTS   = --inputdir=test --load-extension=btree_gist --load-extension=$(EXTENSION)
ISOLATION_OPTS = $(REGRESS_OPTS) --outputdir=.  # so that ./expected serves both
EXTRA_CLEAN    = $(OBJS:.o=.d) build

# Without the server's headers the targets at the end still work: they install what is missing.
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))
ifneq ($(PGXS),)
override COMPILER  = $(CXX) $(CXXFLAGS)  # PGXS would link with the C driver, without libstdc++
override with_llvm = no                  # SPI calls gain nothing from inlining
include $(PGXS)
reservation.so: src/exports.map
-include $(OBJS:.o=.d)
else
all install installcheck clean:
	@echo "$(PG_CONFIG) names no PGXS makefile: install PostgreSQL's server headers or set PG_CONFIG" >&2; exit 1
endif

# make test ONLY="pgtap/states sessions" runs one file and one suite.
ONLY ?=
VERSIONS ?= 15 17 18
.PHONY: demo psql test test-worker test-examples test-monitoring test-matrix test-package bench lint format-check
demo:
	@test/harness/enter demo test/harness/demo
psql:
	@test/harness/enter demo test/harness/shell
test:
	@test/harness/enter test test/harness/suites $(ONLY)
test-worker:
	@test/harness/enter worker test/harness/suites worker
test-examples:
	@test/harness/enter examples test/harness/suites examples
test-monitoring:
	@test/harness/enter monitoring test/harness/suites monitoring
test-matrix:
	@ONLY="$(ONLY)" test/harness/matrix $(VERSIONS)
test-package:
	@test/harness/package
# make bench ONLY="cost throughput/acquire_item" QUICK=1 SAVE=name; see bench/README.md.
bench:
	@test/harness/enter bench bench/run $(if $(QUICK),--quick) $(ONLY) $(if $(SAVE),> bench/results/$(SAVE).txt && cat bench/results/$(SAVE).txt)
lint:
	@test/harness/enter lint test/harness/lint
format-check:
	@clang-format --dry-run --Werror $(wildcard src/*.[ch]pp src/*/*.[ch]pp test/unit/*.cpp)

# What surrounds an extension: test-dump runs test/environment/test_dump.py, test-environment all of its files.
ENVIRONMENT := $(patsubst test/environment/test_%.py,%,$(sort $(wildcard test/environment/test_*.py)))
.PHONY: test-environment $(ENVIRONMENT:%=test-%) test-pg-upgrade test-sanitize
test-environment:
	@test/harness/enter environment test/harness/suites environment pooled
$(ENVIRONMENT:%=test-%):
	@test/harness/enter environment test/harness/suites $(@:test-%=environment/%) $(if $(filter test-pooler,$@),pooled)
test-pg-upgrade:
	@test/harness/pg-upgrade
test-sanitize:
	@test/harness/sanitize
