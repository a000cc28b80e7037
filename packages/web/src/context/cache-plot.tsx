import type { ContextView } from "@holdfast/protocol";
import { formatMoment } from "../ui/format-time.ts";
import { strings } from "../strings/strings.ts";

type Turn = ContextView["turns"][number];

const barWidth = 12;
const height = 64;
const maxBars = 40;

/** For each turn how much of what was sent its provider had kept, and where the beginning of it changed. */
export function CacheChart({ turns }: { turns: readonly Turn[] }) {
  const w = strings.context;
  const shown = turns.slice(0, maxBars).toReversed();
  if (shown.length === 0) return <p className="quiet">{w.noTurns}</p>;
  const changed = shown.flatMap(({ changes, at }) => changes.map((change) => ({ change, at })));
  const width = Math.max(shown.length * barWidth, 10 * barWidth);
  return (
    <>
      <svg
        className="plot"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={w.plot(shown.length)}
      >
        {shown.map((turn, index) => {
          const share = turn.usage.hitShare ?? 0;
          const tall = Math.max(1, share * (height - 8));
          return (
            <g key={turn.runId}>
              <title>{`${formatMoment(turn.at)}: ${w.percent(share)}`}</title>
              <rect
                className="plot-ground"
                x={index * barWidth + 1}
                width={barWidth - 3}
                y={8}
                height={height - 8}
                rx="2"
              />
              <rect
                className="plot-bar"
                x={index * barWidth + 1}
                width={barWidth - 3}
                y={height - tall}
                height={tall}
                rx="2"
              />
              {turn.changes.length > 0 && (
                <circle
                  className={turn.changes.some(isUnexplained) ? "plot-fault" : "plot-change"}
                  cx={index * barWidth + barWidth / 2 - 0.5}
                  cy="3"
                  r="2.5"
                />
              )}
            </g>
          );
        })}
      </svg>
      {changed.length > 0 && (
        <ul className="changes">
          {changed.slice(-6).map(({ change, at }) => (
            <li key={change.seq}>
              <span className="quiet">{formatMoment(at)}</span>{" "}
              {w.changed(change.block, change.part)}{" "}
              <span className="quiet">
                {change.explainedBy === null
                  ? w.unexplained
                  : w.explained(change.explainedBy.cause ?? change.explainedBy.type)}
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function isUnexplained({ explainedBy }: Turn["changes"][number]): boolean {
  return explainedBy === null;
}
