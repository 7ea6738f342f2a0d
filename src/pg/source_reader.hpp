// Reading the user's relation: as its owner, under a security-restricted operation, in a read-only subtransaction
// that is always rolled back, so it can write nothing, keeps no lock, and an error in it stays in it.
#pragma once

#include "hints.hpp"
#include "sources.hpp"

namespace ql3::pg {

// What a source's row says; views live in the memory of the call.
struct facts {
  std::string_view id;
  std::string_view run_id;
  std::optional<std::string_view> status;
  std::optional<instant> created_at;
  instant lost_at;
  std::optional<std::string_view> further;  // JSON text of the further columns; absent when over the limit

  // The facts that make an incident (promise 3).
  bool same_incident(std::string_view other_run, const std::optional<std::string_view>& other_status,
                     instant other_lost_at) const noexcept {
    return run_id == other_run && status == other_status && lost_at == other_lost_at;
  }
};

// One target asked for, and what the source says of it now.
struct wanted_row {
  std::string_view id;
  std::optional<instant> lost_at;  // as remembered: finds the row where the id has no index; absent = any, by a scan
  bool listed;
  facts now;
};

constexpr int page_rows_max = 256;
using listed_rows = boost::container::static_vector<facts, page_rows_max>;

// Reads one source during one call; remembers that it went blind.
class source_reader {
 public:
  explicit source_reader(const source& from) : from_(from) {}

  const source& from() const noexcept { return from_; }
  bool is_blind() const noexcept { return why_.has_value(); }
  const blindness& why() const { return *why_; }
  void go_blind(const blindness& why) { why_ = why; }
  // What was wrong with a row that cannot be a target (a null or over-long id, say), when one was met. Such rows count
  // as not listed: one of them must not hide the others.
  const char* flaw() const noexcept { return flaw_; }
  void warn_of_flaw() const;

  // Up to `limit` rows (at most page_rows_max) after `after` in (lost_at, id) order. Empty also when blind.
  // Rows carry their further columns when `whole`.
  listed_rows page(const place& after, int limit, bool whole);

  // Fills in what the source says now of each row, by key, in one subtransaction and in new statements.
  void look_up(wanted_row* rows_wanted, int count, sight seen = sight::fresh);

 private:
  // False when the source is blind (now, or already).
  template <class Body>
  bool as_owner(Body&& body);
  // Flawed rows are noticed when `all` are read, and left out by the query otherwise.
  listed_rows read_page(const place& after, int limit, bool whole, bool all);
  bool is_sound(const class row_columns& row);
  // A further column that cannot be JSON (a NUL in a json value, say) must not hide the targets of its source: true
  // when the read is to be repeated without further columns, which all of this reader's rows then come without.
  bool go_on_bare();
  // The two ways to ask. `at_once` answers false where the source supports only the other.
  bool look_up_at_once(wanted_row* wanted, int count, sight seen);
  void look_up_one_by_one(wanted_row* wanted, int count, sight seen);
  void take_row(wanted_row& one, const class row_columns& row);

  source from_;
  std::optional<blindness> why_;
  const char* flaw_ = nullptr;
  bool bare_ = false;
};

}  // namespace ql3::pg
