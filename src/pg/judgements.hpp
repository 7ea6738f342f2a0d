// ql3.judgements: the history of how claims ended.
#pragma once

#include "control_rows.hpp"

namespace ql3::pg {

// A row of ql3.judgements.
struct judgement {
  std::string_view kind;
  std::string_view id;
  std::int64_t version;
  std::optional<std::string_view> owner;
  std::string_view run_id;
  std::optional<std::string_view> status;
  instant lost_at;
  std::string_view disposition;
  std::optional<std::string_view> verdict;
  std::optional<std::string_view> note;
  std::optional<Datum> evidence;  // jsonb
  std::string_view result;
  std::int32_t failure_count;
  instant judged_at;
};
void write_judgement(const judgement& what);

// Judgements of one call, written together at its end: fewer records of WAL.
class judgement_page {
 public:
  explicit judgement_page(int most);
  void add(const judgement& what);
  void write();

 private:
  changes* rows_;
  int most_;
  int count_ = 0;
};

}  // namespace ql3::pg
