import { type FormEvent, type ReactNode, useEffect, useId, useRef } from "react";
import { strings } from "../strings/strings.ts";

interface DialogProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly confirm?: string;
  readonly tone?: "primary" | "warn";
  readonly onConfirm?: () => void;
  readonly onClose: () => void;
}

/** A modal dialog, open while it is mounted. */
export function Dialog(props: DialogProps) {
  const { title, children, confirm, tone = "primary", onConfirm, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);

  function submit(event: FormEvent): void {
    event.preventDefault();
    onConfirm?.();
    onClose();
  }

  return (
    <dialog ref={dialog} className="dialog" aria-labelledby={headingId} onCancel={onClose}>
      <form className="dialog-body" onSubmit={submit}>
        <h2 id={headingId}>{title}</h2>
        {children}
        <div className="dialog-foot">
          <button type="button" className="button plain" onClick={onClose}>
            {confirm === undefined ? strings.common.close : strings.common.cancel}
          </button>
          {confirm !== undefined && (
            <button type="submit" className={`button ${tone}`}>
              {confirm}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}
