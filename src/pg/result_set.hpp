// Returning rows: a materialised set, the same on every supported major.
#pragma once

#include "args.hpp"

namespace ql3::pg {

class result_set {
 public:
  // Checks that the caller accepts a set, and opens the store in the caller's query memory.
  explicit result_set(FunctionCallInfo fcinfo);
  // `nulls` and `values` have one entry per column of the declared row type.
  void add(const Datum* values, const bool* nulls);
  int columns() const noexcept { return descriptor_->natts; }

 private:
  TupleDesc descriptor_;
  Tuplestorestate* store_;
};

// One row being filled in column order; what is not set stays NULL.
class result_row {
 public:
  static constexpr int capacity = 24;
  result_row& value(Datum datum) {
    Assert(count_ < capacity);
    values_[count_] = datum;
    nulls_[count_++] = false;
    return *this;
  }
  result_row& null() {
    Assert(count_ < capacity);
    values_[count_] = Datum(0);
    nulls_[count_++] = true;
    return *this;
  }
  result_row& text(std::string_view bytes) { return value(text_datum(bytes)); }
  result_row& text(const char* bytes) { return text(std::string_view(bytes)); }
  result_row& text(const std::optional<std::string_view>& bytes) { return bytes ? text(*bytes) : null(); }
  result_row& time(instant at) { return value(time_datum(at)); }
  result_row& time(const std::optional<instant>& at) { return at ? time(*at) : null(); }
  result_row& number(std::int64_t n) { return value(number_datum(n)); }
  result_row& number32(std::int32_t n) { return value(Int32GetDatum(n)); }
  result_row& boolean(bool b) { return value(BoolGetDatum(b)); }
  result_row& length(std::int64_t microseconds);
  result_row& uuid(const unsigned char (&bytes)[token_size]);
  // Text of a JSON value, NULL where there is none.
  result_row& json(const std::optional<std::string_view>& document);
  void into(result_set& set) {
    if (count_ != set.columns())
      throw error(sqlstate::not_in_prerequisite_state, "a row type of ql3 is of another version than its library",
                  "ALTER EXTENSION ql3 UPDATE.");
    set.add(values_, nulls_);
  }
  // Into the row type of any version: what that one lacks is dropped, what only it has stays NULL.
  void into_any(result_set& set) {
    while (count_ < set.columns()) null();
    set.add(values_, nulls_);
  }

 private:
  Datum values_[capacity];
  bool nulls_[capacity];
  int count_ = 0;
};

}  // namespace ql3::pg
