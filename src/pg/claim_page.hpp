// Choosing a page (docs/selection.md): for each kind its share, from three streams - what is due by its control row,
// what discovery meets in the source for the first time, what the sweep finds behind discovery.
//
// Every target is locked (its control row, or the insert of it) before the source is asked about it by key in a new
// statement; only what is still listed then is handed out. Nothing here waits for another transaction.
#pragma once

#include "control_peek.hpp"
#include "control_rows.hpp"
#include "due_scan.hpp"

namespace ql3::pg {

struct taken_target {
  int reader;  // index of its source's reader
  facts now;   // as verified after the lock
  HeapTuple row;  // its control row, as locked or inserted
  bool fresh;  // inserted by this call
  bool rewrite;  // fresh, but inserted with facts or times that are no longer right
  std::int64_t version;
  std::int32_t failure_count;
};

struct claim_request {
  std::string_view owner;
  int page_size;
  std::int64_t lease;
  const unsigned char* token_digest;
};

class claim_page {
 public:
  claim_page(const claim_request& request, const per_source<source>& sources);

  // Chooses, locks and writes. Afterwards targets() are claimed in this transaction under one expiry.
  void fill();

  const bounded<taken_target>& targets() const noexcept { return taken_; }
  const source_reader& reader_of(const taken_target& target) const { return readers_[target.reader]; }
  const per_source<source_reader>& readers() const noexcept { return readers_; }
  const claim_stamp& stamp() const noexcept { return stamp_; }

 private:
  struct candidate {
    facts now;
    bool fresh;
    HeapTuple row;
    locked_control before;  // of a known target
  };
  using candidates = bounded<candidate>;

  int missing() const noexcept { return request_.page_size - static_cast<int>(taken_.size()); }
  bool is_taken(int reader, std::string_view id) const noexcept;
  void stamp_once();

  // A kind's part of the page, from all streams but the final sweep. Answers whether the kind may have more.
  bool take_share(int reader, int part, bool& unswept);
  // Each takes up to `need` targets of one kind and answers whether the stream may have more.
  bool take_due(int reader, int need);
  bool take_listed(int reader, int need, walk which, int row_budget);

  void sort_out(int reader, const listed_rows& chunk, int need, place& reached, candidates& chosen, bool& all_seen);
  void lock_candidates(int reader, candidates& chosen);
  // Asks the source about the locked candidates and keeps those still listed. Answers how many were kept.
  int verify(int reader, candidates& locked);
  void admit(int reader, const candidate& one, const facts& now);
  void park_vanished(int reader, const locked_control& before, std::int32_t failure_count, std::string_view why);
  void drop_blind(int reader);
  void write_known();

  claim_request request_;
  per_source<source_reader> readers_;
  per_source<std::int64_t> floors_;  // no version of the source's kind at or below it
  per_source<due_scan> due_;
  bounded<taken_target> taken_;
  control_peek peek_;
  claim_stamp stamp_{};
  bool stamped_ = false;
  std::uint32_t timeline_;
};

}  // namespace ql3::pg
