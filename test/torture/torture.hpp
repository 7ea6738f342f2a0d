// A module for the test of the boundary (test/t/boundary): it throws, raises and is cancelled in
// every way that src/pg can. Built by `make pgroot` from the objects of the extension; never part
// of an installation.
#pragma once

#include "pg/session.hpp"

namespace ql3::pg::torture {

// Counts itself while it lives: what a skipped destructor would leave behind.
class witness {
 public:
  witness() noexcept { ++alive_; }
  ~witness() noexcept { --alive_; }
  witness(const witness&) = delete;
  witness& operator=(const witness&) = delete;
  static int alive() noexcept { return alive_; }

 private:
  static inline constinit int alive_ = 0;
};

// Fails in the way the word names; 22023 for an unknown word. Everything it uses is destroyed on
// the way out.
void fail(std::string_view way);

// Runs `body` inside what the word names: plain, session, scratch, discard, keep_if, or several
// joined by '/'.
void inside(std::string_view places, std::string_view way);

}  // namespace ql3::pg::torture
