/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Constants of the pcapng format, for the writer (sinks) and the reader (source).
 *
 * Format: draft-ietf-opsawg-pcapng; option 8 of packets: its pull request 132; process information: the custom
 * block of Wireshark (wiki.wireshark.org/Development/PcapngCustom).
 */
#ifndef PACKET_PCAPNG_H
#define PACKET_PCAPNG_H

#define PCAPNG_SHB 0x0a0d0d0a		/* section header; reads the same in both byte orders */
#define PCAPNG_IDB 1			/* interface description */
#define PCAPNG_PB 2			/* packet, obsolete */
#define PCAPNG_SPB 3			/* simple packet */
#define PCAPNG_NRB 4			/* name resolution */
#define PCAPNG_ISB 5			/* interface statistics */
#define PCAPNG_EPB 6			/* enhanced packet */
#define PCAPNG_CB 0x0bad		/* custom, may be copied */

#define PCAPNG_BYTE_ORDER 0x1a2b3c4d
#define PCAPNG_MAJOR 1

#define PCAPNG_OPT_END 0
#define PCAPNG_OPT_COMMENT 1

#define PCAPNG_SHB_HARDWARE 2
#define PCAPNG_SHB_OS 3
#define PCAPNG_SHB_USERAPPL 4

#define PCAPNG_IF_NAME 2
#define PCAPNG_IF_DESCRIPTION 3
#define PCAPNG_IF_TSRESOL 9		/* u8: negative power of 10, or of 2 with the top bit set; default 6 */
#define PCAPNG_IF_FILTER 11		/* u8 kind (0 = pcap-filter text), then the filter */
#define PCAPNG_IF_TSOFFSET 14		/* i64: seconds to add to every time */

#define PCAPNG_EPB_FLAGS 2		/* u32: low two bits 1 = in, 2 = out */
#define PCAPNG_EPB_DROPCOUNT 4		/* u64: packets lost since the previous packet */
#define PCAPNG_EPB_VERDICT 7		/* u8 kind, then its verdict */
#define PCAPNG_EPB_PROCESS_THREAD 8	/* u32 process, u32 thread; 0 = unknown */

#define PCAPNG_VERDICT_XDP 2		/* kind: Linux eBPF XDP; u64 enum xdp_action */

#define PCAPNG_ISB_ENDTIME 3		/* u32 high, u32 low */
#define PCAPNG_ISB_IFRECV 4		/* u64 each */
#define PCAPNG_ISB_IFDROP 5
#define PCAPNG_ISB_USRDELIV 8

#define PCAPNG_PEN_WIRESHARK 32622
#define PCAPNG_WS_PROCESS 3		/* entry type: u32 process, options below; always little endian */
#define PCAPNG_WS_PROCESS_NAME 2
#define PCAPNG_WS_PROCESS_PATH 3
#define PCAPNG_WS_PROCESS_CMDLINE 4	/* arguments, each ended by a NUL */
#define PCAPNG_WS_PROCESS_PPID 5
#define PCAPNG_WS_PROCESS_UID 6
#define PCAPNG_WS_PROCESS_START 9	/* u64 ns since 1970 */

#endif
