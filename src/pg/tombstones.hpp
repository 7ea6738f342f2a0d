// ql3.dispatch_tombstones: what prune leaves of a decided attempt, so that its item and its token are refused for ever
// and its writer's late result still finds a place (promises 13 and 14).
#pragma once

#include "dispatch_rows.hpp"

namespace ql3::pg {

std::optional<attempt_row> tombstone_of_token(const item_name& name, const unsigned char* token_digest);
// The first that is not released, and the latest of all.
std::optional<attempt_row> unreleased_tombstone(const item_name& name);
std::optional<attempt_row> latest_tombstone(const item_name& name);
// One whose facts came to disagree after it was pruned: only these keep the name of their item.
std::optional<item_name> item_of_conflicting_tombstone(const uuid_value& attempt);
std::optional<attempt_row> conflicting_tombstone(const uuid_value& attempt);
int count_unreleased_tombstones(const item_name& name);
bool is_buried(const item_name& name, const unsigned char* token_digest, Snapshot snapshot);
// Digest of the identity the item was known by; nullptr when none of its tombstones had one.
const unsigned char* identity_of_tombstones(const item_name& name);

// 40001 when ql3_forget has removed it meanwhile.
void update_tombstone(const item_name& name, const attempt_row& row);

// Puts a tombstone in the place of a row. REQUIRES: the item's lock, a definite state.
void bury(const item_name& name, const attempt_row& row, instant clock);

// Whether the request has attempts that are not pruned; and the removal of its tombstones, at most `most`.
bool has_attempts(std::string_view request_uid);
std::int64_t remove_tombstones(std::string_view request_uid, int most);

}  // namespace ql3::pg
