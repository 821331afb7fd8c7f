/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * KeyValue messages of OpenTelemetry (opentelemetry/proto/common/v1/common.proto): attributes of all signals. Errors
 * stick to the message that they are added to.
 */
#ifndef SINKS_OTLP_KV_H
#define SINKS_OTLP_KV_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Scratch of one encoder. Starts zeroed; released by otlp_kv_fini(). */
struct otlp_kv {
	struct buf kv, any, list;
};

void otlp_kv_fini(struct otlp_kv *s);

/* Each adds one KeyValue as field @field of the message in @out; text is cut to valid UTF-8. */
void otlp_kv_text(struct otlp_kv *s, struct buf *out, uint32_t field, const char *key, const char *text, size_t len);
void otlp_kv_str(struct otlp_kv *s, struct buf *out, uint32_t field, const char *key, const char *text);
void otlp_kv_number(struct otlp_kv *s, struct buf *out, uint32_t field, const char *key, uint64_t v);
void otlp_kv_bool(struct otlp_kv *s, struct buf *out, uint32_t field, const char *key, int v);
/* An array of one string. */
void otlp_kv_list(struct otlp_kv *s, struct buf *out, uint32_t field, const char *key, const char *text, size_t len);

/* The AnyValue messages alone. */
void otlp_kv_any_text(struct buf *out, const char *text, size_t len);
void otlp_kv_any_number(struct buf *out, uint64_t v);

/* 2 * @n lower-case hex digits to @n bytes; 0 for any other text, else @n. */
size_t otlp_kv_unhex(const char *text, size_t len, uint8_t *ret, size_t n);

#endif
