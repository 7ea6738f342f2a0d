// Locking a claim's row under its fence: the one way in for every function that a holder calls.
#pragma once

#include "control_rows.hpp"

namespace ql3::pg {

// A claim as its holder names it.
struct claim_name {
  std::string_view kind;
  std::string_view id;
  std::string_view owner;
  const unsigned char* token_digest;
  std::int64_t version;

  fence as_fence() const noexcept { return {kind, id, owner, token_digest, version}; }
};

struct fenced_claim {
  bool holds;                         // the whole fence, by the clock read after the lock
  std::optional<locked_control> row;  // locked; absent when there is none
  instant clock;
};

// Waits at most 1 s for the row (55P03). 25001 when this very transaction made the claim.
fenced_claim lock_claim(const claim_name& name);


// The word of the call that ended the claim, when this is its repeat: same fence, same content. Lasts until the next
// claim of the target.
std::optional<std::string_view> repeated(const fenced_claim& found, const unsigned char (&request)[digest_size]);

// Starts the digest of an ending call: its name and the whole fence. Add what the caller asked for, then digest.
request_bytes request_of(std::string_view function, const claim_name& name);

// Arguments (owner, token, kinds, ids, versions) of the page functions, checked; `names` in input order.
struct claim_page_names {
  token with;
  bounded<claim_name> names;
  // Positions in key order: the order in which rows are locked, so that two pages never deadlock.
  bounded<int> by_key;
};
void read_claim_page(const arguments& given, claim_page_names& to);
claim_name read_claim(const arguments& given, token& with);

// Tests the fence of a locked row by the clock that was read after the lock.
fenced_claim judge_claim(const claim_name& name, const std::optional<locked_control>& row, instant clock);

// For several claims: every row is locked, in key order, before the clock is read once for all of them.
// `each(position, found)` is called in key order and answers the word of that position; the answers come back in
// input order.
template <class Each>
bounded<std::string_view> with_claims(const claim_page_names& page, Each&& each) {
  bounded<std::optional<locked_control>> locked;
  for (int at : page.by_key) {
    check_for_interrupts();
    locked.push_back(lock_waiting(page.names[at].kind, page.names[at].id));
  }
  instant const clock = GetCurrentTimestamp();
  bounded<std::string_view> answers(page.names.size());
  for (std::size_t step = 0; step < page.by_key.size(); ++step) {
    check_for_interrupts();
    int const at = page.by_key[step];
    const claim_name& name = page.names[at];
    // The same target twice: the second position sees what the first one wrote.
    bool const again = step > 0 && page.names[page.by_key[step - 1]].kind == name.kind &&
                       page.names[page.by_key[step - 1]].id == name.id;
    answers[at] = each(at, judge_claim(name, again ? lock_waiting(name.kind, name.id) : locked[step], clock));
  }
  return answers;
}

}  // namespace ql3::pg
