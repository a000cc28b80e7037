import type { SessionId } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { fileHref } from "../host/page-key.ts";
import { CodeBlock } from "../ui/markdown/code-block.tsx";
import { strings } from "../strings/strings.ts";
import { formatSize, languageOf, previewKindOf } from "./file-kind.ts";
import { Viewer, ZoomablePicture } from "./viewer.tsx";

interface FilePreviewProps {
  readonly id: SessionId;
  /** From the workspace. */
  readonly path: string;
  readonly size: number | undefined;
  readonly onClose: () => void;
}

/** A file of the workspace. What it contains is never run, and reaches nothing of this page. */
export function FilePreview({ id, path, size, onClose }: FilePreviewProps) {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const kind = previewKindOf(name);
  const view = fileHref(id, path, "view");
  const hint = kind === "page" ? strings.files.noScripts : undefined;
  return (
    <Viewer name={name} href={fileHref(id, path, "download")} hint={hint} onClose={onClose}>
      {kind === "picture" && <ZoomablePicture src={view} name={name} />}
      {kind === "pdf" && (
        // A browser shows no PDF in a sandboxed frame; the host makes sure that it is one.
        // oxlint-disable-next-line react/iframe-missing-sandbox
        <iframe className="viewer-frame" src={view} title={strings.files.preview(name)} />
      )}
      {kind === "page" && (
        <iframe
          className="viewer-frame page"
          sandbox=""
          src={view}
          title={strings.files.preview(name)}
        />
      )}
      {kind === "text" && <TextPreview id={id} path={path} size={size} />}
    </Viewer>
  );
}

interface Text {
  readonly text: string;
  /** How many bytes the host sent. */
  readonly length: number;
}

function TextPreview({ id, path, size }: Omit<FilePreviewProps, "onClose">) {
  const { client } = useApp();
  const [shown, setShown] = useState<Text | { readonly trouble: string }>();
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    void client
      .readFile({ params: { id }, query: { path, as: "text" } }, { signal })
      .then((read) => {
        if (signal.aborted) return undefined;
        if (!read.ok) setShown({ trouble: problemText(read.error) });
        else setShown(textOf(read.value) ?? { trouble: strings.files.binary });
        return undefined;
      });
    return () => leaving.abort();
  }, [client, id, path]);
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
      <CodeBlock code={shown.text} language={languageOf(path)} />
    </>
  );
}

/** `null` for anything but text. A preview may end in the middle of a character. */
function textOf(bytes: Uint8Array): Text | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return text.includes("\0") ? null : { text, length: bytes.length };
  } catch {
    return null;
  }
}
