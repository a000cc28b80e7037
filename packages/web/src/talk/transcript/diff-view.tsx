import type { FileChange } from "@holdfast/protocol";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import type { LineKind } from "@holdfast/client";
import { LabelledBlock } from "./labelled-block.tsx";

export interface DiffLine {
  readonly kind: LineKind | "place";
  readonly text: string;
}

/** The lines of a unified diff, without the names of its files. */
export function linesOfPatch(patch: string): readonly DiffLine[] {
  return patch
    .replace(/\n$/, "")
    .split("\n")
    .filter((line) => !/^(?:\+\+\+|---) /.test(line))
    .map((line): DiffLine => {
      if (line.startsWith("@@")) return { kind: "place", text: line };
      if (line.startsWith("+")) return { kind: "added", text: line.slice(1) };
      if (line.startsWith("-")) return { kind: "removed", text: line.slice(1) };
      return { kind: "same", text: line.replace(/^ /, "") };
    });
}

export function DiffLines({ lines }: { lines: readonly DiffLine[] }) {
  return (
    <pre className="diff" dir="ltr">
      {lines.map(({ kind, text }, index) => (
        <span key={index} className={kind}>
          {revealInvisible(text)}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

/** What a call did to files, as the host recorded it. */
export function FileChanges({ changes }: { changes: readonly FileChange[] }) {
  return changes.map(({ path, change, diff }) => (
    <LabelledBlock
      key={path}
      label={`${strings.tool.change[change]} ${revealInvisible(path)}`}
      copy={diff}
    >
      <DiffLines lines={linesOfPatch(diff)} />
    </LabelledBlock>
  ));
}
