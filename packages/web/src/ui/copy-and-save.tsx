import { useEffect, useState } from "react";
import { strings } from "../strings/strings.ts";
import { Icon } from "./icons.tsx";

/** Saves as a file with an opaque type, so that the browser never opens the content in the page. */
export function saveText(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replaceAll(/[/\\:*?"<>|]/g, " ").slice(-120);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const feedbackMs = 1_500;

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Over plain HTTP from another machine there is no clipboard API, but `execCommand` still copies a selection. */
function copyBySelection(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "hidden-text";
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  return isCopied;
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), feedbackMs);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <button
      type="button"
      className="icon-button small"
      aria-label={copied ? strings.common.copied : label}
      title={copied ? strings.common.copied : label}
      onClick={() => void copyText(text).then(setCopied)}
    >
      <Icon name={copied ? "check" : "copy"} />
    </button>
  );
}
