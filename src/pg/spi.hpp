// Prepared statements of our own on the server programming interface. One statement object is one plan, kept for
// the life of the backend; by-key statements bind every key column by equality (docs/plans.md says why).
#pragma once

#include "boundary.hpp"

namespace ql3::pg {

// Copies bytes into the current memory context and answers the view of the copy.
std::string_view keep_text(std::string_view bytes);
Datum text_datum(std::string_view bytes);
Datum bytea_datum(const unsigned char* bytes, std::size_t size);
std::string_view text_of(Datum value);
// Where a Datum does not hold 64 bits it points to a copy, which is made in the current memory context.
inline Datum number_datum(std::int64_t value) {
  if constexpr (SIZEOF_DATUM >= 8) return Int64GetDatum(value);
  else return call([&] { return Int64GetDatum(value); });
}
inline Datum time_datum(instant value) { return number_datum(value); }

// Parameters of one execution. Bounded by the widest statement we have.
class params {
 public:
  static constexpr int capacity = 24;
  params& text(std::string_view value) { return add(text_datum(value)); }
  params& text(std::optional<std::string_view> value) { return value ? text(*value) : null(); }
  params& number(std::int64_t value) { return add(number_datum(value)); }
  params& number32(std::int32_t value) { return add(Int32GetDatum(value)); }
  params& number32(std::optional<std::int32_t> value) { return value ? number32(*value) : null(); }
  params& boolean(bool value) { return add(BoolGetDatum(value)); }
  params& time(instant value) { return add(time_datum(value)); }
  params& time(std::optional<instant> value) { return value ? time(*value) : null(); }
  params& digest(const unsigned char* value) { return add(bytea_datum(value, 32)); }
  params& add(Datum value) {
    Assert(count_ < capacity);
    values_[count_] = value;
    nulls_[count_++] = ' ';
    return *this;
  }
  params& null() {
    Assert(count_ < capacity);
    values_[count_] = Datum(0);
    nulls_[count_++] = 'n';
    return *this;
  }
  Datum* values() const { return const_cast<Datum*>(values_); }
  const char* nulls() const { return nulls_; }
  int count() const { return count_; }

 private:
  Datum values_[capacity];
  char nulls_[capacity];
  int count_ = 0;
};

// The rows of one execution; released by the destructor. Views it hands out die with it: keep_text() what stays.
class rows {
 public:
  rows(SPITupleTable* table, std::uint64_t count) noexcept : table_(table), count_(count) {}
  rows(rows&& other) noexcept
      : table_(std::exchange(other.table_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  rows(const rows&) = delete;
  rows& operator=(const rows&) = delete;
  ~rows() noexcept {
    if (table_ != nullptr) SPI_freetuptable(table_);  // cannot fail for a table of this connection
  }
  // The rows' memory is left to the subtransaction that is about to be rolled back.
  void abandon() noexcept { table_ = nullptr; }

  int size() const noexcept { return static_cast<int>(count_); }
  HeapTuple tuple(int row) const noexcept { return table_->vals[row]; }
  TupleDesc descriptor() const noexcept { return table_->tupdesc; }
  bool empty() const noexcept { return count_ == 0; }
  bool is_null(int row, int column) const;
  Datum datum(int row, int column) const;  // not null
  std::string_view text(int row, int column) const;
  std::optional<std::string_view> maybe_text(int row, int column) const;
  std::int64_t number(int row, int column) const { return DatumGetInt64(datum(row, column)); }
  std::int32_t number32(int row, int column) const { return DatumGetInt32(datum(row, column)); }
  std::optional<std::int32_t> maybe_number32(int row, int column) const;
  bool boolean(int row, int column) const { return DatumGetBool(datum(row, column)); }
  instant time(int row, int column) const { return DatumGetTimestampTz(datum(row, column)); }
  std::optional<instant> maybe_time(int row, int column) const;

 private:
  SPITupleTable* table_;
  std::uint64_t count_;
};

// How a statement sees the database. `fresh` takes a new snapshot, so that what committed before the statement is
// seen (and row locks follow it); `stable` uses the caller's. From REPEATABLE READ on `fresh` is the transaction's
// old one: `latest` sees what is committed by now in any level, and only reads.
enum class sight { fresh, stable, latest };

class statement {
 public:
  template <class... Types>
  constexpr explicit statement(const char* sql, Types... types)
      : sql_(sql), types_{static_cast<Oid>(types)...}, count_(sizeof...(types)) {}
  rows run(const params& arguments, long limit = 0, sight seen = sight::fresh);
  // For statements that return nothing; answers the number of rows written.
  std::uint64_t write(const params& arguments);
  // For one that writes one row: 55000 when somebody's trigger or rule kept it from being written.
  void write_one(const params& arguments);

 private:
  const char* sql_;
  Oid types_[params::capacity];
  int count_;
  SPIPlanPtr plan_ = nullptr;
};

// For a call that reads a table of ours before it writes to it: takes the writer's lock on the table first. The other
// way round a REINDEX in between would hold the table, wait for the index that we read, and be a deadlock.
void intend_to_write_one(const char* table);
template <class... Names>
void intend_to_write(Names... tables) {
  (intend_to_write_one(tables), ...);
}

// Prepares and keeps a plan for SQL text made at run time (user sources). Call only inside a leaf.
SPIPlanPtr prepare_kept(const char* sql, int count, Oid* types);

// Runs a kept plan. Shared by statement and the source reader.
rows run_plan(SPIPlanPtr plan, const params& arguments, long limit, sight seen);

}  // namespace ql3::pg
