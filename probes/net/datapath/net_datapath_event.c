// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The notification that an event of another datapath carries.
 */
#include "probes/net/datapath/net_datapath_event.h"

#include "cilium/notify.h"
#include "event/event.h"

const uint8_t *net_datapath_event_bytes(const struct event *ev, uint32_t *ret_len)
{
	const struct section *s = event_section(ev, SEC_NOTIFY);

	if (!s || s->len < sizeof(struct sec_notify))
		return NULL;
	*ret_len = s->len - (uint32_t)sizeof(struct sec_notify);
	return (const uint8_t *)s->data + sizeof(struct sec_notify);
}

bool net_datapath_event_notify(const struct event *ev, struct cilium_notify *ret)
{
	uint32_t len = 0;
	const uint8_t *data = net_datapath_event_bytes(ev, &len);

	return data && cilium_notify_decode(data, len, ret, NULL) == 0;
}
