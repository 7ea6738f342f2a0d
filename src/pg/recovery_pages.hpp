// ql3.recovery_pages: one row per page handed out. It makes the repeat of a claim harmless (promise 4) and
// remembers where discovery stood, for the first claim after a restart.
#pragma once

#include "claim_page.hpp"

namespace ql3::pg {

struct remembered_page {
  std::string_view owner;
  int page_size;
  std::optional<bounded<std::string_view>> kinds;
  bounded<std::string_view> target_kinds;
  bounded<std::string_view> target_ids;
};

std::optional<remembered_page> find_page(const unsigned char* token_digest);

// `kinds` sorted; absent = all.
void remember_page(const claim_request& request, const std::optional<bounded<std::string_view>>& kinds,
                   const claim_page& page);

// Forgets pages that have been over for 10 minutes, looking at `most` of them; answers how many. Never waits.
// `from_start`: also at those that an earlier look may have passed over.
int forget_old_pages(instant clock, int most, bool from_start);

// Gives discovery of each source its place back after a restart.
void seed_discovery(const per_source<source>& sources);

}  // namespace ql3::pg
