import type { Attachment } from "@holdfast/protocol";
import { createChunk } from "../ui/chunk.tsx";
import { PartBoundary } from "../ui/part-boundary.tsx";

interface OpenAttachmentProps {
  readonly attachment: Attachment;
  /** Of a message that was sent: it can be attached to the next one. */
  readonly isSent?: true;
  readonly onClose: () => void;
}

const preview = createChunk(
  async () => (await import("./attachment-preview.tsx")).AttachmentPreview,
);

/** The preview, which the first view does not need. */
export function OpenAttachment(props: OpenAttachmentProps) {
  return (
    <PartBoundary>
      <preview.Part {...props} />
    </PartBoundary>
  );
}
