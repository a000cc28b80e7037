import { findUnseen } from "@holdfast/client";
import type { Attachment } from "@holdfast/protocol";
import { useApp, useStore } from "../../app-context.ts";
import { modelTitle } from "../../models/group-models.ts";
import { blobHref } from "../../host/page-key.ts";
import { strings } from "../../strings/strings.ts";

interface UnseenNoticeProps {
  readonly attachments: readonly Attachment[];
  /** `null` for the default model. */
  readonly model: string | null;
  readonly onSendAsFiles: () => void;
}

/** Says before sending what the model will not see of the attachments, or may not. */
export function UnseenNotice({ attachments, model, onSendAsFiles }: UnseenNoticeProps) {
  const { models } = useApp();
  const list = useStore(models);
  const name = model ?? list?.usual;
  if (name === undefined) return null;
  const known = list?.models.find((each) => each.name === name);
  const unseen = findUnseen(attachments, known);
  if (unseen.length === 0) return null;
  return (
    <output className="composer-notice quiet">
      {unseen.map((kind) => (
        <span key={kind}>
          {strings.unseen[kind](known === undefined ? name : modelTitle(known))}{" "}
        </span>
      ))}
      {unseen.includes("perhaps_pictures") && (
        <button type="button" className="link" onClick={onSendAsFiles}>
          {strings.unseen.asFiles}
        </button>
      )}
    </output>
  );
}

/** The same attachment, which no model gets as a picture. */
export async function asFile(attachment: Attachment): Promise<Attachment> {
  if (attachment.type === "file") return attachment;
  const { blobId, mediaType, name = strings.talk.label } = attachment;
  // A picture's size is not part of it. The browser has just shown the picture, so it has the bytes.
  const bytes = await (await fetch(blobHref(blobId))).arrayBuffer();
  return { type: "file", blobId, mediaType, name, size: bytes.byteLength };
}
