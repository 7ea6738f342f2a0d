// An installation against its contract, and differences told in words.
#pragma once

#include "ready.hpp"

namespace ql3::pg {

constexpr std::string_view reinstall =
    "Find out who changed it. Where nothing of it is wanted: dump, DROP and CREATE EXTENSION, restore the data.";

// Differences as one detail, the first few of them in words.
class differences {
 public:
  // Where the next one may be written; nullptr when there were enough.
  long_text* next();
  void note(std::string_view text);
  bool none() const noexcept { return count_ == 0; }
  std::string_view detail();

 private:
  int count_ = 0;
  long_text detail_;
};

// Notes each object of the extension that is missing, changed, or not of the contract. Answers how many there are.
std::int64_t find_changes(differences& seen, std::string_view extension, std::string_view contract);

// One row of `which`: as shipped, with the digest of the contract, or what differs.
void compare_catalog(readiness& to, const check& which, std::string_view extension, std::string_view contract);

}  // namespace ql3::pg
