import { strings } from "../../strings/strings.ts";

export interface ReducedPicture {
  readonly original: File;
  /** Of the attachment. */
  readonly name: string;
}

interface ReducedNoticeProps {
  /** Those that are still attached. */
  readonly pictures: readonly ReducedPicture[];
  readonly onSendOriginal: (picture: ReducedPicture) => void;
}

/** Says before sending that a picture is not the one that was chosen, pixel by pixel. */
export function ReducedNotice({ pictures, onSendOriginal }: ReducedNoticeProps) {
  if (pictures.length === 0) return null;
  return (
    <output className="composer-notice quiet">
      {pictures.map((picture) => (
        <span key={picture.name}>
          {strings.composer.reduced(picture.name)}{" "}
          <button type="button" className="link" onClick={() => onSendOriginal(picture)}>
            {strings.composer.sendOriginal}
          </button>{" "}
        </span>
      ))}
    </output>
  );
}
