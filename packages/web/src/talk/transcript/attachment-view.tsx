import type { Attachment } from "@holdfast/protocol";
import { Icon } from "../../ui/icons.tsx";
import { words } from "../../strings/strings.ts";

type File = Extract<Attachment, { type: "file" }>;
type Picture = Extract<Attachment, { type: "image" }>;

export function FileView({ file }: { file: File }) {
  return (
    <a className="file" href={addressOf(file.blobId)} download={file.name}>
      <Icon name="file" />
      <span className="file-name">{file.name}</span>
      <span className="quiet">{sizeOf(file.size)}</span>
    </a>
  );
}

export function PictureView({ picture }: { picture: Picture }) {
  const name = picture.name ?? words.talk.label;
  return (
    <a className="picture" href={addressOf(picture.blobId)} download={name}>
      <img
        src={addressOf(picture.blobId)}
        alt={name}
        width={picture.width}
        height={picture.height}
        loading="lazy"
      />
    </a>
  );
}

/** Relative, so that it holds under any base path. */
export function addressOf(blobId: string): string {
  return `api/blobs/${blobId}`;
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
