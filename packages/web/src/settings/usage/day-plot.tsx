import type { UsageGroupView } from "@holdfast/protocol";
import { strings } from "../../strings/strings.ts";
import { formatDay, formatShortDay } from "../../ui/format-time.ts";
import { UsageTable } from "./usage-table.tsx";

type Day = UsageGroupView & { readonly day: string };

const height = 120;
const plotWidth = 600;

/** Tokens of each day, stacked: cached input, other input, output. The same figures are in a table below it. */
export function DayPlot({ days }: { days: readonly Day[] }) {
  const t = strings.usage;
  const largest = Math.max(1, ...days.map(({ input, output }) => input + output));
  const step = plotWidth / days.length;
  const used = days.filter(({ calls }) => calls > 0);
  return (
    <figure className="usage-days">
      <div className="usage-largest" aria-hidden="true">
        {t.shortNumber(largest)}
      </div>
      <svg
        className="plot"
        viewBox={`0 0 ${plotWidth} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={t.plot(t.lastDays(days.length))}
      >
        {days.map((day, index) => (
          <DayBar key={day.day} day={day} x={index * step} width={step} scale={height / largest} />
        ))}
      </svg>
      <div className="usage-axis" aria-hidden="true">
        <span>{formatDate(days[0], formatShortDay)}</span>
        <span>{formatDate(days.at(-1), formatShortDay)}</span>
      </div>
      <figcaption className="usage-legend">
        {(["cached", "fresh", "output"] as const).map((part) => (
          <span key={part}>
            <svg viewBox="0 0 10 10" aria-hidden="true">
              <rect className={`usage-${part}`} width="10" height="10" rx="2" />
            </svg>
            {t.parts[part]}
          </span>
        ))}
      </figcaption>
      <details>
        <summary>{t.asTable}</summary>
        <UsageTable
          title={t.byDay}
          heading={t.day}
          rows={used.map((group) => ({ key: group.day, name: formatDate(group), group }))}
        />
      </details>
    </figure>
  );
}

interface DayBarProps {
  readonly day: Day;
  readonly x: number;
  readonly width: number;
  readonly scale: number;
}

function DayBar({ day, x, width, scale }: DayBarProps) {
  const { input, output, cacheRead, costMicros } = day;
  const t = strings.usage;
  const parts = [
    ["cached", Math.min(cacheRead, input)],
    ["fresh", Math.max(0, input - cacheRead)],
    ["output", output],
  ] as const;
  const cost = costMicros === 0 ? "" : t.money(costMicros);
  let y = height;
  return (
    <g>
      <title>{t.bar(formatDate(day), t.tokens(input + output), cost)}</title>
      {/* The whole column, so that a small bar can be pointed at. */}
      <rect className="usage-column" x={x} y="0" width={width} height={height} />
      {parts.map(([part, tokens]) => {
        const size = tokens * scale;
        y -= size;
        return (
          <rect
            key={part}
            className={`usage-${part}`}
            x={x + width * 0.1}
            y={y}
            width={width * 0.8}
            height={size}
          />
        );
      })}
    </g>
  );
}

/** The date is one of the person's own time zone, at noon: midnight may be skipped. */
function formatDate(day: Pick<Day, "day"> | undefined, format = formatDay): string {
  return day === undefined ? "" : format(new Date(`${day.day}T12:00:00`).getTime());
}
