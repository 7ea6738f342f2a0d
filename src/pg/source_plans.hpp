// The kept plans of each attached relation, remade when the relation or its columns change.
#pragma once

#include "sources.hpp"

namespace ql3::pg {

struct source_plans {
  char kind[kind_max + 1];
  Oid relation;
  Oid owner;
  Oid id_type;
  bool id_indexed;
  bool stale;
  SPIPlanPtr first;        // ($1 limit, $2 also rows that cannot be targets): from the start
  SPIPlanPtr next;         // ($1 lost_at, $2 id, $3 limit, $4 as above): after a place
  SPIPlanPtr first_whole;  // as first and next, with the further columns
  SPIPlanPtr next_whole;
  SPIPlanPtr by_key;       // ($1 id, $2 lost_at, $3 with further columns): one target
  SPIPlanPtr by_keys;      // ($1 ids, $2 lost_ats, $3 as above): a page of targets at once
  bool one_by_one;         // the source does not support by_keys
  SPIPlanPtr by_id;        // ($1 id, $2 unused, $3): as by_key, where the id has no index and lost_at is not known
};

// Columns of every plan's result.
enum source_column : int { col_id = 1, col_run_id, col_status, col_created_at, col_lost_at, col_further, col_ordinal };

// Ids that a collation calls equal to one id; beyond it a target may be missed until the sweep.
constexpr int equal_ids_max = 64;

// REQUIRES: the source resolves; the current user is the owner. Raises 42703, 42804 for columns that do not fit.
source_plans& plans_of(const source& which, const resolved_source& found);

// What attach checks of a relation's columns (42703, 42804).
void check_source_columns(Oid relation);

// Can the text stand for a value of the id's type? What cannot is not in the source.
bool fits_type(Oid type, std::string_view id) noexcept;

// Registers for relation invalidations. Called once from _PG_init.
void watch_relations();

}  // namespace ql3::pg
