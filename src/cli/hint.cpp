#include "cli/hint.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace ql3::cli {

namespace {

bool is_of_name(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

// A refused view is named without its schema.
bool names_a_view(const std::string& message) {
  constexpr std::string_view views[] = {"backlog",         "claims",          "parked",  "failing",
                                        "dispatches_open", "dispatch_halted", "history", "audit"};
  auto word = message.begin();
  while (word != message.end()) {
    word = std::find_if(word, message.end(), is_of_name);
    const auto end = std::find_if_not(word, message.end(), is_of_name);
    if (std::find(std::begin(views), std::end(views), std::string_view(word, end)) !=
        std::end(views)) {
      return true;
    }
    word = end;
  }
  return false;
}

}  // namespace

std::string hint_for(const StoreError& error) {
  const ServerText& server = error.server();
  if (!server.hint.empty()) return server.hint;
  // The server's words may be translated, the names in them are not.
  // A library that could not be loaded is named too, and no grant helps.
  const bool about_us = server.message.find("ql3") != std::string::npos &&
                        server.message.find("ql3.so") == std::string::npos;
  switch (error.code()) {
    case StoreCode::unreachable:
      return "--dsn says which database, as in 'host=db1 dbname=control user=supervisor', "
             "else PGHOST, PGDATABASE, PGUSER and PGSERVICE.";
    case StoreCode::invalid:
      if (!error.sqlstate().empty()) break;
      return "--dsn takes 'name=value name=value …' or 'postgresql://user@host/database'; "
             "check PGPORT and the other variables of libpq as well.";
    case StoreCode::not_ready:
      if ((error.sqlstate() == "3F000" && about_us) ||
          (error.sqlstate() == "42P01" && server.message.find("\"ql3.") != std::string::npos)) {
        return "CREATE EXTENSION ql3 there, or name another database with --dsn.";
      }
      break;
    case StoreCode::denied:
      if (error.sqlstate() != "42501") break;
      // What release and park look up is granted to observers.
      if (server.message.find("ql3_observe_one") != std::string::npos) {
        return "give --version, or grant observer";
      }
      if (names_a_view(server.message)) {
        return "The views want the profile observer or operator, which the owner of the extension "
               "grants: SELECT ql3.ql3_grant(role, 'observer').";
      }
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
