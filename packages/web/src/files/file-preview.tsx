import type { SessionId } from "@holdfast/protocol";
import { problemText, useApp } from "../app-context.ts";
import { fileHref } from "../host/page-key.ts";
import { strings } from "../strings/strings.ts";
import { attach } from "../talk/composer/attach-requests.ts";
import { mediaTypeOf, previewKindOf } from "./file-kind.ts";
import { PdfFrame } from "./pdf-frame.tsx";
import { TextPreview } from "./text-preview.tsx";
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
  const { client, toasts } = useApp();
  const name = path.slice(path.lastIndexOf("/") + 1);
  const kind = previewKindOf(name);
  const view = fileHref(id, path, "view");
  const hint = kind === "page" ? strings.files.noScripts : undefined;
  const download = fileHref(id, path, "download");
  async function readText(signal: AbortSignal): Promise<Uint8Array | string> {
    const read = await client.readFile({ params: { id }, query: { path, as: "text" } }, { signal });
    return read.ok ? read.value : problemText(read.error);
  }
  async function attachFile(): Promise<void> {
    const read = await client.readFile({ params: { id }, query: { path } });
    if (!read.ok) return toasts.show(problemText(read.error));
    // A view of the whole buffer: what was read is one file.
    const bytes = new Uint8Array(read.value);
    attach(new File([bytes], name, { type: mediaTypeOf(name) }));
  }
  return (
    <Viewer
      name={name}
      href={download}
      hint={hint}
      onAttach={() => void attachFile()}
      onClose={onClose}
    >
      {kind === "picture" && <ZoomablePicture src={view} name={name} />}
      {kind === "pdf" && <PdfFrame src={view} name={name} />}
      {kind === "page" && (
        <iframe
          className="viewer-frame page"
          sandbox=""
          src={view}
          title={strings.files.preview(name)}
        />
      )}
      {kind === "text" && <TextPreview name={name} size={size} read={readText} />}
    </Viewer>
  );
}
