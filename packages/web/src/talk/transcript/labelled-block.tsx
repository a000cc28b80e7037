import type { ReactNode } from "react";
import { CopyButton } from "../../ui/copy-and-save.tsx";
import { strings } from "../../strings/strings.ts";

interface LabelledBlockProps {
  readonly label: string;
  readonly copy?: string;
  readonly children: ReactNode;
}

export function LabelledBlock({ label, copy, children }: LabelledBlockProps) {
  return (
    <div className="tool-part">
      <div className="tool-label">
        <span>{label}</span>
        {copy !== undefined && <CopyButton text={copy} label={strings.common.copy} />}
      </div>
      {children}
    </div>
  );
}
