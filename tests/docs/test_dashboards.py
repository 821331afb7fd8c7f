# SPDX-License-Identifier: GPL-2.0-or-later
"""Dashboards and alerts of contrib: every query parses and names metrics and labels that the tables have."""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import ROOT
import metric_names

DASHBOARDS = sorted(os.path.join(ROOT, "contrib", "grafana", f)
                    for f in os.listdir(os.path.join(ROOT, "contrib", "grafana")))
RULES = os.path.join(ROOT, "contrib", "prometheus", "sonde.rules.yml")
TESTS = os.path.join(ROOT, "tests", "docs", "alerts.test.yml")
WORDS = {"by", "without", "on", "ignoring", "group_left", "group_right", "and", "or", "unless", "offset", "bool"}
SELECTOR = r"([a-zA-Z_:][\w:]*)\s*(\{[^}]*\})?(?!\s*\(|\w)"
SCRAPED = {"instance", "job", "__name__"}      # labels that Prometheus adds
needs_promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="the package prometheus is not there")


def expressions(path):
    """(place, PromQL) of a dashboard."""
    with open(path, encoding="utf-8") as f:
        board = json.load(f)
    for panel in board["panels"]:
        assert panel["targets"], panel["title"]
        for target in panel["targets"]:
            yield f"{board['title']}: {panel['title']}", target["expr"], target["legendFormat"]


def rule_expressions():
    """The same of the rules; their YAML is regular."""
    text = metric_names.read("contrib/prometheus/sonde.rules.yml")
    for name, one, block in re.findall(r"- alert: (\w+)\n +expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)", text):
        yield name, (one or block).strip(), ""


def selectors(promql):
    """(metric, labels in braces) and the labels of groupings."""
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', promql)
    grouped = set()
    for labels in re.findall(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)", text):
        grouped |= {label.strip() for label in labels.split(",") if label.strip()}
    text = re.sub(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", text)
    found = []
    for name, braces in re.findall(SELECTOR, re.sub(r"\[[^\]]*\]", " ", text)):
        in_braces = not braces and re.search(rf"[{{,]\s*{name}\s*[=!]", text)
        if name in WORDS or in_braces or re.search(rf"\b{name}\s*\(", text):
            continue
        found.append((name, set(re.findall(r"([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)", braces or ""))))
    for braces in re.findall(r"(?<![\w\s])\s*(\{[^}]*__name__[^}]*\})", text):
        found.append((None, set(re.findall(r"([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)", braces))))
    return found, grouped


def check(place, promql, legend):
    known = {**metric_names.samples(), **metric_names.own()}
    found, grouped = selectors(promql)
    assert found, f"{place}: no metric in {promql}"
    have = set(SCRAPED)
    for name, labels in found:
        if name is None:
            assert labels <= set().union(*known.values()) | SCRAPED, f"{place}: {labels}"
            continue
        assert name in known, f"{place}: no metric {name}"
        assert labels <= known[name] | SCRAPED, f"{place}: {name} has no labels {labels - known[name] - SCRAPED}"
        have |= known[name]
    assert grouped <= have, f"{place}: no labels {grouped - have}"
    shown = set(re.findall(r"\{\{(\w+)\}\}", legend))
    assert shown <= have and (not grouped or shown <= grouped), f"{place}: {legend}"


@pytest.mark.parametrize("path", DASHBOARDS, ids=os.path.basename)
def test_panels_name_metrics_of_the_table(path):
    n = 0
    for place, promql, legend in expressions(path):
        check(place, promql, legend)
        n += 1
    assert n >= 4


def test_alerts_name_metrics_of_the_table():
    rules = list(rule_expressions())
    assert len(rules) == metric_names.read("contrib/prometheus/sonde.rules.yml").count("- alert:") >= 8
    for name, promql, _ in rules:
        check(name, promql, "")


def test_the_check_finds_a_wrong_name_and_a_wrong_label():
    for promql in ("sum(rate(sonde_network_drop_total[5m]))", "sum by (pid) (rate(sonde_network_drops_total[5m]))",
                   'sonde_network_drops_total{comm="x"}', 'a{__name__=~"x"} or {__name__=~"y", nothing="z"}'):
        with pytest.raises(AssertionError):
            check("x", promql, "")
    check("x", 'sum by (reason) (rate(sonde_network_drops_total{function!=""}[5m])) > 0', "{{reason}}")


def test_each_metric_is_on_a_dashboard():
    """So that a new row gets its panel."""
    text = "".join(promql for path in DASHBOARDS for _, promql, _ in expressions(path))
    for name, kind, unit, _, _, _ in metric_names.table():
        assert re.search(rf"\b{metric_names.prometheus(name, unit)}_(total|bucket|count)\b", text), name


@needs_promtool
def test_queries_parse(tmp_path):
    """Each panel's query as a recording rule."""
    rules = [{"record": f"panel:{i}", "expr": promql.replace("$__rate_interval", "5m")} for i, (_, promql, _) in
             enumerate(one for path in DASHBOARDS for one in expressions(path))]
    assert len(rules) > 30
    file = tmp_path / "panels.yml"
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))   # JSON is YAML
    for path in (str(file), RULES):
        done = subprocess.run(["promtool", "check", "rules", path], capture_output=True, text=True, timeout=60,
                              check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_alerts_fire_at_what_they_are_for(tmp_path):
    for path in (RULES, TESTS):
        shutil.copy(path, tmp_path)
    done = subprocess.run(["promtool", "test", "rules", os.path.basename(TESTS)], cwd=tmp_path, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(TESTS, encoding="utf-8") as f:
        tested = set(re.findall(r"alertname: (\w+)", f.read()))
    assert tested == {name for name, _, _ in rule_expressions()}


def test_the_page_has_the_rows_of_the_table():
    page = metric_names.read("doc/metrics.md")
    rows = re.findall(r"^\| `(\w+)` \| `([\w.]+)` \| (\w+) \| (\w+) \| ([\w, ]+) \|$", page, re.M)
    assert rows == [(metric_names.prometheus(name, unit) + ("_total" if kind == "COUNTER" else ""), name,
                     kind.lower(), family, ", ".join(key for key, _ in labels))
                    for name, kind, unit, family, _, labels in metric_names.table()]
    families = re.findall(r"^\| `(\w+)` \| ([^|`]+) \| ([^|`]+) \|$", page, re.M)
    assert families == [(name, *words) for name, words in metric_names.families().items()]


def test_the_help_lists_the_families(sonde):
    text = re.sub(r"\s+", " ", sonde("agent", "--help").stdout)
    listed = re.search(r"--metrics-families LIST metrics of the host at /metrics: ([\w, ]+?) --", text)[1]
    assert listed.split(", ") == list(metric_names.families())
