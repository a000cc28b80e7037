import { Icon } from "../../ui/icons.tsx";
import { words } from "../../strings/strings.ts";

interface ThoughtsProps {
  readonly text: string;
  readonly growth: "grows" | "settled";
}

/** Folded: what a model thinks is there for who looks, and is not what it says. */
export function Thoughts({ text, growth }: ThoughtsProps) {
  const isThinking = growth === "grows";
  return (
    <details className="fold thoughts">
      <summary>
        <Icon name="thought" />
        <span className={isThinking ? "breathing" : undefined}>
          {isThinking ? words.talk.thinking : words.talk.thoughts}
        </span>
        {isThinking && <span className="thoughts-tail">{text.slice(-90)}</span>}
      </summary>
      <p className="as-written" dir="auto">
        {text}
      </p>
    </details>
  );
}
