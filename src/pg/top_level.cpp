#include "top_level.hpp"

extern "C" {
#include "executor/execdesc.h"
#include "nodes/plannodes.h"
#include "tcop/pquery.h"
}

namespace ql3::pg {

namespace {

// True when the portal's whole plan is this one call: SELECT f(...) or SELECT ... FROM f(...).
bool is_whole_statement(FunctionCallInfo fcinfo) {
  Node* const wanted = fcinfo->flinfo->fn_expr;
  if (wanted == nullptr || ActivePortal == nullptr || ActivePortal->strategy != PORTAL_ONE_SELECT) return false;
  QueryDesc* const running = ActivePortal->queryDesc;
  if (running == nullptr || running->plannedstmt == nullptr) return false;
  Plan* const plan = running->plannedstmt->planTree;
  if (plan == nullptr || running->plannedstmt->subplans != NIL) return false;
  if (IsA(plan, Result) && plan->lefttree == nullptr && list_length(plan->targetlist) == 1)
    return reinterpret_cast<Node*>(linitial_node(TargetEntry, plan->targetlist)->expr) == wanted;
  if (IsA(plan, FunctionScan)) {
    List* const functions = reinterpret_cast<FunctionScan*>(plan)->functions;
    return list_length(functions) == 1 && linitial_node(RangeTblFunction, functions)->funcexpr == wanted;
  }
  return false;
}

}  // namespace

void require_statement_of_its_own(FunctionCallInfo fcinfo, const char* what) {
  if (IsTransactionBlock() || IsSubTransaction())
    throw error(sqlstate::active_sql_transaction, (message_text<128>() << what << "() cannot run inside a transaction block").view(),
                "Commit first, then call it in autocommit: psycopg2 conn.autocommit = True, JDBC setAutoCommit(true).");
  if (!call([&] { return is_whole_statement(fcinfo); }))
    throw error(sqlstate::active_sql_transaction, (message_text<128>() << what << "() must be a statement of its own").view(),
                "Send SELECT ql3.ql3_dispatch_permit(...) alone, not from a function, DO, or as part of another query.");
  // Refuses what is left ("a; b" in one message) and asks for the commit of a pipelined call before its answer.
  call([&] { PreventInTransactionBlock(true, what); });
}

}  // namespace ql3::pg
