# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a Perfetto trace as bytes of protocol buffers and checks what trace_processor relies on. Field numbers:
protos/perfetto/trace of Perfetto 56. Standard library only."""
import collections

BEGIN, END, INSTANT = 1, 2, 3


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def message(data):
    """{field: [values]}; nested messages and strings are bytes."""
    fields, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        else:
            assert kind == 2, f"wire type {kind} at byte {at}"
            length, at = varint(data, at)
            assert at + length <= len(data), f"a field ends behind its message at byte {at}"
            value, at = data[at:at + length], at + length
        fields[tag >> 3].append(value)
    assert at == len(data)
    return fields


class Trace:
    """Slices as (begin, end, name, process, category), samples as lists of function names, states, flows."""

    def __init__(self, data):
        self.tracks, self.interned = {}, collections.defaultdict(dict)
        self.events, self.samples, self.states, self.clocks = [], [], [], []
        self.flows = collections.Counter()
        first = True
        for raw in message(data)[1]:
            packet = message(raw)
            self._track(packet)
            if not packet[8]:
                continue
            assert packet[10] == [1]
            assert packet[13] == [3 if first else 2]    # cleared, then needed
            first = False
            self._intern(packet)
            self._event(packet)
        self.slices = self._slices()

    def _track(self, packet):
        for raw in packet[60]:
            track = message(raw)
            uuid, = track[1]
            assert uuid not in self.tracks
            for parent in track[5]:
                assert parent in self.tracks
            self.tracks[uuid] = track

    def _intern(self, packet):
        for raw in packet[12]:
            for field, values in message(raw).items():
                for value in values:
                    entry = message(value)
                    self.interned[field][entry[1][0]] = entry

    def _event(self, packet):
        ts, = packet[8]
        self.clocks += packet[6]
        for raw in packet[11]:
            event = message(raw)
            track, = event[11]
            assert track in self.tracks, "an event of a track that is not described"
            self.events.append((ts, len(self.events), event[9][0], track, event))
            for flow in event[47]:
                self.flows[flow] += 1
        for raw in packet[66]:
            self.samples.append(self._stack(message(raw)))
        for raw in packet[117]:
            state = message(raw)
            self.states.append((ts, state[3][0], state[4][0]))

    def _stack(self, sample):
        """Outermost first."""
        if not sample[4]:
            return []
        names = []
        for frame in self.interned[7][sample[4][0]][2]:
            frame = self.interned[6][frame]
            assert self.interned[19][frame[3][0]]
            names.append(self.interned[5][frame[2][0]][2][0].decode())
        return names

    def process_of(self, track):
        """(pid, name of the track)"""
        track = self.tracks[track]
        name = track[2][0].decode() if track[2] else ""
        while track[5]:
            track = self.tracks[track[5][0]]
        return message(track[3][0])[1][0], name

    def _slices(self):
        """Of one track they neither overlap nor cross, at equal times an end comes before a begin."""
        open_slices, slices = {}, []
        for ts, _, kind, track, event in sorted(self.events, key=lambda e: e[:2]):
            if kind == BEGIN:
                assert track not in open_slices, "a slice begins within another of its track"
                open_slices[track] = (ts, event)
            elif kind == END:
                begin, event = open_slices.pop(track)
                slices.append((begin, ts, event[23][0].decode(), self.process_of(track)[0], event[22][0].decode()))
        assert not open_slices
        return slices
