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

# What `make help` prints: of a target's line what follows `##`, and the lines that begin with it.
.PHONY: help
help:
	@awk '/^[a-z-]+:.*## / { target = $$0; sub(/:.*/, "", target); sub(/.*## /, ""); printf "make %-17s %s\n", target, $$0 } \
	      /^##( |$$)/ { print substr($$0, 4) }' Makefile

## make                   builds the extension (PG_CONFIG=/path/to/pg_config for another server)
## make install           installs it into that server; make uninstall removes it
## make installcheck      runs test/sql and test/specs against a server that runs already
## make clean             removes what was built
##
## The rest needs nothing prepared: it installs the Debian packages that are missing, and runs on servers of its own.
ONLY ?=
VERSIONS ?= 15 17 18
.PHONY: demo psql test test-worker test-examples test-monitoring test-matrix test-package bench lint format-check
demo:             ## tells a story in seven parts
	@test/harness/enter demo test/harness/demo
psql:             ## opens a shell on a server of its own with the extension
	@test/harness/enter demo test/harness/shell
test:             ## runs all suites; ONLY="docs pgtap/state_table" one suite and one file
	@test/harness/enter test test/harness/suites $(ONLY)
test-worker:      ## cleanup by the background worker and by pg_cron
	@test/harness/enter worker test/harness/suites worker
test-examples:    ## the examples, and the booking page in a browser
	@test/harness/enter examples test/harness/suites examples
test-monitoring:  ## the queries and the dashboard, with postgres_exporter
	@test/harness/enter monitoring test/harness/suites monitoring
test-matrix:      ## the suites on other versions of the server, VERSIONS="15 17 18"
	@ONLY="$(ONLY)" test/harness/matrix $(VERSIONS)
test-package:     ## builds the Debian package, installs it in a clean system, tries it there
	@test/harness/package
bench:            ## rates and costs; ONLY="cost throughput/acquire_item" QUICK=1 SAVE=name, see bench/README.md
	@test/harness/enter bench bench/run $(if $(QUICK),--quick) $(ONLY) $(if $(SAVE),> bench/results/$(SAVE).txt && cat bench/results/$(SAVE).txt)
lint:             ## compiler warnings, clang-tidy, clang-format, shellcheck
	@test/harness/enter lint test/harness/lint
format-check:     ## clang-format alone
	@clang-format --dry-run --Werror $(wildcard src/*.[ch]pp src/*/*.[ch]pp test/unit/*.cpp)

ENVIRONMENT := $(patsubst test/environment/test_%.py,%,$(sort $(wildcard test/environment/test_*.py)))
.PHONY: test-environment $(ENVIRONMENT:%=test-%) test-pg-upgrade test-sanitize
test-environment: ## what surrounds an extension: test/environment/test_*.py
	@test/harness/enter environment test/harness/suites environment pooled
## make test-NAME         one file of these: test-dump runs test/environment/test_dump.py
$(ENVIRONMENT:%=test-%):
	@test/harness/enter environment test/harness/suites $(@:test-%=environment/%) $(if $(filter test-pooler,$@),pooled)
test-pg-upgrade:  ## pg_upgrade from 15 to 17 and to 18
	@test/harness/pg-upgrade
test-sanitize:    ## the suites under sanitizers
	@test/harness/sanitize
