import { strings } from "../strings/strings.ts";
import { textOverTime, type Span, type Timeline } from "./timeline.ts";

const width = 1000;
const rowHeight = 22;
const plotHeight = 60;

interface TimelineChartProps {
  readonly timeline: Timeline;
  readonly at: number;
}

/** The spans of the run to scale, one per line, and the length of the text over time. */
export function TimelineChart({ timeline, at }: TimelineChartProps) {
  const { startedAt, endedAt, spans } = timeline;
  const durationMs = Math.max(1, endedAt - startedAt);
  const xOf = (instant: number): number =>
    (Math.min(Math.max(instant - startedAt, 0), durationMs) / durationMs) * width;
  const t = strings.recorder;
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
                <span className="quiet">{t.lasted((span.to ?? endedAt) - span.from)}</span>
              </span>
              <svg
                viewBox={`0 0 ${width} ${rowHeight}`}
                preserveAspectRatio="none"
                aria-hidden="true"
              >
                <rect className="track" width={width} height={rowHeight} />
                <rect
                  className={`span-${span.kind}`}
                  x={Math.min(from, width - 4)}
                  width={Math.max(4, to - from)}
                  height={rowHeight}
                />
                <rect className="playhead" x={xOf(at) - 1} width="3" height={rowHeight} />
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
  const t = strings.recorder;
  if (kind === "model") return t.model(name);
  if (kind === "tool")
    return outcome === undefined || outcome === "ok" ? name : t.ended(name, outcome);
  return name === "queued" || name === "paused" ? t.waits[name] : t.asked(name);
}

interface TextPlotProps {
  readonly timeline: Timeline;
  readonly xOf: (instant: number) => number;
  readonly at: number;
}

/** Characters over time, with a mark where token usage was recorded. */
function TextPlot({ timeline: { texts, tokens, endedAt, startedAt }, xOf, at }: TextPlotProps) {
  const t = strings.recorder;
  const total = texts.reduce((sum, { text }) => sum + text.length, 0);
  if (total === 0) return null;
  const yOf = (length: number): number => plotHeight - 3 - (length / total) * (plotHeight - 8);
  const line = [[startedAt, 0] as const, ...textOverTime(texts), [endedAt, total] as const]
    .map(([since, length]) => `${xOf(since).toFixed(1)},${yOf(length).toFixed(1)}`)
    .join(" ");
  const totalTokens = tokens.reduce(
    (all, { input, output }) => ({ input: all.input + input, output: all.output + output }),
    { input: 0, output: 0 },
  );
  return (
    <>
      <figcaption className="quiet">
        {t.textAndTokens(total, totalTokens.input, totalTokens.output)}
      </figcaption>
      <svg
        className="text-plot"
        viewBox={`0 0 ${width} ${plotHeight}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={t.plot}
      >
        <rect className="track" width={width} height={plotHeight} />
        <polyline className="text-line" points={line} />
        {tokens.map((usage, index) => (
          <rect
            key={index}
            className="tokens-mark"
            x={Math.min(xOf(usage.at), width - 3)}
            width="3"
            height={plotHeight}
          >
            <title>{t.tokens(usage.input, usage.output)}</title>
          </rect>
        ))}
        <rect className="playhead" x={xOf(at) - 1} width="3" height={plotHeight} />
      </svg>
    </>
  );
}
