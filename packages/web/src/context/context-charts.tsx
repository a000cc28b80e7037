import type { ContextView } from "@holdfast/protocol";
import { strings } from "../strings/strings.ts";
import { formatMoment } from "../ui/format-time.ts";

const kinds = ["system", "tools", "summary", "user", "assistant", "tool"] as const;

interface WindowChartProps {
  readonly tokens: ContextView["tokens"];
  readonly windowTokens: number | null;
}

/** The model's window and what fills it, to scale. */
export function WindowChart({ tokens, windowTokens }: WindowChartProps) {
  const w = strings.context;
  const whole = Math.max(windowTokens ?? tokens.total, tokens.total, 1);
  const filled = kinds.filter((kind) => tokens[kind] > 0);
  const widths = filled.map((kind) => Math.max(2, (tokens[kind] / whole) * 1000));
  return (
    <figure className="window">
      <figcaption>
        {windowTokens === null
          ? w.filled(tokens.total)
          : w.filledOf(tokens.total, windowTokens, tokens.total / whole)}
      </figcaption>
      <svg viewBox="0 0 1000 28" preserveAspectRatio="none" role="img" aria-label={w.picture}>
        <rect className="free" width="1000" height="28" />
        {filled.map((kind, index) => {
          const x = widths.slice(0, index).reduce((sum, each) => sum + each, 0);
          const width = widths[index];
          return <rect key={kind} className={`kind-${kind}`} x={x} width={width} height="28" />;
        })}
      </svg>
      <ul>
        {filled.map((kind) => (
          <li key={kind}>
            <span className={`swatch kind-${kind}`} />
            <span>{w.kinds[kind]}</span>
            <span className="quiet">{tokens[kind].toLocaleString()}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}

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
