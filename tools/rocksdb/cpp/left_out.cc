// What RocksDB's C interface refers to of the features that are left out of the library (src/sources.rs): transactions of
// RocksDB's own, and its wrapper for time to live. LapseDB calls none of them; whoever does is told so.

#include "rocksdb/utilities/db_ttl.h"
#include "rocksdb/utilities/optimistic_transaction_db.h"
#include "rocksdb/utilities/transaction_db.h"
#include "utilities/transactions/write_prepared_txn_db.h"

namespace ROCKSDB_NAMESPACE {

static Status LeftOut(const char* feature) {
  return Status::NotSupported(feature, "is left out of this build of RocksDB (tools/rocksdb)");
}

Status DBWithTTL::Open(const Options&, const std::string&, DBWithTTL**, int32_t, bool) {
  return LeftOut("DBWithTTL");
}

Status DBWithTTL::Open(const DBOptions&, const std::string&, const std::vector<ColumnFamilyDescriptor>&,
                       std::vector<ColumnFamilyHandle*>*, DBWithTTL**, const std::vector<int32_t>&, bool) {
  return LeftOut("DBWithTTL");
}

Status TransactionDB::Open(const Options&, const TransactionDBOptions&, const std::string&, TransactionDB**) {
  return LeftOut("TransactionDB");
}

Status TransactionDB::Open(const DBOptions&, const TransactionDBOptions&, const std::string&,
                           const std::vector<ColumnFamilyDescriptor>&, std::vector<ColumnFamilyHandle*>*,
                           TransactionDB**) {
  return LeftOut("TransactionDB");
}

Status OptimisticTransactionDB::Open(const Options&, const std::string&, OptimisticTransactionDB**) {
  return LeftOut("OptimisticTransactionDB");
}

Status OptimisticTransactionDB::Open(const DBOptions&, const std::string&, const std::vector<ColumnFamilyDescriptor>&,
                                     std::vector<ColumnFamilyHandle*>*, OptimisticTransactionDB**) {
  return LeftOut("OptimisticTransactionDB");
}

Status OptimisticTransactionDB::Open(const DBOptions&, const OptimisticTransactionDBOptions&, const std::string&,
                                     const std::vector<ColumnFamilyDescriptor>&, std::vector<ColumnFamilyHandle*>*,
                                     OptimisticTransactionDB**) {
  return LeftOut("OptimisticTransactionDB");
}

std::shared_ptr<OccLockBuckets> MakeSharedOccLockBuckets(size_t, bool) { return nullptr; }

// Referred to by the snapshot checker of those transactions, which is compiled for the functions beside it.
bool WritePreparedTxnDB::GetCommitEntry(const uint64_t, CommitEntry64b*, CommitEntry*) const { return false; }

}  // namespace ROCKSDB_NAMESPACE
