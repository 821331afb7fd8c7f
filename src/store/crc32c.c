// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/crc32c.h"

#include <string.h>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

/* Remainders of four bits, reflected polynomial 0x82f63b78. */
static const uint32_t nibble[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
	0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

static uint32_t portable(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

	crc = ~crc;
	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		crc = crc >> 4 ^ nibble[crc & 15];
		crc = crc >> 4 ^ nibble[crc & 15];
	}
	return ~crc;
}

#if defined(__x86_64__)

static int has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t len)
{
	uint64_t sum = crc, word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		sum = __builtin_ia32_crc32di(sum, word);
	}
	for (; len; p++, len--)
		sum = __builtin_ia32_crc32qi((uint32_t)sum, *p);
	return (uint32_t)sum;
}

#elif defined(__aarch64__)

static int has_instruction(void)
{
	return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}

__attribute__((target("+crc"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t len)
{
	uint64_t word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		crc = __builtin_aarch64_crc32cx(crc, word);
	}
	for (; len; p++, len--)
		crc = __builtin_aarch64_crc32cb(crc, *p);
	return crc;
}

#else

static int has_instruction(void)
{
	return 0;
}

static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t len)
{
	return ~portable(~crc, p, len);
}

#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
	return has_instruction() ? ~by_instruction(~crc, data, len) : portable(crc, data, len);
}
