import { useEffect, useState } from "react";
import { strings } from "../../strings/strings.ts";
import { CopyButton } from "../copy-and-save.tsx";
import { revealInvisible } from "./safe-text.ts";
import { type SafeHtml, sanitiseCode } from "./sanitise.ts";

interface CodeBlockProps {
  readonly code: string;
  readonly language: string;
  /** Still being streamed: it is highlighted when it is complete. */
  readonly isOpen?: boolean;
}

const maxHighlightedLength = 40_000;

export function CodeBlock({ code, language, isOpen = false }: CodeBlockProps) {
  const shown = revealInvisible(code);
  const highlighted = useHighlightedHtml(shown, language, isOpen);
  return (
    <figure className="code">
      <figcaption>
        <span>{language === "" ? strings.code.plain : language}</span>
        <CopyButton text={code} label={strings.code.copy} />
      </figcaption>
      {/* A wide block scrolls by keyboard too. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0} dir="ltr">
        {highlighted === null ? (
          <code>{shown}</code>
        ) : (
          <code dangerouslySetInnerHTML={{ __html: highlighted }} />
        )}
      </pre>
    </figure>
  );
}

function useHighlightedHtml(code: string, language: string, isOpen: boolean): SafeHtml | null {
  const [highlighted, setHighlighted] = useState<{ code: string; html: SafeHtml } | null>(null);
  const shouldHighlight = !isOpen && language !== "" && code.length <= maxHighlightedLength;
  useEffect(() => {
    if (!shouldHighlight) return;
    let isUnmounted = false;
    void import("./highlight.ts").then(({ highlight }) => {
      const html = isUnmounted ? null : highlight(code, language.toLowerCase());
      if (html !== null) setHighlighted({ code, html: sanitiseCode(html) });
      return undefined;
    });
    return () => {
      isUnmounted = true;
    };
  }, [code, language, shouldHighlight]);
  return shouldHighlight && highlighted?.code === code ? highlighted.html : null;
}
