import type { Attachment } from "@holdfast/protocol";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";

type FileAttachment = Extract<Attachment, { type: "file" }>;
type ImageAttachment = Extract<Attachment, { type: "image" }>;

export function FileView({ file }: { file: FileAttachment }) {
  return (
    <a className="file" href={blobHref(file.blobId)} download={file.name}>
      <Icon name="file" />
      <span className="file-name">{file.name}</span>
      <span className="quiet">{sizeOf(file.size)}</span>
    </a>
  );
}

export function ImageView({ picture }: { picture: ImageAttachment }) {
  const name = picture.name ?? strings.talk.label;
  return (
    <a className="picture" href={blobHref(picture.blobId)} download={name}>
      <img
        src={blobHref(picture.blobId)}
        alt={name}
        width={picture.width}
        height={picture.height}
        loading="lazy"
      />
    </a>
  );
}

/** Relative, so that it holds under any base path. */
export function blobHref(blobId: string): string {
  return `api/blobs/${blobId}`;
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
