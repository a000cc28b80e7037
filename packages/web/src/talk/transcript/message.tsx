import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";

interface ReasoningProps {
  readonly text: string;
  readonly growth: "grows" | "settled";
}

/** Folded: what a model thinks is there for who looks, and is not what it says. */
export function Reasoning({ text, growth }: ReasoningProps) {
  const isThinking = growth === "grows";
  return (
    <details className="fold thoughts">
      <summary>
        <Icon name="thought" />
        <span className={isThinking ? "breathing" : undefined}>
          {isThinking ? strings.talk.thinking : strings.talk.thoughts}
        </span>
        {isThinking && <span className="thoughts-tail">{text.slice(-90)}</span>}
      </summary>
      <p className="as-written" dir="auto">
        {text}
      </p>
    </details>
  );
}
