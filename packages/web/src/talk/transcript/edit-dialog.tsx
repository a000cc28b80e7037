import { useState } from "react";
import { Dialog } from "../../ui/dialog.tsx";
import { strings } from "../../strings/strings.ts";

interface EditDialogProps {
  readonly title: string;
  readonly confirm: string;
  readonly text: string;
  readonly onConfirm: (text: string) => void;
  readonly onClose: () => void;
}

export function EditDialog({ title, confirm, text, onConfirm, onClose }: EditDialogProps) {
  const [next, setNext] = useState(text);
  return (
    <Dialog title={title} confirm={confirm} onConfirm={() => onConfirm(next)} onClose={onClose}>
      <textarea
        className="input edit"
        aria-label={strings.composer.label}
        rows={6}
        value={next}
        onChange={(event) => setNext(event.target.value)}
      />
    </Dialog>
  );
}
