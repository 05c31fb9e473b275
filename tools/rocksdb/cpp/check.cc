// Run once, before the library is kept: its CRC32C must be the one of the standard, whichever implementation was chosen.

#include <cstdint>
#include <cstdio>
#include <string>

#include "util/crc32c.h"

namespace crc32c = ROCKSDB_NAMESPACE::crc32c;

// One bit at a time: slow, and plainly right.
static uint32_t BitByBit(uint32_t crc, const std::string& text) {
  crc = ~crc;
  for (unsigned char byte : text) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1)));
    }
  }
  return ~crc;
}

// Where the library can choose (cpp/crc32c.cc) and the processor has the instructions, they must be what was chosen.
static bool ChoosesInstructions() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) {
    return crc32c::IsFastCrc32Supported().rfind("Supported", 0) == 0;
  }
#endif
  return true;
}

int main() {
  if (!ChoosesInstructions()) {
    std::puts("CRC32C does not use the processor's instructions");
    return 1;
  }
  if (crc32c::Value("123456789", 9) != 0xe3069283u) {
    std::puts("CRC32C of \"123456789\" is wrong");
    return 1;
  }
  std::string text;
  uint32_t next = 1;
  for (size_t size = 0; size < 3000; ++size) {
    for (size_t skipped = 0; skipped < 9 && skipped <= size; skipped += 4) {
      const uint32_t begun = crc32c::Value(text.data(), skipped);
      if (crc32c::Extend(begun, text.data() + skipped, size - skipped) != BitByBit(0, text)) {
        std::printf("CRC32C of %zu bytes, the first %zu apart, is wrong\n", size, skipped);
        return 1;
      }
    }
    next = next * 1664525u + 1013904223u;
    text.push_back(static_cast<char>(next >> 24));
  }
  return 0;
}
