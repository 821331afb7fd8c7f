# SPDX-License-Identifier: GPL-2.0-or-later
"""sonde profile -o otlp: the profile of OpenTelemetry against the folded stacks and the events of one recording."""
import collections
import json
import os
import subprocess

import pytest

import helpers
import otlp_profiles_pb
from test_rpc_otlp import collector, plain  # noqa: F401  fixtures

CPU = os.path.join(helpers.ROOT, "tests", "data", "rec", "cpu.rec")
TABLES = ("mapping_table", "location_table", "function_table", "link_table", "string_table", "attribute_table",
          "stack_table")
ZERO_LINK = (bytes(16), bytes(8))


def profile(*words):
    return subprocess.run([helpers.BINARY, "profile", "-q", "-r", CPU, *words], capture_output=True, text=True,
                          timeout=60, check=True).stdout


@pytest.fixture(scope="module", params=[(), ("--mode", "off-cpu")], ids=("cpu", "off-cpu"))
def both(request, tmp_path_factory):
    """The message, and {(process, stack, outermost first): weight} of the folded text."""
    path = tmp_path_factory.mktemp("profiles") / "x.profiles.otlp"
    profile(*request.param, "-o", str(path))
    weights = collections.Counter()
    for line in profile(*request.param, "-o", "folded").splitlines():
        stack, _, weight = line.rpartition(" ")
        weights[stack] += int(weight)
    return otlp_profiles_pb.read(path.read_bytes()), weights, bool(request.param)


def attributes(d, indices):
    """{key: value} of a list of references; a key comes once."""
    found = [d.attribute_table[i] for i in indices]
    out = {d.string_table[a.key_strindex]: getattr(a.value, a.value.WhichOneof("value")) for a in found}
    assert len(out) == len(found) and 0 not in indices
    return out


def frames(d, stack):
    """Names of a stack, outermost first."""
    out = []
    for i in d.stack_table[stack].location_indices:
        assert i
        for line in d.location_table[i].lines:
            out.append(d.string_table[d.function_table[line.function_index].name_strindex])
        if not d.location_table[i].lines:
            out.append("[unknown]")
    return out[::-1]


def profiles(message):
    """(resource, type, profile) of each."""
    d = message.dictionary
    for r in message.resource_profiles:
        assert r.schema_url.startswith("https://opentelemetry.io/schemas/")
        for scope in r.scope_profiles:
            assert scope.scope.name == "sonde"
            for p in scope.profiles:
                yield plain(r.resource.attributes), d.string_table[p.sample_type.type_strindex], p


@pytest.mark.replay
def test_the_dictionary_follows_its_rules(both):
    """Element 0 of each table is empty; no duplicates, no orphans, no reference to nowhere."""
    message = both[0]
    d = message.dictionary
    used = {name: {0} for name in TABLES}
    for name in TABLES:
        table = getattr(d, name)
        items = [one if isinstance(one, str) else one.SerializeToString() for one in table]
        assert len(set(items)) == len(items), name
        empty = "" if name == "string_table" else type(table[0])()
        assert table[0] == empty or (table[0].trace_id, table[0].span_id) == ZERO_LINK
    for _, _, p in profiles(message):
        used["string_table"] |= {p.sample_type.type_strindex, p.sample_type.unit_strindex,
                                 p.period_type.type_strindex, p.period_type.unit_strindex}
        for s in p.samples:
            used["stack_table"].add(s.stack_index)
            used["link_table"].add(s.link_index)
            used["attribute_table"] |= set(s.attribute_indices)
    for stack in used["stack_table"]:
        used["location_table"] |= set(d.stack_table[stack].location_indices)
    for i in used["location_table"]:
        used["mapping_table"].add(d.location_table[i].mapping_index)
        used["attribute_table"] |= set(d.location_table[i].attribute_indices)
        used["function_table"] |= {line.function_index for line in d.location_table[i].lines}
    for i in used["mapping_table"]:
        used["attribute_table"] |= set(d.mapping_table[i].attribute_indices)
        used["string_table"].add(d.mapping_table[i].filename_strindex)
    for i in used["function_table"]:
        f = d.function_table[i]
        used["string_table"] |= {f.name_strindex, f.system_name_strindex, f.filename_strindex}
    used["string_table"] |= {d.attribute_table[i].key_strindex for i in used["attribute_table"]}
    assert {name: len(used[name]) for name in TABLES} == {name: len(getattr(d, name)) for name in TABLES}


