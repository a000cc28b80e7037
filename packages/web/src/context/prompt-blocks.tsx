import type { ContextView } from "@holdfast/protocol";
import { strings } from "../strings/strings.ts";
import { revealInvisible } from "../ui/markdown/safe-text.ts";

type PromptBlock = NonNullable<ContextView["prompt"]>[number];

/** The parts of the system prompt, each with its text. */
export function PromptBlocks({ blocks }: { blocks: readonly PromptBlock[] }) {
  const t = strings.prompt;
  if (blocks.length === 0) return <p className="quiet">{t.none}</p>;
  return (
    <ul className="prompt-blocks" aria-label={t.title}>
      {blocks.map(({ part, tokens, text }) => (
        <li key={part}>
          <details className="fold">
            <summary>
              {nameOf(part)} <span className="quiet">{t.tokens(tokens)}</span>
            </summary>
            <pre className="lines short" dir="auto">
              {revealInvisible(text)}
            </pre>
          </details>
        </li>
      ))}
    </ul>
  );
}

/** A newer host may have parts that this page does not know. */
function nameOf(part: string): string {
  const names: Readonly<Record<string, string>> = strings.prompt.parts;
  return Object.hasOwn(names, part) ? (names[part] ?? part) : part;
}
