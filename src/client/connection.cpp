#include "client/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <vector>

#include <libpq-fe.h>
#include <poll.h>

#include "client/store_error.hpp"

namespace ql3 {

namespace {

const PGresult* raw(const std::shared_ptr<void>& rows) {
  return static_cast<const PGresult*>(rows.get());
}

std::string field(const PGresult* result, int code) {
  const char* value = PQresultErrorField(result, code);
  return value == nullptr ? std::string() : std::string(value);
}

[[noreturn]] void malformed(std::string_view phrase) {
  throw StoreError(StoreCode::malformed, phrase);
}

// libpq gives no SQLSTATE for a connection that was never made, and its message names hosts and
// users. The phrases here are ours; the words looked for are those of the C locale. The first entry
// that fits counts.
StoreError why_unreachable(std::string_view message) {
  struct Known {
    std::string_view word;
    StoreCode code;
    std::string_view phrase;
  };
  // One by one: g++ 10 cannot take them all in.
  constexpr StoreCode unreachable = StoreCode::unreachable, read_only = StoreCode::read_only;
  constexpr StoreCode exhausted = StoreCode::exhausted, invalid = StoreCode::invalid;
  constexpr StoreCode shutting_down = StoreCode::shutting_down;
  static constexpr std::string_view bad_string = "the connection string is not valid";
  static constexpr Known known[] = {
      {"session is read-only", read_only, "no server takes writes"},
      {"in hot standby mode", read_only, "no server takes writes"},
      {"authentication failed", unreachable, "authentication failed"},
      {"no password supplied", unreachable, "a password is needed"},
      {"pg_hba.conf", unreachable, "the server's pg_hba.conf refuses this connection"},
      {"starting up", shutting_down, "the server is starting up"},
      {"shutting down", shutting_down, "the server is shutting down"},
      {"too many", exhausted, "the server has too many connections"},
      {"remaining connection slots", exhausted, "the server has too many connections"},
      {"timeout expired", unreachable, "connecting took too long"},
      {"could not translate host name", unreachable, "the host name is not known"},
      {"refused", unreachable, "the connection was refused"},
      {"No such file", unreachable, "there is no server at this socket"},
      {"invalid integer value", invalid, bad_string},
      {"invalid port number", invalid, bad_string},
      {"could not match", invalid, bad_string},
      {"definition of service", invalid, "the service is not defined"},
      {"service file", invalid, "the service file cannot be used"},
      {"SSL", unreachable, "the encrypted connection could not be made"},
      {"certificate", unreachable, "the encrypted connection could not be made"},
      {"role \"", unreachable, "the role does not exist or may not log in"},
      {"database \"", unreachable, "the database does not exist or takes no connections"},
  };
  // What libpq refuses before it speaks to any server has no other words in front of it.
  if (message.substr(0, 8) == "invalid ") return {invalid, bad_string};
  for (const Known& entry : known) {
    if (message.find(entry.word) != std::string_view::npos) return {entry.code, entry.phrase};
  }
  return {unreachable, "the database cannot be reached"};
}

using Parsed = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

// Null for what is no connection string.
Parsed parse(const std::string& dsn) {
  char* fault = nullptr;
  Parsed parsed(PQconninfoParse(dsn.c_str(), &fault), PQconninfoFree);
  PQfreemem(fault);
  return parsed;
}

bool names_option(const std::string& dsn, std::string_view option) {
  const Parsed parsed = parse(dsn);
  if (!parsed) return false;
  for (const PQconninfoOption* entry = parsed.get(); entry->keyword != nullptr; ++entry) {
    if (option == entry->keyword) return entry->val != nullptr;
  }
  return false;
}

// A service file's own setting would be overruled by an explicit parameter, so a service gets none.
bool may_set(const std::string& dsn, std::string_view option, const char* variable) {
  if (variable != nullptr && std::getenv(variable) != nullptr) return false;
  return std::getenv("PGSERVICE") == nullptr && !names_option(dsn, "service") &&
         !names_option(dsn, option);
}

}  // namespace

std::string array_parameter(std::span<const std::string> elements) {
  std::string text = "{";
  for (const std::string& element : elements) {
    if (text.size() > 1) text += ',';
    text += '"';
    for (const char c : element) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += '"';
  }
  return text += '}';
}

int Result::rows() const noexcept { return PQntuples(raw(rows_)); }

bool Result::is_null(int row, int column) const noexcept {
  return PQgetisnull(raw(rows_), row, column) != 0;
}

std::string_view Result::text(int row, int column) const noexcept {
  return {PQgetvalue(raw(rows_), row, column),
          static_cast<std::size_t>(PQgetlength(raw(rows_), row, column))};
}

Parameter Result::optional_text(int row, int column) const {
  if (is_null(row, column)) return std::nullopt;
  return std::string(text(row, column));
}

std::int64_t Result::integer(int row, int column) const {
  const std::string_view digits = text(row, column);
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (fault != std::errc() || end != digits.data() + digits.size() || digits.empty()) {
    malformed("a number is missing in the answer");
  }
  return value;
}

bool Result::boolean(int row, int column) const {
  const std::string_view value = text(row, column);
  if (value != "t" && value != "f") malformed("a truth value is missing in the answer");
  return value == "t";
}

struct Connection::Link {
  explicit Link(PGconn* made) : connection(made) {}
  ~Link() { PQfinish(connection); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Waits until the socket is ready; false when `until` came first. What is there already counts
  // even then: a process that was frozen finds its answer waiting.
  bool wait(short events, Clock::Time until) const {
    for (;;) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(until - BootClock::now()).count();
      pollfd ready{PQsocket(connection), events, 0};
      const int count =
          poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
      if (count > 0) return true;
      if (left <= 0 || (count < 0 && errno != EINTR)) return false;
    }
  }

