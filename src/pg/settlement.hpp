// How a claim ends (promises 3 and 5): what is written depends on what the source says of the target now.
#pragma once

#include "fenced_claim.hpp"
#include "judgements.hpp"

namespace ql3::pg {

// What the source says of a claimed target, asked after the row lock.
enum class standing {
  same,     // still listed with the facts that the claim handed out
  changed,  // listed with other facts: a new incident
  gone,     // not listed
  unknown,  // no source, or a blind one: nothing may be concluded from it
};

struct situation {
  const locked_control* row;
  const source* from;  // nullptr when the kind is not attached
  standing stands;
  instant clock;
};

// Reads the standing of one claimed target; warns when the source is blind.
standing standing_of(const locked_control& row, const source* from);
// As that, for claims of one kind together.
void standings_of(const bounded<const locked_control*>& claims, const source* from, bounded<standing>& stand);

struct settle_request {
  disposition as;
  std::optional<std::int64_t> delay;
  std::optional<std::string_view> note;
};

// Writes the end of the claim; its judgement is added to `history`, which the caller writes. `request` is the digest
// that recognises the repeat.
void settle_claim(const situation& now, const settle_request& how, const unsigned char (&request)[digest_size],
                  judgement_page& history);

// How a conclusion went.
struct conclusion {
  std::string_view verdict;
  std::optional<Datum> evidence;
  bool applied;  // the transition said yes; otherwise stale
};
void conclude_claim(const situation& now, const conclusion& how, const unsigned char (&request)[digest_size]);

}  // namespace ql3::pg
