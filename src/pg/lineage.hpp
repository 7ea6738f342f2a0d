// Which history of the database is live, and whether dispatch is halted (promise 15).
#pragma once

#include "args.hpp"

namespace ql3::pg {

// A uuid as a value.
struct uuid_value {
  unsigned char bytes[16];
  friend bool operator==(const uuid_value& a, const uuid_value& b) noexcept {
    return std::memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
  }
};
uuid_value uuid_of(Datum value);
Datum uuid_datum(const uuid_value& value);
uuid_value random_uuid();
std::string_view uuid_text(const uuid_value& value);

struct live_lineage {
  std::string_view system_identifier;
  std::int64_t timeline;
  Oid database;
  uuid_value installation;
  std::optional<uuid_value> row;  // its row in ql3.dispatch_lineage, when there is one
  bool has_others;                // whether there is a row of another one
};

// REQUIRES: not in recovery. Reads the live insertion timeline, not the control file's.
live_lineage read_live_lineage();

// The id of the live lineage's row, made where it is missing.
uuid_value ensure_lineage_row(const live_lineage& live);

// Why dispatch is halted, with what to do about it; absent when it is not.
struct halt_reason {
  std::string_view message;
  std::string_view hint;
};
std::optional<halt_reason> halted(const live_lineage& live);

void define_lineage_settings();

}  // namespace ql3::pg
