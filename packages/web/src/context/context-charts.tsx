import type { ContextView } from "@holdfast/protocol";
import { strings } from "../strings/strings.ts";
import { formatMoment } from "../ui/format-time.ts";

const kinds = ["system", "tools", "summary", "user", "assistant", "tool"] as const;

interface WindowChartProps {
  readonly tokens: ContextView["tokens"];
  readonly windowTokens: number | null;
}

/** The model's context window and what fills it, to scale. */
export function WindowChart({ tokens, windowTokens }: WindowChartProps) {
  const t = strings.context;
  const totalTokens = Math.max(windowTokens ?? tokens.total, tokens.total, 1);
  const filled = kinds.filter((kind) => tokens[kind] > 0);
  const widths = filled.map((kind) => Math.max(2, (tokens[kind] / totalTokens) * 1000));
  return (
    <figure className="context-window">
      <figcaption>
        {windowTokens === null
          ? t.filled(tokens.total)
          : t.filledOf(tokens.total, windowTokens, tokens.total / totalTokens)}
      </figcaption>
      <svg viewBox="0 0 1000 28" preserveAspectRatio="none" role="img" aria-label={t.picture}>
        <rect className="track" width="1000" height="28" />
        {filled.map((kind, index) => {
          const x = widths.slice(0, index).reduce((sum, width) => sum + width, 0);
          return (
            <rect key={kind} className={`kind-${kind}`} x={x} width={widths[index]} height="28" />
          );
        })}
      </svg>
      <ul>
        {filled.map((kind) => (
          <li key={kind}>
            <span className={`swatch kind-${kind}`} />
            <span>{t.kinds[kind]}</span>
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

/** The cache hit share of each turn, and where the start of the prompt changed. */
export function CacheChart({ turns }: { turns: readonly Turn[] }) {
  const t = strings.context;
  const shown = turns.slice(0, maxBars).toReversed();
  if (shown.length === 0) return <p className="quiet">{t.noTurns}</p>;
  const allChanges = shown.flatMap(({ changes, at }) => changes.map((change) => ({ change, at })));
  const width = Math.max(shown.length * barWidth, 10 * barWidth);
  return (
    <>
      <svg
        className="plot"
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="xMinYMid"
        role="img"
        aria-label={t.plot(shown.length)}
      >
        {shown.map((turn, index) => {
          const share = turn.usage.hitShare ?? 0;
          const barHeight = Math.max(1, share * (height - 8));
          return (
            <g key={turn.runId}>
              <title>{`${formatMoment(turn.at)}: ${t.percent(share)}`}</title>
              <rect
                className="plot-background"
                x={index * barWidth}
                width={barWidth - 3}
                y={8}
                height={height - 8}
                rx="2"
              />
              <rect
                className="plot-bar"
                x={index * barWidth}
                width={barWidth - 3}
                y={height - barHeight}
                height={barHeight}
                rx="2"
              />
              {turn.changes.length > 0 && (
                <circle
                  className={turn.changes.some(isUnexplained) ? "plot-fault" : "plot-change"}
                  cx={index * barWidth + (barWidth - 3) / 2}
                  cy="3"
                  r="2.5"
                />
              )}
            </g>
          );
        })}
      </svg>
      {allChanges.length > 0 && (
        <ul className="cache-changes">
          {allChanges.slice(-6).map(({ change, at }) => (
            <li key={change.seq}>
              <span className="quiet">{formatMoment(at)}</span> {t.changed[change.part]}
              {change.explainedBy === null
                ? t.unexplained
                : t.explained(change.explainedBy.cause ?? change.explainedBy.type)}
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
