// One of our own tables, read by key and written below the executor: by its indexes, whatever the planner would think,
// and without making plan and CHECK expressions anew for each row.
//
// What a write means stays the server's: CHECK and NOT NULL are tested, indexes maintained, statistics counted, HOT
// used. A table on which somebody has put a trigger, a rule, row security, a column or an index of a kind that is not
// known here is written through SPI instead.
#pragma once

#include "row_checks.hpp"

namespace ql3::pg {

// What a write sets, of the columns that are ours: by column number from 1.
class changes {
 public:
  static constexpr int capacity = 24;
  changes& set(int column, Datum value) {
    values[column - 1] = value;
    nulls[column - 1] = false;
    replaced[column - 1] = true;
    return *this;
  }
  changes& clear(int column) {
    nulls[column - 1] = true;
    replaced[column - 1] = true;
    return *this;
  }
  Datum values[capacity]{};
  bool nulls[capacity]{};
  bool replaced[capacity]{};
};

enum class lock_wait { skip, wait };

// Equality on the first columns of an index of ours. Texts are in collation "C".
class index_keys {
 public:
  static constexpr int capacity = 3;
  index_keys& text(std::string_view value);
  index_keys& digest(const unsigned char* value);
  index_keys& uuid(Datum value);
  index_keys& number32(std::int32_t value);
  int count() const noexcept { return count_; }
  // REQUIRES: inside a leaf.
  void into(ScanKeyData* keys) const;

 private:
  struct key {
    Oid type;
    Oid collation;
    RegProcedure equal;
    Datum value;
  };
  index_keys& add(Oid type, Oid collation, RegProcedure equal, Datum value);
  key keys_[capacity];
  int count_ = 0;
};

// Which rows of a scan are wanted; runs inside a leaf.
using row_test = bool (*)(TupleTableSlot*);

// Everything here is the server's and made in the memory of the session; nothing has a destructor: after an error the
// abort of the (sub)transaction closes what is open.
class own_table {
 public:
  // `columns` are the names that the table must begin with, in order (55000 otherwise); the first `key_columns` of them
  // tell a row apart.
  struct description {
    const char* name;
    const char* key_index;
    const char* const* columns;
    int column_count;
    int key_columns;
  };

  // `lock` on it and on the indexes it is read by, kept to the end of the transaction: RowExclusiveLock before anything
  // is written or locked.
  void open(const description& what, LOCKMODE lock);
  void close();
  bool is_open() const noexcept { return table_ != nullptr; }
  // Has this call replaced or removed a row that a rollback would bring back?
  bool has_replaced() const noexcept { return has_replaced_; }
  Relation relation() const noexcept { return table_; }
  Relation key_index() const noexcept { return key_; }
  TupleTableSlot* slot() const noexcept { return read_slot_; }

  // The first row with this key that is wanted (nullptr: each is), as the snapshot sees it; nullptr: none. With a
  // `column` (integer), the one that has least or most in it, whatever their order.
  enum class pick { first, last, least, most };
  HeapTuple find(Snapshot snapshot, const char* index, const index_keys& key, row_test wanted = nullptr,
                 pick which = pick::first, int column = 0);
  // How many rows with this key are wanted, at most `most`.
  int count(Snapshot snapshot, const char* index, const index_keys& key, row_test wanted, int most);
  // The row with this key, for tables whose key index is (kind, id).
  HeapTuple find(Snapshot snapshot, std::string_view kind, std::string_view id);
  // Locks it (FOR NO KEY UPDATE) and answers its newest version, or nullptr: gone, or another has it and `skip`.
  // Waits at most for the session's lock timeout (55P03). 40001 above READ COMMITTED when it changed since.
  // REQUIRES: inside a leaf.
  HeapTuple lock_in_leaf(ItemPointer at, Snapshot snapshot, lock_wait policy);
  // Of a page in the order given, by one scan.
  struct row_name {
    std::string_view kind;
    std::string_view id;
  };
  void find_and_lock(Snapshot snapshot, const row_name* names, int count, lock_wait policy, HeapTuple* rows);

  // Each answers the row as written, for a further write in this call. 55000 when somebody's trigger or rule kept it
  // from being written.
  HeapTuple insert(const changes& values);
  // Several rows with fewer records of WAL.
  void insert_all(const changes* rows, int count);
  // A row that was read under a lock of another kind than its own: these wait for whoever has the row, at most for the
  // session's lock timeout (55P03); 40001 when they changed it.
  HeapTuple update(HeapTuple before, const changes& to);
  void remove(HeapTuple row);

 private:
  void prepare_writes();
  void open_indexes();
  void close_indexes();
  void write_indexes(TupleTableSlot* slot, const bool* replaced);
  HeapTuple by_executor(const char* verb, HeapTuple before, const changes& to);

  const description* what_;
  LOCKMODE lock_;
  Relation table_ = nullptr;
  Relation key_;
  TupleTableSlot* read_slot_;
  TupleTableSlot* write_slot_;
  Relation indexes_[table_indexes_max];
  int index_count_;
  std::uint64_t prepared_;  // which preparation of the indexes is open; 0 = none
  bool can_write_;
  bool has_replaced_;
  bool plain_;
};

// A table or index of ours by its name; an internal error when it is gone. REQUIRES: inside a leaf.
Oid member_of_ours(const char* name);
// An index of ours, fit to be read: 55000 when it is not valid. REQUIRES: inside a leaf.
Relation open_index_of_ours(const char* name, LOCKMODE lock);

// The number of the next row of a table with an identity column. REQUIRES: open.
std::int64_t next_identity(Relation table, AttrNumber column);

// A new snapshot, registered until the release. In READ COMMITTED it sees what is committed by now.
Snapshot fresh_snapshot();
void release_snapshot(Snapshot snapshot);

}  // namespace ql3::pg
