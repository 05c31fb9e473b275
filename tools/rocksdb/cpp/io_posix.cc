// How errors of the system become RocksDB's.
//
// After an error that passes by itself RocksDB stops writing, looks every five seconds whether it can go on, and then does. It knows one
// such error, ENOSPC; after any other it takes no writes until it is opened again. A used-up quota and a lack of file descriptors pass
// too, so they take the same way. The status keeps the text of the error that it was.

// Everything that uses the macro is included before it changes.
#include "env/io_posix.h"

#include <errno.h>

#include <algorithm>
#include <cstring>
#include <system_error>

namespace {
constexpr int kNoSpace = ENOSPC;
}  // namespace

// The source uses the macro once, as the label of a case.
#undef ENOSPC
#define ENOSPC kNoSpace: case EDQUOT: case EMFILE: case ENFILE

#include "env/io_posix.cc"
