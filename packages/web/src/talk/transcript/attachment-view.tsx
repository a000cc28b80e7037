import type { Attachment } from "@holdfast/protocol";
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
