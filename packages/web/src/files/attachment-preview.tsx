import type { Attachment } from "@holdfast/protocol";
import { blobHref } from "../host/page-key.ts";
import { strings } from "../strings/strings.ts";
import { attach } from "../talk/composer/attach-requests.ts";
import { attachmentName } from "./file-kind.ts";
import { PdfFrame } from "./pdf-frame.tsx";
import { TextPreview } from "./text-preview.tsx";
import { Viewer, ZoomablePicture } from "./viewer.tsx";

interface AttachmentPreviewProps {
  readonly attachment: Attachment;
  /** Of a message that was sent: it can be attached to the next one. */
  readonly isSent?: true;
  readonly onClose: () => void;
}

/** A picture, a PDF or a text that is attached to a message; of other files, what to do with them. */
export function AttachmentPreview({ attachment, isSent, onClose }: AttachmentPreviewProps) {
  const { blobId, mediaType } = attachment;
  const name = attachmentName(attachment);
  const isPdf = /^application\/pdf\b/.test(mediaType);
  const onAttach = isSent === undefined ? undefined : () => attach(attachment);
  return (
    <Viewer name={name} href={blobHref(blobId)} onAttach={onAttach} onClose={onClose}>
      {attachment.type === "image" ? (
        <ZoomablePicture src={blobHref(blobId)} name={name} />
      ) : isPdf ? (
        <PdfFrame src={blobHref(blobId, "view")} name={name} />
      ) : (
        <TextPreview
          name={name}
          size={attachment.size}
          read={(signal) => readBlob(blobId, signal)}
        />
      )}
    </Viewer>
  );
}

async function readBlob(blobId: string, signal: AbortSignal): Promise<Uint8Array | string> {
  const response = await fetch(blobHref(blobId), { signal });
  return response.ok ? response.bytes() : strings.files.gone;
}
