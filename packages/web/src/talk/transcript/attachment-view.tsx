import type { Attachment } from "@holdfast/protocol";
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
  const name = image.name ?? strings.talk.label;
  return (
    <a className="picture" href={blobHref(image.blobId)} download={name}>
      <img
        src={blobHref(image.blobId)}
        alt={name}
        width={image.width}
        height={image.height}
        loading="lazy"
      />
    </a>
  );
}

function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
