# Everything once more for the checkers: joined to few translation units (test/checkers/unify), so that headers
# are read once, and compiled by clang, read by clang-tidy, or built with sanitizers. The Makefile calls this file.

PG_CONFIG ?= pg_config
CXX ?= g++
CLANG ?= clang++
unified = build/unified
parts = core client cli pg test-core test-client
version := $(shell sed -nE "s/^default_version *= *'(.*)'.*/\1/p" ql3.control)

# Headers of the server and of libraries are not ours to warn about.
language = -std=c++20 -Isrc -Itest/unit -isystem $(shell $(PG_CONFIG) --includedir-server) \
	-isystem $(shell $(PG_CONFIG) --includedir) -DQL3_VERSION='"$(version)"' -Wno-register
# A count is an int here as it is in the server; an index made of one is no finding.
warnings = -Wall -Wextra -Wconversion -Wno-sign-conversion

sources = $(wildcard $(if $(filter test-%,$1),$(1:test-%=test/unit/%_*_test.cpp),src/$1/*.cpp src/$1/*/*.cpp))

# Clang's warnings are errors: -Werror would keep the other units from being looked at.
$(parts:%=$(unified)/%.done): $(unified)/%.done: test/checkers/unify $(wildcard src/*/*.?pp src/*/*/*.?pp test/unit/*.?pp) test/checkers/rules.mk
	@echo 'CLANG $*'
	@test/checkers/unify $(unified) $* $(call sources,$*) -- $(CLANG) $(language) $(warnings)
	@touch $@

clang: $(parts:%=$(unified)/%.done)

# The same units with another compiler: CXX=g++-11.
other = $(patsubst $(unified)/%.cpp,build/other/$(CXX)/%.done,$(wildcard $(unified)/*.cpp))
$(other): build/other/$(CXX)/%.done: $(unified)/%.cpp
	@mkdir -p $(@D)
	@$(CXX) $(language) $(warnings) -Werror -O1 -fPIC -c -o /dev/null $<
	@touch $@
other: $(other)

# JSON and the command line are templates that clang-tidy reads for minutes: client and program in the long form only.
# Of a unit's file, sources are known only when clang has joined them: what follows is called anew after `clang`.
tidied = $(patsubst $(unified)/%.cpp,build/tidy/%.done,$(filter-out $(unified)/test-% $(if $(QL3_STRESS),,$(unified)/cli-% $(unified)/client-%),\
	$(wildcard $(unified)/*.cpp)))
build/tidy/%.done: $(unified)/%.cpp .clang-tidy $(wildcard src/*/*.?pp)
	@mkdir -p $(@D)
	@echo 'TIDY $*'
	@clang-tidy --quiet --warnings-as-errors='*' $< -- $(language) $(warnings) 2>build/tidy/$*.log || \
		{ cat build/tidy/$*.log >&2; exit 1; }
	@touch $@

tidy: $(tidied)

cppcheck:
	@cppcheck --quiet --std=c++20 --language=c++ --enable=warning,performance,portability --inline-suppr \
		--suppress=passedByValue --error-exitcode=1 -Isrc src

# KIND=address: AddressSanitizer and UBSanitizer, of everything. KIND=thread: ThreadSanitizer, of what has threads.
KIND ?= address
# The server's assertions are of use without a server that has them: those in its headers hold for our calls.
sanitize.address = -fsanitize=address,undefined -fno-wrapv -DUSE_ASSERT_CHECKING=1
sanitize.thread = -fsanitize=thread
out = build/$(KIND)
compile = $(CXX) $(language) -O0 -g1 -fPIC -fvisibility=hidden -fno-omit-frame-pointer $(sanitize.$(KIND))
libraries = -lpq -lcurl -lfmt -lpthread
objects = $(patsubst $(unified)/%.cpp,$(out)/%.o,$(wildcard $(1:%=$(unified)/%-*.cpp)))

$(out)/%.o: $(unified)/%.cpp test/checkers/rules.mk
	@mkdir -p $(@D)
	@echo 'CXX $* ($(KIND))'
	@$(compile) -MMD -MP -c -o $@ $<

$(out)/bin/ql3: $(call objects,core client cli)
	@mkdir -p $(@D)
	@$(compile) -o $@ $^ $(libraries) -lprometheus-cpp-pull -lprometheus-cpp-core -lncursesw -ltinfo
$(out)/bin/unit: $(call objects,core client test-client $(if $(filter address,$(KIND)),test-core))
	@mkdir -p $(@D)
	@$(compile) -o $@ $^ $(libraries) -lgtest_main -lgtest
$(out)/ql3.so: $(call objects,core pg)
	@$(compile) -shared -Wl,--version-script=src/pg/exports.map -o $@ $^

# The program takes as long to compile as all the rest: in the long form only.
sanitized: $(out)/bin/unit $(if $(filter address,$(KIND)),$(out)/ql3.so) $(if $(QL3_STRESS),$(out)/bin/ql3)

-include $(wildcard $(out)/*.d)

.PHONY: clang other tidy cppcheck sanitized
