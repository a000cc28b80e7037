import { memo, useState } from "react";
import { useDrawing } from "../../drawing/use-drawing.ts";
import { strings } from "../../strings/strings.ts";
import { CopyButton } from "../copy-and-save.tsx";
import { useColourScheme } from "../theme.ts";
import { CodeBlock } from "./code-block.tsx";

const maxSourceLength = 20_000;

/** A diagram as an `img`, which runs and fetches nothing. Until it is drawn, and if it cannot be, its source. */
export const Diagram = memo(function Diagram({ source }: { source: string }) {
  const theme = useColourScheme();
  const isShort = source.length <= maxSourceLength;
  const outcome = useDrawing(isShort ? { kind: "diagram", source, theme } : null);
  const [isSourceShown, setIsSourceShown] = useState(false);
  const t = strings.drawing;
  const isRefused = outcome?.kind === "refused" || !isShort;
  if (outcome?.kind !== "diagram")
    return (
      <>
        <CodeBlock code={source} language="mermaid" />
        {isRefused && <p className="quiet">{t.notDrawn}</p>}
      </>
    );
  const { svg, width, height, title } = outcome;
  return (
    <>
      <figure className="diagram">
        <figcaption>
          <span>{title === "" ? t.diagram : title}</span>
          <button
            type="button"
            className="button plain"
            aria-expanded={isSourceShown}
            onClick={() => setIsSourceShown(!isSourceShown)}
          >
            {isSourceShown ? t.hideSource : t.showSource}
          </button>
          <CopyButton text={source} label={t.copyDiagram} />
        </figcaption>
        {/* A wide diagram scrolls by keyboard too. */}
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <section className="diagram-scroll" tabIndex={0} aria-label={t.diagram}>
          <img
            src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`}
            width={Math.ceil(width)}
            height={Math.ceil(height)}
            alt={title === "" ? t.diagram : title}
          />
        </section>
      </figure>
      {isSourceShown && <CodeBlock code={source} language="mermaid" />}
    </>
  );
});
