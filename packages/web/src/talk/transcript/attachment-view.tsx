import type { Attachment, ToolFile } from "@holdfast/protocol";
import { useState } from "react";
import { attachmentName, formatSize } from "../../files/file-kind.ts";
import { OpenAttachment } from "../../files/open-attachment.tsx";
import { blobHref } from "../../host/page-key.ts";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";

type FileAttachment = Extract<Attachment, { type: "file" }>;
type ImageAttachment = Extract<Attachment, { type: "image" }>;

export function FileView({ file }: { file: FileAttachment }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <button type="button" className="file" onClick={() => setIsOpen(true)}>
        <Icon name="file" />
        <span className="hidden-text">{strings.files.showNamed} </span>
        <span className="file-name">{file.name}</span>
        <span className="quiet">{formatSize(file.size)}</span>
      </button>
      {isOpen && <OpenAttachment attachment={file} isSent onClose={() => setIsOpen(false)} />}
    </>
  );
}

export function ImageView({ image }: { image: ImageAttachment }) {
  const [isOpen, setIsOpen] = useState(false);
  const name = attachmentName(image);
  return (
    <>
      <button
        type="button"
        className="picture"
        aria-label={strings.files.zoom(name)}
        onClick={() => setIsOpen(true)}
      >
        <img
          src={blobHref(image.blobId)}
          alt={name}
          width={image.width}
          height={image.height}
          loading="lazy"
        />
      </button>
      {isOpen && <OpenAttachment attachment={image} isSent onClose={() => setIsOpen(false)} />}
    </>
  );
}

const pictureTypes: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
]);

/** The pictures and files that a tool has returned. */
export function ResultFiles({ files }: { files: readonly ToolFile[] }) {
  if (files.length === 0) return null;
  return (
    <div className="attachments">
      {files.map(({ blobId, mediaType, size, name = strings.talk.label }) =>
        pictureTypes.has(mediaType) ? (
          <ImageView key={blobId} image={{ type: "image", blobId, mediaType, name }} />
        ) : (
          <FileView key={blobId} file={{ type: "file", blobId, mediaType, size, name }} />
        ),
      )}
    </div>
  );
}
