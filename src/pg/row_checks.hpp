// What a write to one of our own tables needs beside the row: the constraints CHECK and NOT NULL, what is generated,
// the indexes. Made ready once per session, anew when the table or a function changes. (The executor reads the stored
// form of each expression anew for every statement: most of the time of a small write.)
#pragma once

#include "boundary.hpp"

namespace ql3::pg {

// As many as REINDEX TABLE CONCURRENTLY makes beside those that are there: one for each.
inline constexpr int table_indexes_max = 32;

struct prepared_index {
  Oid index;
  bool plain;  // an immediate B-tree
  struct IndexInfo* info;
  ExprState* predicate;  // nullptr: every row is in it
};

struct prepared_indexes {
  std::uint64_t number;  // another one means that what is told here may have changed
  bool plain;            // all are, and nothing was left out
  bool all;              // nothing that a write needs was left out for want of room
  const prepared_index* list;
  int count;
  EState* estate;
};

// REQUIRES of all: inside a leaf.

// A value for each column that the table has, dropped ones too, in the memory of the call.
struct row_values {
  explicit row_values(TupleDesc descriptor)
      : values(static_cast<Datum*>(palloc(sizeof(Datum) * static_cast<Size>(descriptor->natts)))),
        nulls(static_cast<bool*>(palloc(sizeof(bool) * static_cast<Size>(descriptor->natts)))) {}
  Datum* values;
  bool* nulls;
};

// Valid until something is asked of any table again.
const prepared_indexes& indexes_of(Relation table);
// The values by which the row in `slot` stands in one of them; false: it does not.
bool index_values(const prepared_indexes& of, int at, TupleTableSlot* slot, Datum* values, bool* nulls);

// Makes the row of these values (one for each column) and puts it into `slot`: evaluates what is generated and stored,
// and tests it, with `replaced` only constraints over those columns, because the others held before. Where something
// generated changed, marks it in `replaced`. The slot refers to the values. 23514, 23502.
HeapTuple complete_row(Relation table, Datum* values, bool* nulls, TupleTableSlot* slot, bool* replaced);

// Called once from _PG_init.
void watch_own_tables();

}  // namespace ql3::pg
