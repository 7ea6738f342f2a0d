// ql3_ready.
#include "ready.hpp"

namespace ql3::pg {

void readiness::add(const check& which, bool ok, std::string_view detail, std::string_view remedy) {
  result_row row;
  row.text(which.name).text(which.level).boolean(ok).text(which.needed_for).text(detail);
  if (remedy.empty()) row.null();
  else row.text(remedy);
  row.into_any(result_);
}

void readiness::failed(const check& which, ErrorData* raised) {
  // Want of memory or disk tells nothing about the installation: the call fails with it and is repeated.
  if (ERRCODE_TO_CATEGORY(raised->sqlerrcode) == ERRCODE_INSUFFICIENT_RESOURCES) throw pg_error{raised};
  long_text detail;
  detail << "could not be checked: " << std::string_view(raised->message == nullptr ? "unknown error" : raised->message)
         << " (SQLSTATE "
         << call([&] { return std::string_view(pstrdup(unpack_sql_state(raised->sqlerrcode))); }) << ")";
  bad(which, detail.view(), "Mend what the error names, then ask again.");
}

namespace {

Datum ready(FunctionCallInfo fcinfo) {
  readiness found(fcinfo);
  in_session([&](session& opened) {
    // The catalog's own indexes and the planner's own choices: these statements are not ours to pin.
    opened.unpin();
    check_versions(found);
    check_installation(found);
    check_rights(found);
    check_ledger(found);
    check_settings(found);
    check_state(found);
    opened.pin();
    check_sources(found);
  }, versions_may::differ);
  return Datum(0);
}

}  // namespace

}  // namespace ql3::pg

QL3_FUNCTION(ql3_ready, ql3::pg::ready)
