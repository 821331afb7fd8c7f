/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where objects of OpenSSL have the client random of their connection.
 */
#ifndef CALL_TLS_RANDOM_H
#define CALL_TLS_RANDOM_H

#include <stdint.h>

struct elf;

#define CALL_TLS_OFFSET_MAX 0x8000u

/*
 * @vaddr: of SSL_get_client_random(), whose code may be anything. If it has the place: @ret_random is its offset + 1,
 * in the object, or behind the pointer that the object has at *@ret_pointer - 1 (0 = no pointer). Both are at most
 * CALL_TLS_OFFSET_MAX.
 */
void call_tls_random_find(struct elf *e, uint64_t vaddr, uint32_t *ret_random, uint32_t *ret_pointer);

#endif
