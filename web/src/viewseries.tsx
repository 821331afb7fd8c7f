// SPDX-License-Identifier: GPL-2.0-or-later
/* Columns of a view over the range, a panel each. */
import { h } from "preact";
import { useMemo } from "preact/hooks";
import type { Ranged, ViewAnswer } from "./api";
import { useAnswer, useView } from "./answer";
import { Failure } from "./failure";
import type { Colour } from "./pic/paint";
import { pictureHeight, SeriesPicture, type Panel } from "./pic/series";

const COLOURS: Colour[] = ["run", "wait", "disk", "net", "queue", "lock"];

interface Props {
  name: string;
  columns: string[];
  labels?: Record<string, string>;
  clause?: string | null;
}

export function ViewSeries({ name, columns, labels, clause }: Props) {
  const view = useView(name);
  const known = columns.filter((c) => view?.cols.some((v) => v.name === c));
  const { data, error } = useAnswer<ViewAnswer & Ranged>(known.length ? `/view/${name}` : null,
    { series: known.join(","), top: 1 }, clause);
  const list = known.join(",");
  const step = data?.series?.step_ns ?? 1;
  const panels = useMemo<Panel[]>(() => list.split(",").map((column, i) => {
    const col = view?.cols.find((c) => c.name === column);

    return {
      column, label: labels?.[column] || col?.head || column, unit: col?.unit || "number",
      colour: COLOURS[i % COLOURS.length], scale: col?.op === "share" ? 100 / step : 1,
    };
  }), [list, view, step]);

  if (!known.length)
    return null;
  return (
    <figure>
      <Failure error={error} />
      {data?.series && <SeriesPicture label={`${view!.title} over time: ${panels.map((p) => p.label).join(", ")}`}
        series={data.series} panels={panels} to={data.to} />}
      {!data && !error && <p class="empty" style={{ height: `${pictureHeight(panels.length)}px` }}>...</p>}
    </figure>
  );
}
