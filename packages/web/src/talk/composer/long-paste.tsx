import { type ClipboardEvent, type KeyboardEvent, useRef, useState } from "react";
import { strings } from "../../strings/strings.ts";
import { isLongPaste, pasteName } from "@holdfast/client";

interface LongPaste {
  readonly name: string;
  readonly text: string;
}

interface LongPastes {
  readonly all: readonly LongPaste[];
  /** Notices the keys for pasting as text, which come before the paste. */
  readonly onKeyDown: (event: KeyboardEvent) => void;
  /** Takes a long text as a file; whether it did. */
  readonly take: (event: ClipboardEvent, text: string) => boolean;
  readonly forget: (name: string) => void;
}

/** Long pasted texts become attachments. Ctrl+Shift+V pastes them as text. */
export function useLongPastes(add: (files: Iterable<File>) => void): LongPastes {
  const [all, setAll] = useState<readonly LongPaste[]>([]);
  const isAsText = useRef(false);
  const count = useRef(0);
  return {
    all,
    onKeyDown(event) {
      const isPaste = event.key.toLowerCase() === "v" && (event.ctrlKey || event.metaKey);
      isAsText.current = isPaste && event.shiftKey;
    },
    take(event, text) {
      const isWanted = !isAsText.current && isLongPaste(text);
      isAsText.current = false;
      if (!isWanted || event.clipboardData.files.length > 0) return false;
      event.preventDefault();
      count.current += 1;
      const { name, mediaType } = pasteName(text, count.current);
      setAll((old) => [...old, { name, text }]);
      add([new File([text], name, { type: mediaType })]);
      return true;
    },
    forget: (name) => setAll((old) => old.filter((paste) => paste.name !== name)),
  };
}

interface LongPasteNoticeProps {
  /** Those that are still attached. */
  readonly pastes: readonly LongPaste[];
  readonly onKeepAsText: (paste: LongPaste) => void;
}

export function LongPasteNotice({ pastes, onKeepAsText }: LongPasteNoticeProps) {
  if (pastes.length === 0) return null;
  return (
    <output className="composer-notice quiet">
      {pastes.map((paste) => (
        <span key={paste.name}>
          {strings.composer.longPaste(paste.name)}{" "}
          <button
            type="button"
            className="link"
            aria-label={strings.composer.keepAsTextOf(paste.name)}
            onClick={() => onKeepAsText(paste)}
          >
            {strings.composer.keepAsText}
          </button>{" "}
        </span>
      ))}
    </output>
  );
}