  PGconn* connection;
};

Connection::Connection(ConnectionOptions options) : options_(std::move(options)) {
  if (!parse(options_.dsn)) {
    throw StoreError(StoreCode::invalid, "the connection string is not valid");
  }
}
Connection::~Connection() = default;

void Connection::drop() noexcept { link_.reset(); }

void Connection::connect(Clock::Length limit) {
  std::vector<const char*> names, values;
  const auto set = [&](const char* name, const char* value) {
    names.push_back(name);
    values.push_back(value);
  };
  // The order matters: what stands before dbname is overruled by the dsn.
  set("keepalives_idle", "30");
  set("keepalives_interval", "10");
  set("keepalives_count", "3");
  set("tcp_user_timeout", "30000");
  set("fallback_application_name", options_.application_name.c_str());
  // For each host; libpq takes less than 2 for 2.
  const std::string patience = std::to_string(
      std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(limit).count(), 2, 5));
  if (may_set(options_.dsn, "connect_timeout", "PGCONNECT_TIMEOUT")) {
    set("connect_timeout", patience.c_str());
  }
  set("dbname", options_.dsn.c_str());
  // After it, what is not the user's choice. Every text we send is UTF-8.
  if (options_.read_write) set("target_session_attrs", "read-write");
  set("client_encoding", "UTF8");
  set(nullptr, nullptr);

  auto link = std::make_unique<Link>(PQconnectdbParams(names.data(), values.data(), 1));
  if (link->connection == nullptr) throw std::bad_alloc();
  if (PQstatus(link->connection) != CONNECTION_OK) {
    throw why_unreachable(PQerrorMessage(link->connection));
  }
  PQsetnonblocking(link->connection, 1);
  PQsetNoticeReceiver(
      link->connection,
      [](void* self, const PGresult* notice) noexcept {
        const auto& tell = static_cast<Connection*>(self)->options_.on_notice;
        const char* state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
        const char* message = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
        if (!tell || state == nullptr || message == nullptr) return;
        try {
          tell(state, message);
        } catch (...) {
          // A listener that fails costs its message, never the statement.
        }
      },
      this);
  link_ = std::move(link);
}

