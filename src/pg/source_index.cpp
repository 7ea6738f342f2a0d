#include "source_index.hpp"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "utils/relcache.h"
}

namespace ql3::pg {

namespace {

constexpr int depth_max = 32;

// Everything below runs inside one leaf: server structures only.

bool leads_index(Oid table, AttrNumber column) {
  Relation opened = relation_open(table, AccessShareLock);
  List* indexes = RelationGetIndexList(opened);
  bool found = false;
  ListCell* cell;
  foreach (cell, indexes) {
    HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));
    if (!HeapTupleIsValid(tuple)) continue;
    auto* index = reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple));
    bool const leads = index->indisvalid && index->indkey.values[0] == column;
    ReleaseSysCache(tuple);
    if (!leads) continue;
    Relation index_relation = relation_open(lfirst_oid(cell), AccessShareLock);
    Oid const method = index_relation->rd_rel->relam;
    relation_close(index_relation, AccessShareLock);
    if (method != BTREE_AM_OID) continue;
    found = true;
    break;
  }
  list_free(indexes);
  relation_close(opened, AccessShareLock);
  return found;
}

column_origin trace(Oid relation, AttrNumber column, int depth);

column_origin trace_query(Query* query, AttrNumber column, int depth) {
  constexpr column_origin not_plain{column_access::not_plain, InvalidOid, 0};
  if (depth > depth_max || query->setOperations != nullptr || query->groupClause != NIL ||
      query->groupingSets != NIL || query->distinctClause != NIL || query->hasAggs || query->hasWindowFuncs ||
      query->hasTargetSRFs || query->limitCount != nullptr || query->limitOffset != nullptr)
    return not_plain;
  TargetEntry* entry = get_tle_by_resno(query->targetList, column);
  if (entry == nullptr || entry->resjunk) return not_plain;
  Node* expression = strip_implicit_coercions(reinterpret_cast<Node*>(entry->expr));
  for (;;) {
    while (expression != nullptr && IsA(expression, RelabelType))
      expression = reinterpret_cast<Node*>(reinterpret_cast<RelabelType*>(expression)->arg);
    if (expression == nullptr || !IsA(expression, Var)) return not_plain;
    auto* variable = reinterpret_cast<Var*>(expression);
    if (variable->varlevelsup != 0 || variable->varattno <= 0) return not_plain;
    RangeTblEntry* entry_of = rt_fetch(variable->varno, query->rtable);
    switch (entry_of->rtekind) {
      case RTE_RELATION:
        return trace(entry_of->relid, variable->varattno, depth + 1);
      case RTE_SUBQUERY:
        return trace_query(entry_of->subquery, variable->varattno, depth + 1);
      case RTE_JOIN:
        expression = static_cast<Node*>(list_nth(entry_of->joinaliasvars, variable->varattno - 1));
        break;
      default:
        return not_plain;
    }
  }
}

column_origin trace(Oid relation, AttrNumber column, int depth) {
  if (depth > depth_max) return {column_access::not_plain, InvalidOid, 0};
  Relation opened = relation_open(relation, AccessShareLock);
  column_origin found;
  if (opened->rd_rel->relkind == RELKIND_VIEW) {
    // The stored rule is shared with the relation cache: read only, so no copy.
    found = trace_query(get_view_query(opened), column, depth);
  } else {
    found = {leads_index(relation, column) ? column_access::indexed : column_access::not_indexed, relation, column};
  }
  relation_close(opened, AccessShareLock);
  return found;
}

}  // namespace

column_origin trace_column(Oid relation, const char* column) {
  return call([&] { return trace(relation, get_attnum(relation, column), 0); });
}

}  // namespace ql3::pg
