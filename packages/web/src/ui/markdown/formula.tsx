import { createElement, type CSSProperties, type ReactNode, memo, useEffect } from "react";
import type { TreeNode } from "../../drawing/jobs.ts";
import { useDrawing } from "../../drawing/use-drawing.ts";
import { strings } from "../../strings/strings.ts";
import { CopyButton } from "../copy-and-save.tsx";
import { CodeBlock } from "./code-block.tsx";
import { revealInvisible } from "./safe-text.ts";

const allowedTags = new Set(
  "span svg path line math semantics annotation mrow mi mo mn ms mtext mspace mfrac msup msub msubsup mover munder munderover msqrt mroot mtable mtr mtd mstyle mpadded mphantom menclose".split(
    " ",
  ),
);
const allowedAttributes = new Set(
  "class d x1 x2 y1 y2 width height viewBox preserveAspectRatio stroke-width xmlns encoding display mathvariant stretchy fence separator accent accentunder displaystyle scriptlevel linethickness columnalign columnspacing rowspacing columnlines rowlines lspace rspace minsize maxsize depth voffset notation aria-hidden".split(
    " ",
  ),
);
const allowedStyles = new Set(
  "height width min-width max-width top bottom left margin-left margin-right margin-top margin-bottom padding-left padding-right vertical-align border-bottom-width border-top-width border-right-width border-left-width border-width border-style border-color border-right-style border-top-style border-bottom-style color background-color text-shadow position".split(
    " ",
  ),
);
const attributeNames: Readonly<Record<string, string>> = {
  class: "className",
  "stroke-width": "strokeWidth",
};

/** Renders only the elements, attributes and styles of a formula: no links, images, handlers or fixed positions from the frame. */
function renderTree(node: TreeNode | string, key = 0): ReactNode {
  if (typeof node === "string") return node;
  if (!allowedTags.has(node.tag)) return null;
  const props: Record<string, unknown> = { key, style: styleOf(node) };
  for (const [name, value] of Object.entries(node.attributes))
    if (allowedAttributes.has(name)) props[attributeNames[name] ?? name] = value;
  return createElement(
    node.tag,
    props,
    ...node.children.map((child, index) => renderTree(child, index)),
  );
}

function styleOf({ style }: TreeNode): CSSProperties | undefined {
  const allowed = Object.entries(style).flatMap(([name, value]) => {
    const isSafe = /^[-+\d.a-z%#,() ]{1,80}$/i.test(value) && !/url|var|fixed|sticky/i.test(value);
    return allowedStyles.has(name) && isSafe ? [[toCamelCase(name), value] as const] : [];
  });
  const safeStyle: Record<string, string> = Object.fromEntries(allowed);
  return allowed.length === 0 ? undefined : safeStyle;
}

function toCamelCase(name: string): string {
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

interface FormulaProps {
  readonly source: string;
  readonly layout: "line" | "display";
}

/** A rendered formula. Until it is drawn, and if it cannot be, its source. */
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
