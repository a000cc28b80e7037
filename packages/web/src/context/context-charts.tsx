import type { ContextView } from "@holdfast/protocol";
import { strings } from "../strings/strings.ts";

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
