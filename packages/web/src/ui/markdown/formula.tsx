import { memo, useEffect } from "react";
import { useDrawing } from "../../drawing/use-drawing.ts";
import { strings } from "../../strings/strings.ts";
import { CopyButton } from "../copy-button.tsx";
import { CodeBlock } from "./code-block.tsx";
import { renderTree } from "./formula-tree.tsx";
import { revealInvisible } from "./safe-text.ts";

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
      <code title={outcome === null ? undefined : strings.drawing.notDrawn}>
        {revealInvisible(source)}
      </code>
    ) : (
      <span className="formula">{renderTree(tree)}</span>
    );
  if (tree === null) return <CodeBlock code={source} language="math" />;
  return (
    <div className="formula display">
      {/* A wide formula scrolls by keyboard too. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <section className="formula-scroll" tabIndex={0} aria-label={strings.drawing.formula}>
        {renderTree(tree)}
      </section>
      <CopyButton text={source} label={strings.drawing.copyFormula} />
    </div>
  );
});
