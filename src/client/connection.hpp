// One connection to a control database, over libpq.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "client/clock.hpp"
#include "client/export.hpp"

namespace ql3 {

// A bound parameter in text form; nullopt is NULL.
using Parameter = std::optional<std::string>;

// The text form of a SQL array of these elements.
QL3_API std::string array_parameter(std::span<const std::string> elements);

// The rows of one answer. Copies share the rows. Thread rule: one thread at a time.
class QL3_API Result {
 public:
  explicit Result(std::shared_ptr<void> rows) : rows_(std::move(rows)) {}

  int rows() const noexcept;
  bool is_null(int row, int column) const noexcept;
  // Bytes of the field, valid as long as a copy of this result lives; empty for NULL.
  std::string_view text(int row, int column) const noexcept;
  Parameter optional_text(int row, int column) const;
  // StoreError malformed when the field is NULL or no whole number of 64 bits.
  std::int64_t integer(int row, int column) const;
  bool boolean(int row, int column) const;

 private:
  std::shared_ptr<void> rows_;
};

struct ConnectionOptions {
  // A conninfo string or URI; libpq's environment and service files fill what it leaves out.
  std::string dsn;
  // Only a server that takes writes will do, whatever the dsn, the environment or a service say.
  bool read_write = true;
  std::string application_name = "ql3";
  // A warning or notice of the server: SQLSTATE and message.
  std::function<void(std::string_view, std::string_view)> on_notice;
};

// Connects when first used and again whenever the link broke. Every statement is a transaction of
// its own and leaves nothing in the session, so that a pooler may sit in between.
// Thread rule: one thread at a time; two threads take two connections.
class QL3_API Connection {
 public:
  // StoreError invalid when the dsn is no connection string. What it names is not looked for yet.
  explicit Connection(ConnectionOptions options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs one statement that returns rows and waits at most `limit` for its answer. Throws
  // StoreError; after an error that says something about the server or the link, the next call
  // makes a fresh connection and looks the hosts up again. Connecting has its own bound, 2 to 5 s
  // for each host unless the user set another; when it outlasts `limit`, nothing is sent.
  Result query(const char* statement, std::span<const Parameter> parameters, Clock::Length limit);

  void drop() noexcept;

 private:
  void connect(Clock::Length limit);
  void send(const char* statement, std::span<const Parameter> parameters);
  std::shared_ptr<void> receive(Clock::Time until);
  void check(const std::shared_ptr<void>& answer);

  struct Link;
  ConnectionOptions options_;
  std::unique_ptr<Link> link_;
};

}  // namespace ql3
