#include "cli/hint.hpp"

namespace ql3::cli {

std::string hint_for(const StoreError& error) {
  const ServerText& server = error.server();
  if (!server.hint.empty()) return server.hint;
  // The server's words may be translated, the names in them are not.
  const bool about_us = server.message.find("ql3") != std::string::npos;
  switch (error.code()) {
    case StoreCode::unreachable:
      return "--dsn says which database, as in 'host=db1 dbname=control user=supervisor', "
             "else PGHOST, PGDATABASE, PGUSER and PGSERVICE.";
    case StoreCode::invalid:
      if (!error.sqlstate().empty()) break;
      return "--dsn takes 'name=value name=value …' or 'postgresql://user@host/database'; "
             "check PGPORT and the other variables of libpq as well.";
    case StoreCode::not_ready:
      if (error.sqlstate() == "3F000" && about_us) {
        return "CREATE EXTENSION ql3 there, or name another database with --dsn.";
      }
      break;
    case StoreCode::denied:
      if (about_us) {
        return "The owner of the extension grants: SELECT ql3.ql3_grant(role, profile); "
               "the profiles are runtime, observer and operator.";
      }
      break;
    default: break;
  }
  return {};
}

}  // namespace ql3::cli
