import { useState } from "react";
import { type Attachment, type BlobId } from "@holdfast/protocol";
import { attachmentName, formatSize } from "../../files/file-kind.ts";
import { OpenAttachment } from "../../files/open-attachment.tsx";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import { blobHref } from "../../host/page-key.ts";
import type { Upload, Uploads } from "./uploads.ts";

interface AttachmentChipsProps {
  readonly attachments: readonly Attachment[];
  readonly uploads: Uploads;
  readonly onRemove: (blobId: BlobId) => void;
}

/** The draft's attachments, and uploads that run or have failed. */
export function AttachmentChips({ attachments, uploads, onRemove }: AttachmentChipsProps) {
  if (attachments.length === 0 && uploads.all.length === 0) return null;
  return (
    <ul className="chips" aria-label={strings.composer.attachments}>
      {attachments.map((attachment) => (
        <AttachmentChip
          key={attachment.blobId}
          attachment={attachment}
          onRemove={() => onRemove(attachment.blobId)}
        />
      ))}
      {uploads.all.map((upload) => (
        <UploadChip key={upload.key} upload={upload} uploads={uploads} />
      ))}
    </ul>
  );
}

interface AttachmentChipProps {
  readonly attachment: Attachment;
  readonly onRemove: () => void;
}

/** What was attached can be looked at before it is sent. */
function AttachmentChip({ attachment, onRemove }: AttachmentChipProps) {
  const [isOpen, setIsOpen] = useState(false);
  const name = attachmentName(attachment);
  return (
    <li className="chip">
      <button
        type="button"
        className="chip-open"
        title={strings.files.show(name)}
        onClick={() => setIsOpen(true)}
      >
        {attachment.type === "image" ? (
          <img src={blobHref(attachment.blobId)} alt="" />
        ) : (
          <Icon name="file" />
        )}
        <span className="hidden-text">{strings.files.showNamed} </span>
        <span className="chip-text">
          <span className="chip-name">{name}</span>
          {attachment.type === "file" && (
            <span className="quiet">{formatSize(attachment.size)}</span>
          )}
        </span>
      </button>
      <RemoveButton name={name} onRemove={onRemove} />
      {isOpen && <OpenAttachment attachment={attachment} onClose={() => setIsOpen(false)} />}
    </li>
  );
}

function UploadChip({
  upload: { key, name, progress, failure },
  uploads,
}: {
  upload: Upload;
  uploads: Uploads;
}) {
  return (
    <li className={`chip${failure === null ? "" : " failed"}`}>
      {failure === null ? (
        <progress
          value={progress}
          aria-label={strings.composer.uploading(name, Math.round(progress * 100))}
        />
      ) : (
        <Icon name="warning" />
      )}
      <span className="chip-text">
        <span className="chip-name">{name}</span>
        {failure !== null && (
          <span className="chip-failure" role="alert">
            {failure}
          </span>
        )}
      </span>
      {failure !== null && (
        <button type="button" className="button small" onClick={() => uploads.retry(key)}>
          {strings.composer.retryUpload}
        </button>
      )}
      <RemoveButton name={name} onRemove={() => uploads.remove(key)} />
    </li>
  );
}

function RemoveButton({ name, onRemove }: { name: string; onRemove: () => void }) {
  const label = strings.composer.detach(name);
  return (
    <button
      type="button"
      className="icon-button small"
      aria-label={label}
      title={label}
      onClick={onRemove}
    >
      <Icon name="close" />
    </button>
  );
}
