// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/redact/redact_record.h"

#include <errno.h>

#include "base/buf.h"
#include "event/decode.h"
#include "event/redact/redact.h"

static const struct decoder_ops *decoder_of(const struct decoder_ops *const *decoders, const struct sonde_rec *r)
{
	const unsigned probe = r->type >> 8;

	for (size_t i = 0; probe && decoders[i]; i++)
		if (decoders[i]->probe == probe)
			return decoders[i];
	return probe ? NULL : &core_decoder;
}

/* Has @r the layout that rules expect? */
static bool layout_matches(const struct decoder_ops *ops, const struct sonde_rec *r)
{
	for (const struct decode_row *row = ops->rows; row && row->type; row++)
		if (row->type == r->type)
			return row->ident == !!(r->flags & SONDE_RF_IDENT);
	return true;
}

static bool is_open(const struct decoder_ops *ops, const struct sonde_rec *r)
{
	for (const struct content_rule *c = ops->content; c && c->type; c++)
		if (c->type == r->type)
			return !c->hide;
	return false;
}

int redact_record(const struct decoder_ops *const *decoders, const struct sonde_rec *r, unsigned fields,
		  struct buf *out)
{
	const struct decoder_ops *ops = decoder_of(decoders, r);
	const struct redact_rule *rule = ops ? ops->redact : NULL;
	int ret;

	while (rule && rule->type && rule->type != r->type)
		rule++;
	if (!rule || !rule->type)
		return ops && is_open(ops, r) ? 0 : -EACCES;
	if (!layout_matches(ops, r))
		return -EACCES;
	buf_reset(out);
	ret = rule->redact(r, fields, out);
	if (ret <= 0)
		return ret;
	if (buf_error(out) < 0)
		return buf_error(out);
	((struct sonde_rec *)out->data)->len = (uint32_t)out->len;
	return 1;
}
