import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Icon } from "../ui/icons.tsx";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { strings } from "../strings/strings.ts";

interface ViewerProps {
  readonly name: string;
  /** Where the file is downloaded from. */
  readonly href: string;
  readonly hint?: string | undefined;
  /** Attaches the file to the message that is being written. */
  readonly onAttach?: (() => void) | undefined;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** One file over the whole window. Escape and a click beside it close it. */
export function Viewer({ name, href, hint, onAttach, onClose, children }: ViewerProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  const shown = revealInvisible(name);
  return (
    // The keyboard has Escape and the close button.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions
    <dialog
      ref={dialog}
      className="viewer"
      aria-labelledby={headingId}
      onCancel={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <header className="bar">
        <h2 id={headingId} dir="auto">
          {shown}
        </h2>
        {hint !== undefined && <span className="quiet viewer-hint">{hint}</span>}
        <span className="spacer" />
        {onAttach !== undefined && (
          <button
            type="button"
            className="icon-button"
            aria-label={strings.files.attach}
            title={strings.files.attach}
            onClick={() => {
              onAttach();
              onClose();
            }}
          >
            <Icon name="attach" />
          </button>
        )}
        <a
          className="icon-button"
          href={href}
          download={name}
          aria-label={strings.files.download}
          title={strings.files.download}
        >
          <Icon name="download" />
        </a>
        <button
          type="button"
          className="icon-button"
          aria-label={strings.common.close}
          title={strings.common.close}
          onClick={onClose}
        >
          <Icon name="close" />
        </button>
      </header>
      <div className="viewer-body">{children}</div>
    </dialog>
  );
}

interface ZoomablePictureProps {
  readonly src: string;
  readonly name: string;
}

/** Fits the window; a click shows it in its own size. */
export function ZoomablePicture({ src, name }: ZoomablePictureProps) {
  const [isWhole, setIsWhole] = useState(false);
  return (
    <button
      type="button"
      className={`viewer-picture${isWhole ? " whole" : ""}`}
      aria-label={strings.files.zoom(name)}
      aria-pressed={isWhole}
      onClick={() => setIsWhole(!isWhole)}
    >
      <img src={src} alt={name} />
    </button>
  );
}
