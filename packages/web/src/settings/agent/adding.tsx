import { type ReactNode, useState } from "react";

interface AddingProps {
  readonly label: string;
  /** The form, and how it closes. */
  readonly children: (close: () => void) => ReactNode;
}

/** A button whose form takes its place. It gets the focus back, and so stays in view, although the form was long. */
export function Adding({ label, children }: AddingProps) {
  const [state, setState] = useState<"fresh" | "open" | "closed">("fresh");
  if (state === "open") return children(() => setState("closed"));
  return (
    <button
      type="button"
      className="button"
      ref={state === "closed" ? takeFocus : null}
      onClick={() => setState("open")}
    >
      {label}
    </button>
  );
}

function takeFocus(button: HTMLButtonElement | null): void {
  button?.focus();
}
