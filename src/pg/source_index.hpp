// Does a column of a relation, seen through simple views, lead an index?
#pragma once

#include "boundary.hpp"

namespace ql3::pg {

enum class column_access { indexed, not_indexed, not_plain };

struct column_origin {
  column_access access;
  Oid table;         // the base relation, where the column is plain
  AttrNumber column; // its column there
};

// REQUIRES: the relation exists. A column is plain when every view on the way hands it through unchanged (joins and
// plain subqueries too; no expression, aggregate, DISTINCT, set operation or window). A partial index counts; an
// invalid one does not.
column_origin trace_column(Oid relation, const char* column);

}  // namespace ql3::pg
