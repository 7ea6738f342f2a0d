#include "session.hpp"

extern "C" {
#include "storage/lmgr.h"
}

namespace ql3::pg {

std::string_view keep_text(std::string_view bytes) {
  char* copy = call([&] { return static_cast<char*>(palloc(bytes.size() + 1)); });
  std::memcpy(copy, bytes.data(), bytes.size());
  copy[bytes.size()] = '\0';
  return {copy, bytes.size()};
}

Datum text_datum(std::string_view bytes) {
  return call([&] {
    return PointerGetDatum(cstring_to_text_with_len(bytes.data(), static_cast<int>(bytes.size())));
  });
}

Datum bytea_datum(const unsigned char* bytes, std::size_t size) {
  return call([&] {
    bytea* value = static_cast<bytea*>(palloc(VARHDRSZ + size));
    SET_VARSIZE(value, VARHDRSZ + size);
    memcpy(VARDATA(value), bytes, size);
    return PointerGetDatum(value);
  });
}

std::string_view text_of(Datum value) {
  auto* const stored = reinterpret_cast<char*>(DatumGetPointer(value));
  // As it lies in a row or in memory; only what is compressed or out of line needs the server.
  if (VARATT_IS_4B_U(stored) || (VARATT_IS_1B(stored) && !VARATT_IS_1B_E(stored)))
    return {VARDATA_ANY(stored), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(stored))};
  text* plain = call([&] { return DatumGetTextPP(value); });
  return {VARDATA_ANY(plain), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(plain))};
}

bool rows::is_null(int row, int column) const {
  return call([&] {
    bool null = false;
    (void)SPI_getbinval(table_->vals[row], table_->tupdesc, column, &null);
    return null;
  });
}

Datum rows::datum(int row, int column) const {
  struct cell {
    Datum value;
    bool null;
  };
  cell found = call([&] {
    cell read;
    read.value = SPI_getbinval(table_->vals[row], table_->tupdesc, column, &read.null);
    return read;
  });
  if (found.null) throw error(sqlstate::internal_error, "unexpected null in a row of ql3");
  return found.value;
}

std::string_view rows::text(int row, int column) const { return text_of(datum(row, column)); }

std::optional<std::string_view> rows::maybe_text(int row, int column) const {
  if (is_null(row, column)) return std::nullopt;
  return text(row, column);
}

std::optional<std::int32_t> rows::maybe_number32(int row, int column) const {
  if (is_null(row, column)) return std::nullopt;
  return number32(row, column);
}

std::optional<instant> rows::maybe_time(int row, int column) const {
  if (is_null(row, column)) return std::nullopt;
  return time(row, column);
}

void intend_to_write_one(const char* table) {
  call([&] {
    LockRelationOid(get_relname_relid(table, get_namespace_oid("ql3", false)), RowExclusiveLock);
  });
}

// SPI leaves its own context current, whatever was current before: a scratch would lose its use after one statement.

SPIPlanPtr prepare_kept(const char* sql, int count, Oid* types) {
  MemoryContext const before = CurrentMemoryContext;
  SPIPlanPtr plan = SPI_prepare(sql, count, types);
  MemoryContextSwitchTo(before);
  if (plan == nullptr)
    elog(ERROR, "could not prepare a statement of ql3: %s", SPI_result_code_string(SPI_result));
  if (SPI_keepplan(plan) != 0) elog(ERROR, "could not keep a plan of ql3");
  return plan;
}

rows run_plan(SPIPlanPtr plan, const params& arguments, long limit, sight seen) {
  session::pin_now();
  call([&] {
    MemoryContext const before = CurrentMemoryContext;
    if (seen == sight::latest) {
      CommandCounterIncrement();
      PushActiveSnapshot(GetLatestSnapshot());
    }
    int code = SPI_execute_plan(plan, arguments.values(), arguments.nulls(), seen != sight::fresh, limit);
    if (seen == sight::latest) PopActiveSnapshot();
    MemoryContextSwitchTo(before);
    if (code < 0) elog(ERROR, "statement of ql3 failed: %s", SPI_result_code_string(code));
  });
  return {SPI_tuptable, SPI_processed};
}

rows statement::run(const params& arguments, long limit, sight seen) {
  Assert(arguments.count() == count_);
  if (plan_ == nullptr) plan_ = call([&] { return prepare_kept(sql_, count_, types_); });
  return run_plan(plan_, arguments, limit, seen);
}

std::uint64_t statement::write(const params& arguments) {
  rows done = run(arguments);
  return static_cast<std::uint64_t>(done.size());
}

void statement::write_one(const params& arguments) {
  if (write(arguments) != 1)
    throw error(sqlstate::not_in_prerequisite_state, "a trigger or rule keeps ql3 from writing its tables",
                "Drop it: what ql3 answers, it must have written.");
}

}  // namespace ql3::pg