@pytest.mark.replay
def test_stacks_and_weights_are_those_of_the_folded_text(both):
    message, folded, off_cpu = both
    d, got = message.dictionary, collections.Counter()
    for resource, kind, p in profiles(message):
        if kind != ("off_cpu" if off_cpu else "samples"):
            continue
        for s in p.samples:
            assert len(s.values) == 1
            comm = attributes(d, s.attribute_indices)["thread.name"]
            got[";".join([comm, *frames(d, s.stack_index)])] += s.values[0]
    assert set(got) == set(folded) and sum(folded.values()) > 0
    for stack, value in got.items():
        us = value / 1000 if off_cpu else value     # of the text: the difference of two that are cut to whole us
        assert abs(us - folded[stack]) <= (1 if off_cpu else 0), stack


@pytest.mark.replay
def test_samples_have_their_thread_cpu_process_and_time(both):
    message, _, off_cpu = both
    events = [ev for ev in map(json.loads, profile("--json").splitlines())
              if ev["type"] in ("cpu.sample", "cpu.block")]
    d, got, types = message.dictionary, collections.Counter(), set()
    for resource, value, p in profiles(message):
        types.add(value)
        assert p.time_unix_nano > 10**18 and d.string_table[p.period_type.unit_strindex] == "nanoseconds"
        assert resource["host.name"] and resource["os.type"] == "linux" and resource["service.instance.id"]
        for s in p.samples:
            a = attributes(d, s.attribute_indices)
            got[value, resource.get("process.pid", 0), a["thread.id"], a["cpu.logical_number"]] += s.values[0]
    want = collections.Counter()
    for ev in events:
        who = ev.get("proc", {}).get("pid", 0), ev["proc"].get("tid", ev["proc"]["pid"]), ev["cpu"]
        want["samples", *who] += 1
        want["off_cpu" if off_cpu else "cpu", *who] += ev["value"]
    assert types == {"samples", "off_cpu" if off_cpu else "cpu"} and got == want


@pytest.mark.replay
def test_frames_have_their_type(both):
    d = both[0].dictionary
    types = collections.Counter(attributes(d, one.attribute_indices).get("profile.frame.type")
                                for one in d.location_table)
    assert types["kernel"] and set(types) <= {"kernel", "native", "go", None}


@pytest.mark.replay
def test_a_server_gets_all_signals_of_one_url(collector, tmp_path):  # noqa: F811
    """One base URL: the profile, and the metrics of the same samples; the profile is the one of the file."""
    c = collector()
    profile("-o", f"otlp:{c.url}")
    profile("-o", f"otlp:{tmp_path}/x")
    by_path = collections.defaultdict(list)
    for _, path, headers, body in c.requests:
        assert headers["Content-Type"] == "application/x-protobuf"
        by_path[path].append(body)
    assert {"/v1development/profiles", "/v1/metrics"} <= set(by_path)
    total = collections.Counter()
    for body in by_path["/v1development/profiles"]:
        for _, kind, p in profiles(otlp_profiles_pb.read(body)):
            total[kind] += sum(s.values[0] for s in p.samples)
    want = collections.Counter()
    for _, kind, p in profiles(otlp_profiles_pb.read((tmp_path / "x").read_bytes())):
        want[kind] += sum(s.values[0] for s in p.samples)
    assert total == want and total["samples"]
