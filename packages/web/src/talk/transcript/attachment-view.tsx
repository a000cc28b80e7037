import type { Attachment, ToolFile } from "@holdfast/protocol";
import { useState } from "react";
import { formatSize } from "../../files/file-kind.ts";
import { Viewer, ZoomablePicture } from "../../files/viewer.tsx";
import { blobHref } from "../../host/page-key.ts";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";

type FileAttachment = Extract<Attachment, { type: "file" }>;
type ImageAttachment = Extract<Attachment, { type: "image" }>;

export function FileView({ file }: { file: FileAttachment }) {
  return (
    <a className="file" href={blobHref(file.blobId)} download={file.name}>
      <Icon name="file" />
      <span className="file-name">{file.name}</span>
      <span className="quiet">{formatSize(file.size)}</span>
    </a>
  );
}

export function ImageView({ image }: { image: ImageAttachment }) {
  const [isOpen, setIsOpen] = useState(false);
  const name = image.name ?? strings.talk.label;
  const src = blobHref(image.blobId);
  return (
    <>
      <button
        type="button"
        className="picture"
        aria-label={strings.files.zoom(name)}
        onClick={() => setIsOpen(true)}
      >
        <img src={src} alt={name} width={image.width} height={image.height} loading="lazy" />
      </button>
      {isOpen && (
        <Viewer name={name} href={src} onClose={() => setIsOpen(false)}>
          <ZoomablePicture src={src} name={name} />
        </Viewer>
      )}
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
