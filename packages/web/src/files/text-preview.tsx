import { useEffect, useRef, useState } from "react";
import { CodeBlock } from "../ui/markdown/code-block.tsx";
import { strings } from "../strings/strings.ts";
import { formatSize, languageOf } from "./file-kind.ts";

interface TextPreviewProps {
  readonly name: string;
  readonly size: number | undefined;
  /** The bytes, or why there are none. */
  readonly read: (signal: AbortSignal) => Promise<Uint8Array | string>;
}

interface Text {
  readonly text: string;
  /** How many bytes it was made of. */
  readonly length: number;
}

/** More would make the page slow, and nobody reads it here. */
const maxShownBytes = 512 * 1024;

export function TextPreview({ name, size, read }: TextPreviewProps) {
  const [shown, setShown] = useState<Text | { readonly trouble: string }>();
  // Read once: a preview shows one file for as long as it is open.
  const reading = useRef(read);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const show = (found: Uint8Array | string): void => {
      if (signal.aborted) return;
      if (typeof found === "string") setShown({ trouble: found });
      else setShown(textOf(found) ?? { trouble: strings.files.binary });
    };
    reading.current(signal).then(show, () => show(strings.files.gone));
    return () => leaving.abort();
  }, []);
  if (shown === undefined)
    return <p className="empty-state fade-in-late quiet">{strings.files.loading}</p>;
  if ("trouble" in shown) return <p className="empty-state quiet">{shown.trouble}</p>;
  return (
    <>
      {size !== undefined && shown.length < size && (
        <p className="callout info">
          {strings.files.cut(formatSize(shown.length), formatSize(size))}
        </p>
      )}
      <CodeBlock code={shown.text} language={languageOf(name)} />
    </>
  );
}

/** `null` for anything but text. A preview may end in the middle of a character. */
function textOf(bytes: Uint8Array): Text | null {
  const start = bytes.subarray(0, maxShownBytes);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(start, { stream: true });
    return text.includes("\0") ? null : { text, length: start.length };
  } catch {
    return null;
  }
}
