#include "result_set.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
#include "utils/tuplestore.h"
}

namespace ql3::pg {

result_set::result_set(FunctionCallInfo fcinfo) {
  auto* info = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  if (info == nullptr || !IsA(info, ReturnSetInfo) || (info->allowedModes & SFRM_Materialize) == 0)
    throw error(sqlstate::feature_not_supported, "set-valued function called in a context that cannot accept a set",
                "Call it in the FROM clause: SELECT * FROM ql3....");
  call([&] {
    MemoryContext previous = MemoryContextSwitchTo(info->econtext->ecxt_per_query_memory);
    TupleDesc descriptor;
    if (get_call_result_type(fcinfo, nullptr, &descriptor) != TYPEFUNC_COMPOSITE)
      elog(ERROR, "return type of a ql3 function is not a row type");
    descriptor_ = BlessTupleDesc(CreateTupleDescCopy(descriptor));
    store_ = tuplestore_begin_heap((info->allowedModes & SFRM_Materialize_Random) != 0, false, work_mem);
    info->returnMode = SFRM_Materialize;
    info->setResult = store_;
    info->setDesc = descriptor_;
    MemoryContextSwitchTo(previous);
  });
}

void result_set::add(const Datum* values, const bool* nulls) {
  call([&] {
    tuplestore_putvalues(store_, descriptor_, const_cast<Datum*>(values), const_cast<bool*>(nulls));
  });
}

result_row& result_row::length(std::int64_t microseconds) {
  return value(call([&] {
    auto* interval = static_cast<Interval*>(palloc0(sizeof(Interval)));
    interval->time = microseconds;
    return IntervalPGetDatum(interval);
  }));
}

result_row& result_row::uuid(const unsigned char (&bytes)[token_size]) {
  return value(call([&] {
    auto* copy = static_cast<pg_uuid_t*>(palloc(sizeof(pg_uuid_t)));
    memcpy(copy->data, bytes, token_size);
    return UUIDPGetDatum(copy);
  }));
}

result_row& result_row::json(const std::optional<std::string_view>& document) {
  if (!document) return null();
  // What most sources have: made once.
  if (*document == "{}") {
    static constinit Datum empty = Datum(0);
    if (empty == Datum(0))
      empty = call([] {
        MemoryContext const before = MemoryContextSwitchTo(TopMemoryContext);
        Datum const made = DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"));
        MemoryContextSwitchTo(before);
        return made;
      });
    return value(empty);
  }
  return value(call([&] {
    char* copy = pnstrdup(document->data(), document->size());
    return DirectFunctionCall1(jsonb_in, CStringGetDatum(copy));
  }));
}

}  // namespace ql3::pg
