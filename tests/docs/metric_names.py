# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and labels of all metrics, read from the tables: tables/metrics.def, and the agent's own in its sources."""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SUFFIX = {"NS": "seconds", "BYTES": "bytes"}
OVERFLOW = "otel_metric_overflow"


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def table():
    """[(OpenTelemetry name, kind, unit, family, help, [(key, attribute)])], in the order of the table."""
    rows = []
    text = re.sub(r"/\*.*?\*/", "", read("tables/metrics.def"), flags=re.S)
    for row in re.finditer(r'^METRIC\("([^"]+)", (\w+), (\w+), "(\w+)"(.*?)^END', text, re.M | re.S):
        name, kind, unit, family, rest = row.groups()
        body, _, _ = rest.partition("LABEL(")
        labels = re.findall(r'LABEL\("([^"]+)", "([^"]+)", "[^"]+"\)', rest)
        help_text = [s for s in re.findall(r'"((?:[^"\\]|\\.)*)"', body) if s.endswith(".")]
        rows.append((name, kind, unit, family, help_text[0], labels))
    return rows


def families():
    """{name: (probes, summary, cost)}"""
    text = read("tables/metrics.def")
    out = {}
    for row in re.finditer(r"^FAMILY\((\w+), (.*?)\)\n", text, re.M | re.S):
        words = re.findall(r'"((?:[^"\\]|\\.)*)"', row[2])
        out[row[1]] = words[-2], words[-1]
    return out


def prometheus(name, unit):
    """As metrics_table_prometheus(), without _total."""
    out = name.replace(".", "_")
    suffix = SUFFIX.get(unit)
    return out if not suffix or out.endswith(f".{suffix}") or out.endswith(f"_{suffix}") else f"{out}_{suffix}"


def samples():
    """{name of a sample: set of labels}, all families."""
    out = {}
    for name, kind, unit, _, _, labels in table():
        keys = {key for key, _ in labels} | {OVERFLOW}
        base = prometheus(name, unit)
        if kind == "COUNTER":
            out[f"{base}_total"] = keys
        else:
            out[f"{base}_bucket"] = keys | {"le"}
            out[f"{base}_sum"] = out[f"{base}_count"] = keys
    return out


def own():
    """{name of a sample: set of labels} of the agent itself."""
    text = read("src/agent/metrics/agent_metrics.c")
    rows = re.findall(r'\(p, "(sonde_\w+)", (COUNTER|GAUGE),', text)
    assert len(rows) > 30
    measure = re.findall(r'metrics_text_head\(out, "(sonde_\w+)", "(\w+)"', read("src/agent/metrics/agent_measure.c"))
    assert len(measure) >= 3
    labels = {"instance", "probe", "outcome", "cause", "site", "client", "version", "family"}
    out = {name + ("_total" if kind == "COUNTER" else ""): labels for name, kind in rows}
    out.update({name + ("_total" if kind == "counter" else ""): labels for name, kind in measure})
    return out
