// The rows of ql3.dispatches, by their indexes (own_table.hpp), and the item's lock.
#pragma once

#include "lineage.hpp"

namespace ql3::pg {

struct item_digests;

struct item_name {
  std::string_view request_uid;
  std::string_view item;
  // Made when a tombstone is first asked for, in the memory of the call.
  mutable const item_digests* digests = nullptr;
};

// Views lie in `row`, of a tombstone too.
struct attempt_row {
  HeapTuple row;
  uuid_value attempt;
  std::int32_t attempt_no;
  std::optional<std::string_view> action;
  std::optional<Datum> arguments;  // jsonb
  std::string_view writer;
  const unsigned char* token_digest;
  const unsigned char* permit_digest;  // nullptr when none was given
  uuid_value lineage;
  instant claimed_at;
  std::optional<instant> permitted_at;
  std::int64_t observe_after;
  instant observe_at;
  std::optional<instant> concluded_at;
  std::optional<std::string_view> detail;
  attempt_facts facts;  // own_lineage is filled in by whoever knows the live one
  bool is_tombstone;    // pruned: facts, writer, token and times only
};

// Every step of one item takes this lock before the attempt's row; waits at most 1 s (55P03). To the end of the
// transaction.
void lock_item(const item_name& name);

// These find tombstones too, behind the rows: what is pruned still answers for its item and its token.
std::optional<attempt_row> attempt_of_token(const item_name& name, const unsigned char* token_digest);
// When attempt_of_token found none: from REPEATABLE READ on one may be there, or one of this number, that the snapshot
// does not show. That is a serialization failure (40001), and neither absence nor a duplicate.
void refuse_unseen(const item_name& name, const unsigned char* token_digest,
                   std::optional<std::int32_t> attempt_no = std::nullopt);
// The attempt that stands for the item: not released, the first of several.
std::optional<attempt_row> unreleased_attempt(const item_name& name);
// One that is concluded, where several stand.
std::optional<attempt_row> concluded_attempt(const item_name& name);
// The one that is claimed and has no permit: never a tombstone.
std::optional<attempt_row> unpermitted_attempt(const item_name& name);
int count_unreleased(const item_name& name);
std::optional<attempt_row> latest_attempt(const item_name& name);
// For callers who know the attempt only: a row, or a tombstone whose facts disagree. Views live in the memory of the
// call.
std::optional<item_name> item_of_attempt(const uuid_value& attempt);
std::optional<attempt_row> attempt_by_id(const uuid_value& attempt);

// What an item is: the identity of its first attempt that has one.
struct identity {
  std::string_view action;
  Datum arguments;  // jsonb
};
// The first key that tells an identity apart from the one the item is known by ("action", or a key of the arguments;
// of a pruned item both together); absent when they are equal or the item has none yet.
std::optional<std::string_view> difference_from_known(const item_name& name, const identity& what);
// Of action and arguments, equal where jsonb calls the arguments equal.
void identity_digest(const identity& what, unsigned char (&digest)[digest_size]);

struct new_attempt {
  item_name name;
  std::optional<identity> what;
  std::string_view writer;
  const unsigned char* token_digest;
  uuid_value lineage;
  instant claimed_at;
  std::int64_t observe_after;
  attempt_facts facts;
  std::optional<std::string_view> detail;
};
void insert_attempt(const new_attempt& what);

// Writes facts, state, permit and times of a row (of a tombstone: facts and state) changed under the item's lock.
void update_attempt(const item_name& name, const attempt_row& row);

// Words and values of a fact as the tables have them. XX000 for a word this library does not know.
fact fact_of(const std::optional<std::string_view>& word);
std::optional<std::string_view> word_of(const fact& value);

identity read_identity(const arguments& given, int action_position, int arguments_position);
item_name read_item(const arguments& given);
// 22023 for another word; not_sent only where it is allowed.
outcome read_outcome(std::string_view word, bool not_sent_allowed);

}  // namespace ql3::pg
