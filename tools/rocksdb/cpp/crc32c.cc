// CRC32C, the checksum of the write-ahead log, by the processor's instructions where it has them.
//
// RocksDB chooses at compile time: with -msse4.2 the library would not run on an old processor, without it every checksum is computed
// from tables, an order of magnitude slower. So its source is compiled twice here, under two names, and the choice is made at run time.

#include "util/crc32c.h"

// Everything that the source includes is included before the options change, so that no inline function of a shared header is
// compiled with instructions that the processor may lack.
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "port/lang.h"
#include "util/coding.h"
#include "util/crc32c_arm64.h"
#include "util/math.h"

// Clang has no such pragma; other processors are asked by RocksDB itself.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SSE4_2__)

#include <nmmintrin.h>
#include <wmmintrin.h>

#define crc32c crc32c_portable
#include "util/crc32c.cc"
#undef crc32c

#pragma GCC push_options
#pragma GCC target("sse4.2,pclmul")
#define crc32c crc32c_instructions
#include "util/crc32c.cc"
#undef crc32c
#pragma GCC pop_options

namespace ROCKSDB_NAMESPACE::crc32c {

static bool HasInstructions() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

uint32_t Extend(uint32_t crc, const char* data, size_t size) {
  static const bool has_instructions = HasInstructions();
  return has_instructions ? crc32c_instructions::Extend(crc, data, size)
                          : crc32c_portable::Extend(crc, data, size);
}

uint32_t Crc32cCombine(uint32_t crc1, uint32_t crc2, size_t crc2len) {
  return crc32c_portable::Crc32cCombine(crc1, crc2, crc2len);
}

std::string IsFastCrc32Supported() {
  return HasInstructions() ? "Supported on x86, chosen at run time" : crc32c_portable::IsFastCrc32Supported();
}

}  // namespace ROCKSDB_NAMESPACE::crc32c

#else

#include "util/crc32c.cc"

#endif
