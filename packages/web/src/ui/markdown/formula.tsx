import { memo, useEffect } from "react";
import { useDrawing } from "../../drawing/use-drawing.ts";
import { words } from "../../strings/strings.ts";
import { CopyButton } from "../copy-button.tsx";
import { CodeBlock } from "./code-block.tsx";
import { drawTree } from "./formula-tree.tsx";
import { revealUnseen } from "./safe-text.ts";

interface FormulaProps {
  readonly source: string;
  readonly layout: "line" | "display";
}

/** A formula as it is read; as it was written until it is drawn, and where it cannot be. */
export const Formula = memo(function Formula({ source, layout }: FormulaProps) {
  const outcome = useDrawing({ kind: "formula", source, layout });
  useEffect(() => void import("./katex-styles.ts"), []);
  const tree = outcome?.kind === "formula" ? outcome.tree : null;
  if (layout === "line")
    return tree === null ? (
      <code title={outcome === null ? undefined : words.drawing.notDrawn}>
        {revealUnseen(source)}
      </code>
    ) : (
      <span className="formula">{drawTree(tree)}</span>
    );
  if (tree === null) return <CodeBlock code={source} language="math" />;
  return (
    <div className="formula display">
      {/* A wide formula scrolls by keyboard too. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <section className="formula-scroll" tabIndex={0} aria-label={words.drawing.formula}>
        {drawTree(tree)}
      </section>
      <CopyButton text={source} label={words.drawing.copyFormula} />
    </div>
  );
});
