#include "cli/top/feed.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "client/store_error.hpp"

namespace ql3::cli {

namespace {

constexpr Clock::Length look_limit = std::chrono::seconds(5);
constexpr int rows_max = 200;

constexpr const char* moment_statement =
    "SELECT pg_catalog.to_char(pg_catalog.clock_timestamp(), 'HH24:MI:SS'),"
    " NOT pg_catalog.pg_is_in_recovery()"
    " AND pg_catalog.current_setting('transaction_read_only') = 'off'";

constexpr const char* counts_statement =
    "SELECT kind, state, targets, more, paused FROM ql3.backlog WHERE targets > 0"
    " ORDER BY kind, state LIMIT 50";

constexpr const char* halted_statement =
    "SELECT cause || ': ' || reason FROM ql3.dispatch_halted ORDER BY since DESC LIMIT 3";

// Each view up to a limit: what is not read is counted in ql3.backlog.
constexpr const char* rows_statement =
    "(SELECT CASE WHEN lease_left > '0' THEN 'claimed' ELSE 'expired' END, kind, id, owner, "
    "version,"
    " failure_count, EXTRACT(epoch FROM held_for)::bigint,"
    " 'lease ends in ' || pg_catalog.date_trunc('second', lease_left)::text"
    " FROM ql3.claims LIMIT $1::integer)"
    " UNION ALL "
    "(SELECT 'manual', kind, id, NULL, version, failure_count,"
    " EXTRACT(epoch FROM pg_catalog.statement_timestamp() - parked_at)::bigint,"
    " coalesce(reason, 'no reason was kept') FROM ql3.parked LIMIT $1::integer)"
    " UNION ALL "
    "(SELECT state, kind, id, owner, version, failure_count, NULL,"
    " coalesce('next at ' || pg_catalog.to_char(next_claim_at, 'HH24:MI:SS') || ' ', '')"
    " || coalesce(detail, '') FROM ql3.failing WHERE state <> 'claimed' LIMIT $1::integer)"
    " UNION ALL "
    "(SELECT standing, 'dispatch', attempt::text, writer, NULL, 0, EXTRACT(epoch FROM age)::bigint,"
    " pg_catalog.concat_ws(' ', request_uid, '/', item, action) || coalesce(': ' || detail, '')"
    " FROM ql3.dispatches_open LIMIT $1::integer)";

std::string word(const Result& rows, int row, int column) {
  return std::string(rows.text(row, column));
}

}  // namespace

ConnectionOptions top_connection(const DatabaseOptions& options) {
  ConnectionOptions connection;
  connection.dsn = options.dsn;
  // Looking works on a standby too.
  connection.read_write = false;
  connection.application_name = "ql3 top";
  return connection;
}

TopSnapshot read_snapshot(Connection& connection) {
  TopSnapshot seen;
  const Result moment = connection.query(moment_statement, {}, look_limit);
  seen.at = word(moment, 0, 0);
  seen.writable = moment.boolean(0, 1);
  const Result counts = connection.query(counts_statement, {}, look_limit);
  for (int row = 0; row < counts.rows(); ++row) {
    seen.counts.push_back({word(counts, row, 0), word(counts, row, 1), counts.integer(row, 2),
                           counts.boolean(row, 3), counts.boolean(row, 4)});
  }
  const Result halted = connection.query(halted_statement, {}, look_limit);
  for (int row = 0; row < halted.rows(); ++row) seen.halted.push_back(word(halted, row, 0));
  const Parameter most[] = {std::to_string(rows_max)};
  const Result rows = connection.query(rows_statement, most, look_limit);
  std::map<std::string, int> read;
  for (int row = 0; row < rows.rows(); ++row) {
    TopRow one{word(rows, row, 0),
               word(rows, row, 1),
               word(rows, row, 2),
               word(rows, row, 3),
               {},
               {},
               {},
               {}};
    if (!rows.is_null(row, 4)) one.version = rows.integer(row, 4);
    one.failures = rows.integer(row, 5);
    if (!rows.is_null(row, 6)) one.age = rows.integer(row, 6);
    one.detail = word(rows, row, 7);
    if (++read[one.state] == rows_max) seen.more = true;
    seen.rows.push_back(std::move(one));
  }
  return seen;
}

TopFeed::TopFeed(const DatabaseOptions& options, Milliseconds interval, int wake)
    : reading_(top_connection(options)),
      acting_([&] {
        ConnectionOptions acting = top_connection(options);
        acting.read_write = true;
        return acting;
      }()),
      interval_(interval),
      wake_(wake),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

TopFeed::~TopFeed() = default;

void TopFeed::look_now() {
  const std::lock_guard lock(mutex_);
  wanted_ = true;
  changed_.notify_all();
}

void TopFeed::release(TopRelease wish) {
  const std::lock_guard lock(mutex_);
  wishes_.push_back(std::move(wish));
  changed_.notify_all();
}

std::deque<TopFeed::News> TopFeed::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

bool TopFeed::idle() const {
  const std::lock_guard lock(mutex_);
  return !busy_ && wishes_.empty();
}

void TopFeed::publish(News news) {
  {
    const std::lock_guard lock(mutex_);
    news_.push_back(std::move(news));
  }
  const std::uint64_t one = 1;
  // It can only fail when 2^64 pieces of news wait.
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
}

TopFeed::News TopFeed::look() {
  try {
    return {read_snapshot(reading_), {}, {}};
  } catch (const StoreError& error) {
    return {{}, error.what(), {}};
  }
}

TopFeed::News TopFeed::act(const TopRelease& wish) {
  const std::string what = fmt::format("{} {}", wish.kind, wish.id);
  const Parameter parameters[] = {wish.kind, wish.id, std::to_string(wish.version), wish.reason};
  try {
    const Result answer = acting_.query(
        "SELECT ql3.ql3_release($1::text, $2::text, $3::bigint, $4::text)", parameters, act_limit);
    if (answer.text(0, 0) == "released") return {{}, {}, "released " + what};
    return {{}, {}, fmt::format("stale: {} changed since you looked, nothing was released", what)};
  } catch (const StoreError& error) {
    return {{},
            {},
            fmt::format("{} was not released: {} {}", what, error.what(), error.server().message)};
  }
}

void TopFeed::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    busy_ = true;
    while (!wishes_.empty() && !stop.stop_requested()) {
      const TopRelease wish = std::move(wishes_.front());
      wishes_.pop_front();
      lock.unlock();
      publish(act(wish));
      lock.lock();
    }
    wanted_ = false;
    lock.unlock();
    publish(look());
    lock.lock();
    busy_ = false;
    changed_.wait_for(lock, stop, interval_, [&] { return wanted_ || !wishes_.empty(); });
  }
}

}  // namespace ql3::cli
