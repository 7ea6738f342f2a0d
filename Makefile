# ql3: the extension through PGXS (extension.mk), the client through CMake, both driven from here.
# `make help` lists the targets. PG_CONFIG chooses the server to build for.

PG_CONFIG ?= $(firstword $(wildcard /usr/lib/postgresql/15/bin/pg_config) pg_config)
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
SAN ?=

# -j is ours to choose only when the caller has not.
parallel = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))
again = $(MAKE) --no-print-directory
extension = $(again) -f extension.mk PG_CONFIG='$(PG_CONFIG)' SAN='$(SAN)'

all: extension client ## build extension and client (default)

extension: ## build the extension
	@command -v '$(PG_CONFIG)' >/dev/null || { echo 'no $(PG_CONFIG): run "make deps" or set PG_CONFIG' >&2; exit 1; }
	+@$(extension) $(parallel) all

client: ## build libql3 and the program ql3
	@test/server/configure-client build '-DSAN=$(SAN)' -DCMAKE_COMPILE_WARNING_AS_ERROR=$(if $(CI),ON,OFF)
	@cmake --build build --parallel $(JOBS)

units: client ## build the unit tests
	@cmake --build build --parallel $(JOBS) --target units

# Sources as test/checkers/unify joined them are known to the second call only.
checkers = $(again) -f test/checkers/rules.mk PG_CONFIG='$(PG_CONFIG)' $(parallel)
unified: deps-check
	+@$(checkers) clang

sanitized: pgroot unified ## extension, client and unit tests with Address- and UBSanitizer, client with ThreadSanitizer
	+@$(checkers) KIND=address sanitized
	+@$(checkers) KIND=thread sanitized

install: install-extension install-client ## install both (honours DESTDIR and PREFIX)

install-extension: extension
	+@$(extension) install DESTDIR='$(DESTDIR)'

install-client: client
	@DESTDIR='$(DESTDIR)' cmake --install build --prefix '$(PREFIX)'

deps: ## install what is missing of deps.txt with apt-get (sudo when not root)
	@test/server/install-deps deps.txt

deps-check: deps ## install what only `make check` needs: test/deps.txt, and packages of npm under build/node
	@test/server/install-deps test/deps.txt
	@test/server/install-node-modules build/node examples/node
	@test/server/install-node-modules build/node-containerfile test/package/node

pgroot: client server-copy ## a private copy of the server with our extension in it, under build/pgroot
server-copy: extension ## the same without the client
	@test/server/make-pgroot '$(PG_CONFIG)' build/pgroot
	+@$(extension) -s $(parallel) install install-torture next DESTDIR=build/pgroot

# Run it after every change of ql3--*.sql, and again after a merge that touched the file. The contract is compiled into
# the library, which ql3_ready compares with what it finds; `make check-static` fails when it is stale.
contract: pgroot ## freeze the catalog of ql3*--*.sql in src/pg/catalog.contract and ledger.contract
	@test/server/catalog-contract build
	@for each in catalog.contract ledger.contract; do \
		cmp -s "build/$$each" "src/pg/$$each" || cp "build/$$each" "src/pg/$$each"; done
	+@$(again) $(parallel) pgroot

errors: ## write docs/errors.md from the sources
	@test/errors_page >build/errors.md && cp build/errors.md docs/errors.md

html: ## the documentation as a static site, in build/html
	@sphinx-build -q -W --keep-going -b html -c docs/html docs build/html

# A second make, because the first has read its files before deps made the tools they ask for.
demo: deps ## the main job on real processes, on a throw-away server
	+@$(again) $(parallel) pgroot
	@demo/run

demo-switchover: deps ## the incident re-enacted: a switchover that is never sent twice
	+@$(again) $(parallel) pgroot
	@demo/switchover/run

# Programs that only tests ask, unpacked from Debian's packages and not installed.
tools: deps-check
	@test/server/unpack-tools build/tools

check: deps-check ## every test layer on throw-away servers
	+@$(again) $(parallel) pgroot units tools sanitized
	@test/run static lint unit regress isolation t sanitize

check-static: pgroot ## static checks of sources and exported symbols
check-lint: deps-check ## clang, clang-tidy and cppcheck
check-unit: pgroot units ## GoogleTest units
check-regress: pgroot ## pg_regress topics
check-isolation: pgroot ## isolation specs
check-t: deps-check pgroot tools ## the executable tests of test/t
check-sanitize: sanitized ## units and regression suite under sanitizers (QL3_STRESS=full: program and isolation too)
check-valgrind: pgroot ## some regression topics with the server under valgrind (TOPICS="claim settle")
check-static check-lint check-unit check-regress check-isolation check-t check-sanitize check-valgrind: check-%:
	@test/run $*

# Needs root, mmdebstrap, unshare and a mirror of Debian; a gigabyte a root. KEEP=1 keeps the roots for the next run.
MAJORS ?=
check-matrix: ## the suites on PostgreSQL 13, 15, 17, 18 in throw-away roots, and pg_upgrade (MAJORS="13 17")
	@test/matrix/run $(MAJORS)

check-installed: ## regression, isolation, documentation and switchover demo on the system's server, extension and program
	@test/server/installed '$(PG_CONFIG)' build/installed
	@QL3_INSTALLED=build/installed test/run regress isolation installed

# Needs what check-matrix needs, and two gigabytes. KEEP=1 keeps roots and packages.
check-package: dist ## Debian packages of HEAD on bare roots: build, rebuild, lintian, install, use, upgrade, purge
	@test/package/run

version = $(shell sed -nE "s/^default_version *= *'(.*)'/\1/p" ql3.control)
dist: ## what is committed as an archive for PGXN: build/ql3-VERSION.zip
	@mkdir -p build
	@TZ=UTC git archive --format=zip -9 --prefix='ql3-$(version)/' -o 'build/ql3-$(version).zip' HEAD
	@echo 'build/ql3-$(version).zip'

# Only a run of the size that the documentation shows may change it.
SCALE ?= small
SCENES ?=
EXTRA ?=
bench: deps ## measure ql3 against its baselines (SCALE=smoke|small|full, SCENES="S1 S4", EXTRA=10million)
	+@$(again) $(parallel) pgroot
	@test/bench/ql3_bench --throwaway --scale '$(SCALE)' $(if $(SCENES),--scenes '$(SCENES)') --extra '$(EXTRA)' \
		$(if $(filter full,$(SCALE)),--out docs/performance --document docs/performance.md,--out build/bench)

# Not in `make check`, which replays each target's corpus with the compiler at hand. SECONDS is for each target.
SECONDS ?= 60
fuzz: ## libFuzzer (clang) on every parser, SECONDS each
	@cmake -S . -B build/fuzzing -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DQL3_FUZZ=ON \
	  '-DSAN=-fsanitize=address,undefined;-fno-sanitize-recover=undefined' >/dev/null
	@cmake --build build/fuzzing --parallel $(JOBS) --target fuzz_programs
	@test/fuzz/run build/fuzzing/fuzz $(SECONDS)

clean: ## remove everything that was built
	rm -rf build ql3.so

help: ## this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/\1\t\2/p' Makefile | expand -t 18

.PHONY: all extension client units unified sanitized install install-extension install-client deps deps-check pgroot server-copy contract errors html demo \
	demo-switchover check check-static check-lint check-unit check-regress check-isolation check-t check-sanitize check-valgrind \
	check-matrix check-installed check-package dist bench fuzz tools clean help
