// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/dwarf/ehframe_pointer.h"

#include <dwarf.h>
#include <errno.h>

#include "elf/leb.h"

static int pointer_value(struct cursor *c, uint8_t format, uint64_t *ret)
{
	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		*ret = cur_u64(c);
		break;
	case DW_EH_PE_uleb128:
		*ret = cur_uleb(c);
		break;
	case DW_EH_PE_sleb128:
		*ret = (uint64_t)cur_sleb(c);
		break;
	case DW_EH_PE_udata2:
		*ret = cur_u16(c);
		break;
	case DW_EH_PE_sdata2:
		*ret = (uint64_t)(int16_t)cur_u16(c);
		break;
	case DW_EH_PE_udata4:
		*ret = cur_u32(c);
		break;
	case DW_EH_PE_sdata4:
		*ret = (uint64_t)(int32_t)cur_u32(c);
		break;
	default:
		return -ENOTSUP;
	}
	return cur_ok(c) ? 0 : -EBADMSG;
}

/* Virtual address of @c. */
static uint64_t address(const struct cursor *c, const uint8_t *bytes, uint64_t section)
{
	return section + (uint64_t)(c->pos - bytes);
}

int ehframe_pointer(struct cursor *c, uint8_t enc, const uint8_t *bytes, uint64_t section, uint64_t *ret)
{
	uint64_t at = address(c, bytes, section), v;
	int r;

	if ((enc & EHFRAME_PE_BASE) == DW_EH_PE_aligned) {
		cur_skip(c, (size_t)(-at & 7));
		return pointer_value(c, DW_EH_PE_absptr, ret);
	}
	r = pointer_value(c, enc & EHFRAME_PE_FORMAT, &v);
	if (r < 0)
		return r;
	/* linkers use no textrel, datarel or funcrel base here; indirect needs a process */
	if ((enc & EHFRAME_PE_BASE) != DW_EH_PE_absptr && (enc & EHFRAME_PE_BASE) != DW_EH_PE_pcrel)
		return -ENOTSUP;
	if (enc & DW_EH_PE_indirect)
		return -ENOTSUP;
	*ret = (enc & EHFRAME_PE_BASE) == DW_EH_PE_pcrel ? at + v : v;
	return 0;
}

int ehframe_pointer_skip(struct cursor *c, uint8_t enc, const uint8_t *bytes, uint64_t section)
{
	uint64_t v;

	if ((enc & EHFRAME_PE_BASE) == DW_EH_PE_aligned)
		cur_skip(c, (size_t)(-address(c, bytes, section) & 7));
	return pointer_value(c, enc & EHFRAME_PE_FORMAT, &v);
}
