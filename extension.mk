# The extension through PGXS. The Makefile calls this file: PGXS must be read after `make deps`, and it
# has a `check` of its own.

EXTENSION = ql3 ql3_ledger
MODULE_big = ql3
DATA = $(wildcard ql3--*.sql ql3_ledger--*.sql)
SOURCES = $(wildcard src/core/*.cpp src/pg/*.cpp)
OBJS = $(SOURCES:%.cpp=build/extension/%.o)

# The server's headers are not ours to warn about: -isystem.
PG_CPPFLAGS = -Isrc -isystem $(shell $(PG_CONFIG) --includedir-server)
# -Wno-register: the headers of 15 and earlier still say `register`. COPT is what a package builder adds; PGXS gives it to C only.
PG_CXXFLAGS = -std=c++20 -fvisibility=hidden -fvisibility-inlines-hidden -Wextra -Wconversion -Wno-register \
	$(if $(CI),-Werror) $(SAN) $(COPT)
SHLIB_LINK = -lstdc++ -Wl,--version-script=src/pg/exports.map $(SAN)

# No bitcode: the JIT inlines only small C functions; ours are C++ behind an error boundary, so it
# would cost a second compiler and bring nothing.
override with_llvm = no

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

ifneq ($(shell command -v ccache),)
ifeq ($(findstring ccache,$(CXX)),)
CXX := ccache $(CXX)
endif
endif

# PGXS on Debian knows no header dependencies, and objects outside src/ keep the sources clean. The
# flags file makes a change of compiler or flags rebuild everything.
compile = $(CXX) $(CXXFLAGS) $(CPPFLAGS)
build/extension/flags: force
	@mkdir -p $(@D)
	@echo '$(compile)' | cmp -s - $@ || echo '$(compile)' >$@

build/extension/%.o: %.cpp build/extension/flags
	@mkdir -p $(@D)
	@echo 'CXX $<'
	@$(compile) -MMD -MP -c -o $@ $<

$(shlib): src/pg/exports.map

# The module that tortures the boundary (test/t/boundary). `make pgroot` alone installs it, into build/pgroot.
torture = build/torture/ql3_torture.so
TORTURE_OBJS = $(patsubst %.cpp,build/extension/%.o,$(wildcard test/torture/*.cpp))
$(torture): $(TORTURE_OBJS) $(filter-out %/module.o,$(OBJS)) test/torture/exports.map
	@mkdir -p $(@D)
	@echo 'LD $@'
	@$(CXX) $(CXXFLAGS) $(LDFLAGS) -shared -o $@ $(filter %.o,$^) $(SAN) -Wl,--version-script=test/torture/exports.map

install-torture: $(torture)
	@$(INSTALL_SHLIB) $< '$(DESTDIR)$(pkglibdir)/'

# The library of the next version as test/upgrade has it, for test/t/upgrade: the same code built for another contract.
next = build/upgrade/ql3.so
build/upgrade/catalog.contract: src/pg/catalog.contract test/upgrade/contract
	@mkdir -p $(@D)
	@test/upgrade/contract $< >$@
build/upgrade/contract.o: src/pg/contract.cpp src/pg/contract.hpp build/upgrade/catalog.contract build/extension/flags
	@echo 'CXX $< for test/upgrade'
	@$(compile) -Ibuild/upgrade -DQL3_CONTRACT='<catalog.contract>' -c -o $@ $<
$(next): build/upgrade/contract.o $(filter-out %/contract.o,$(OBJS)) src/pg/exports.map
	@echo 'LD $@'
	@$(CXX) $(CXXFLAGS) $(LDFLAGS) -shared -o $@ $(filter %.o,$^) $(SHLIB_LINK)

next: $(next)

-include $(OBJS:.o=.d) $(TORTURE_OBJS:.o=.d)

.PHONY: force install-torture next