void Connection::send(const char* statement, std::span<const Parameter> parameters) {
  std::vector<const char*> values;
  values.reserve(parameters.size());
  for (const Parameter& parameter : parameters) {
    // Text form ends at a NUL: half a value would be bound in silence.
    if (parameter && parameter->find('\0') != std::string::npos) {
      throw StoreError(StoreCode::bad_text, "a text with a NUL character cannot be sent");
    }
    values.push_back(parameter ? parameter->c_str() : nullptr);
  }
  if (PQsendQueryParams(link_->connection, statement, static_cast<int>(values.size()), nullptr,
                        values.data(), nullptr, nullptr, 0) == 0) {
    drop();
    throw StoreError(StoreCode::lost_reply, "the connection broke");
  }
}

std::shared_ptr<void> Connection::receive(Clock::Time until) {
  const auto lost = [this](std::string_view phrase) {
    drop();
    return StoreError(StoreCode::lost_reply, phrase);
  };
  PGconn* const connection = link_->connection;
  constexpr std::string_view broken = "the connection broke before the answer came";
  constexpr std::string_view silent = "no answer came in time";
  for (int pending = 1; pending != 0;) {
    pending = PQflush(connection);
    if (pending < 0) throw lost(broken);
    if (pending > 0) {
      if (!link_->wait(POLLIN | POLLOUT, until)) throw lost(silent);
      if (PQconsumeInput(connection) == 0) throw lost(broken);
    }
  }
  std::shared_ptr<void> first;
  for (;;) {
    while (PQisBusy(connection) != 0) {
      if (!link_->wait(POLLIN, until)) throw lost(silent);
      if (PQconsumeInput(connection) == 0 && PQisBusy(connection) != 0) throw lost(broken);
    }
    PGresult* const next = PQgetResult(connection);
    if (next == nullptr) break;
    std::shared_ptr<void> owned(next, [](void* rows) { PQclear(static_cast<PGresult*>(rows)); });
    if (first == nullptr || PQresultStatus(next) == PGRES_FATAL_ERROR) {
      // Of several errors the first counts: a FATAL one is followed by libpq's own.
      if (first == nullptr || PQresultStatus(raw(first)) != PGRES_FATAL_ERROR) first = owned;
    }
  }
  if (first == nullptr) throw lost(broken);
  return first;
}

void Connection::check(const std::shared_ptr<void>& answer) {
  const PGresult* const result = raw(answer);
  const bool broken = PQstatus(link_->connection) != CONNECTION_OK;
  const bool idle = PQtransactionStatus(link_->connection) == PQTRANS_IDLE;
  if (broken || !idle) drop();
  if (PQresultStatus(result) == PGRES_FATAL_ERROR) {
    const std::string state = field(result, PG_DIAG_SQLSTATE);
    if (state.empty()) {
      drop();
      throw StoreError(StoreCode::lost_reply, "the connection broke before the answer came");
    }
    const StoreError error(
        state, {field(result, PG_DIAG_MESSAGE_PRIMARY), field(result, PG_DIAG_MESSAGE_DETAIL),
                field(result, PG_DIAG_MESSAGE_HINT)});
    // These speak about the server, not the statement: another one may be the primary by now.
    if (error.code() == StoreCode::read_only || error.code() == StoreCode::shutting_down ||
        error.code() == StoreCode::lost_reply) {
      drop();
    }
    throw error;
  }
  const std::string_view tag = PQcmdStatus(const_cast<PGresult*>(result));
  const std::string expected = "SELECT " + std::to_string(PQntuples(result));
  if (PQresultStatus(result) != PGRES_TUPLES_OK || tag != expected) {
    drop();
    malformed("the statement did not end as a SELECT");
  }
  // The rows came but the transaction did not end: nobody can say that they are committed.
  if (!idle) throw StoreError(StoreCode::lost_reply, "the statement's end was not confirmed");
}

Result Connection::query(const char* statement, std::span<const Parameter> parameters,
                         Clock::Length limit) {
  const Clock::Time until = BootClock::now() + limit;
  if (link_ && PQstatus(link_->connection) != CONNECTION_OK) drop();
  if (!link_) {
    connect(limit);
    // Whoever set the limit may have nothing to say any more. The connection is kept for the next.
    if (BootClock::now() >= until) {
      throw StoreError(StoreCode::unreachable, "connecting took too long");
    }
  }
  send(statement, parameters);
  const std::shared_ptr<void> answer = receive(until);
  check(answer);
  return Result(answer);
}

}  // namespace ql3
