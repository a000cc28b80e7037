import type { Attachment, BlobId } from "@holdfast/protocol";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import { blobHref } from "../transcript/attachment-view.tsx";
import type { Upload } from "./attachments.tsx";

interface AttachmentChipsProps {
  readonly attachments: readonly Attachment[];
  readonly uploads: readonly Upload[];
  readonly onRemove: (blobId: BlobId) => void;
  readonly onStop: (key: number) => void;
}

/** What will go with the message, and what is still on its way. */
export function AttachmentChips({ attachments, uploads, onRemove, onStop }: AttachmentChipsProps) {
  if (attachments.length === 0 && uploads.length === 0) return null;
  return (
    <ul className="chips">
      {attachments.map((each) => {
        const name = each.name ?? strings.talk.label;
        return (
          <li key={each.blobId} className="chip">
            {each.type === "image" ? (
              <img src={blobHref(each.blobId)} alt="" />
            ) : (
              <Icon name="file" />
            )}
            <span>{name}</span>
            <RemoveButton name={name} onRemove={() => onRemove(each.blobId)} />
          </li>
        );
      })}
      {uploads.map(({ key, name, sent }) => (
        <li key={key} className="chip">
          <progress
            value={sent}
            aria-label={strings.composer.uploading(name, Math.round(sent * 100))}
          />
          <span>{name}</span>
          <RemoveButton name={name} onRemove={() => onStop(key)} />
        </li>
      ))}
    </ul>
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
