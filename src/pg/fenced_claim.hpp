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
// `before(founds)` then sees them together, in key order; `each(position, found, step)` is called in key order and
// answers the word of that position; the answers come back in input order. A target that is named again is found as the
// first call left it, and then `step` is -1: what was seen before does not count for it.
template <class Before, class Each>
bounded<std::string_view> with_claims(const claim_page_names& page, Before&& before, Each&& each) {
  bounded<target_name> targets;
  for (int at : page.by_key) targets.push_back({page.names[at].kind, page.names[at].id});
  bounded<std::optional<locked_control>> const locked = lock_all(targets, lock_wait::wait);
  instant const clock = GetCurrentTimestamp();
  bounded<fenced_claim> founds;
  for (std::size_t step = 0; step < page.by_key.size(); ++step)
    founds.push_back(judge_claim(page.names[page.by_key[step]], locked[step], clock));
  before(founds);
  bounded<std::string_view> answers(page.names.size());
  for (std::size_t step = 0; step < page.by_key.size(); ++step) {
    check_for_interrupts();
    int const at = page.by_key[step];
    const claim_name& name = page.names[at];
    bool const again =
        step > 0 && targets[step].kind == targets[step - 1].kind && targets[step].id == targets[step - 1].id;
    answers[at] = again ? each(at, judge_claim(name, lock_waiting(name.kind, name.id), clock), -1)
                        : each(at, founds[step], static_cast<int>(step));
  }
  return answers;
}

}  // namespace ql3::pg
