import { strings } from "../strings/strings.ts";
import { textOverTime, type Span, type Timeline } from "./timeline.ts";

const width = 1000;
const rowHeight = 22;
const plotHeight = 60;

interface TimelineChartProps {
  readonly timeline: Timeline;
  readonly at: number;
}

/** Every stretch of the run to scale, one below the other, and how much had been said by then. */
export function TimelineChart({ timeline, at }: TimelineChartProps) {
  const { startedAt, endedAt, spans } = timeline;
  const whole = Math.max(1, endedAt - startedAt);
  const xOf = (instant: number): number =>
    (Math.min(Math.max(instant - startedAt, 0), whole) / whole) * width;
  const w = strings.recorder;
  return (
    <figure className="recording">
      <ol>
        {spans.map((span) => {
          const from = xOf(span.from);
          const to = xOf(span.to ?? endedAt);
          return (
            <li key={span.id}>
              <span className="span-name">
                <span className={`swatch span-${span.kind}`} />
                <span className="span-label">{labelOf(span)}</span>
                <span className="quiet">{w.lasted((span.to ?? endedAt) - span.from)}</span>
              </span>
              <svg
                viewBox={`0 0 ${width} ${rowHeight}`}
                preserveAspectRatio="none"
                aria-hidden="true"
              >
                <rect className="free" width={width} height={rowHeight} />
                <rect
                  className={`span-${span.kind}`}
                  x={Math.min(from, width - 4)}
                  width={Math.max(4, to - from)}
                  height={rowHeight}
                />
                <rect className="now" x={xOf(at) - 1} width="3" height={rowHeight} />
              </svg>
            </li>
          );
        })}
      </ol>
      <TextPlot timeline={timeline} xOf={xOf} at={at} />
    </figure>
  );
}

export function labelOf({ kind, name, outcome }: Span): string {
  const w = strings.recorder;
  if (kind === "model") return w.model(name);
  if (kind === "tool")
    return outcome === undefined || outcome === "ok" ? name : w.ended(name, outcome);
  return name === "queued" || name === "paused" ? w.waits[name] : w.asked(name);
}

interface TextPlotProps {
  readonly timeline: Timeline;
  readonly xOf: (instant: number) => number;
  readonly at: number;
}

/** Characters over time, with a dot where a request was paid for. */
function TextPlot({
  timeline: { texts: said, tokens, endedAt, startedAt },
  xOf,
  at,
}: TextPlotProps) {
  const w = strings.recorder;
  const total = said.reduce((sum, { text }) => sum + text.length, 0);
  if (total === 0) return null;
  const yOf = (length: number): number => plotHeight - 3 - (length / total) * (plotHeight - 8);
  const line = [[startedAt, 0] as const, ...textOverTime(said), [endedAt, total] as const]
    .map(([since, length]) => `${xOf(since).toFixed(1)},${yOf(length).toFixed(1)}`)
    .join(" ");
  const sum = tokens.reduce(
    (all, { input, output }) => ({ input: all.input + input, output: all.output + output }),
    { input: 0, output: 0 },
  );
  return (
    <>
      <figcaption className="quiet">{w.said(total, sum.input, sum.output)}</figcaption>
      <svg
        className="words-plot"
        viewBox={`0 0 ${width} ${plotHeight}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={w.plot}
      >
        <rect className="free" width={width} height={plotHeight} />
        <polyline className="words-line" points={line} />
        {tokens.map((each, index) => (
          <rect
            key={index}
            className="tokens-mark"
            x={Math.min(xOf(each.at), width - 3)}
            width="3"
            height={plotHeight}
          >
            <title>{w.tokens(each.input, each.output)}</title>
          </rect>
        ))}
        <rect className="now" x={xOf(at) - 1} width="3" height={plotHeight} />
      </svg>
    </>
  );
}
