import { useEffect, useState } from "react";
import { strings } from "../../strings/strings.ts";
import { CopyButton } from "../copy-and-save.tsx";
import { revealInvisible } from "./safe-text.ts";
import { type SafeHtml, sanitiseCode } from "./sanitise.ts";

interface CodeBlockProps {
  readonly code: string;
  readonly language: string;
  /** Still being written: it gets its colours when it is whole. */
  readonly isOpen?: boolean;
}

const maxHighlightedLength = 40_000;

export function CodeBlock({ code, language, isOpen = false }: CodeBlockProps) {
  const shown = revealInvisible(code);
  const coloured = useHighlightedHtml(shown, language, isOpen);
  return (
    <figure className="code">
      <figcaption>
        <span>{language === "" ? strings.code.plain : language}</span>
        <CopyButton text={code} label={strings.code.copy} />
      </figcaption>
      {/* A wide block scrolls by keyboard too. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0} dir="ltr">
        {coloured === null ? (
          <code>{shown}</code>
        ) : (
          <code dangerouslySetInnerHTML={{ __html: coloured }} />
        )}
      </pre>
    </figure>
  );
}

function useHighlightedHtml(code: string, language: string, isOpen: boolean): SafeHtml | null {
  const [coloured, setColoured] = useState<{ code: string; html: SafeHtml } | null>(null);
  const wanted = !isOpen && language !== "" && code.length <= maxHighlightedLength;
  useEffect(() => {
    if (!wanted) return;
    let left = false;
    void import("./highlight.ts").then(({ highlight }) => {
      const html = left ? null : highlight(code, language.toLowerCase());
      if (html !== null) setColoured({ code, html: sanitiseCode(html) });
      return undefined;
    });
    return () => {
      left = true;
    };
  }, [code, language, wanted]);
  return wanted && coloured?.code === code ? coloured.html : null;
}
