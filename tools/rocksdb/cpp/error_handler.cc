// Which errors RocksDB recovers from.
//
// When no new log can be begun because the disk is full, or because of another error that passes (`io_posix.cc`), RocksDB takes no writes
// until it is opened again: its table of severities has no row for that case, and fatal is the default. Nothing is lost then: every
// write has reached the old log, and recovery moves what is in memory to tables before writing goes on. So the case gets the row
// that a failed write of a log has.

#include "db/error_handler.cc"

namespace ROCKSDB_NAMESPACE {
namespace {

bool AddRows() {
  for (bool paranoid : {false, true}) {
    ErrorSeverityMap[std::make_tuple(BackgroundErrorReason::kMemTable, Status::Code::kIOError,
                                     Status::SubCode::kNoSpace, paranoid)] = Status::Severity::kHardError;
  }
  return true;
}

// In this file, so that the table is there before.
[[maybe_unused]] const bool kHasRows = AddRows();

}  // namespace
}  // namespace ROCKSDB_NAMESPACE
