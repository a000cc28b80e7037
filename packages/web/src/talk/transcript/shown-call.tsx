import { useEffect, useRef, useState } from "react";
import type { LiveView } from "@holdfast/protocol";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";
import { LabelledBlock, ToolArguments, withWorkspaceName } from "./tool-details.tsx";

type OpenApproval = LiveView["approvals"][number];

const maxPieceLines = 4;
const maxPieceLength = 240;

/** In pieces that are small enough to be in view as a whole on a phone. */
export function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  let lines = 0;
  let piece = "";
  const end = (): void => {
    if (piece !== "") pieces.push(piece);
    [piece, lines] = ["", 0];
  };
  for (const line of text.split(/(?<=\n)/)) {
    if (lines === maxPieceLines || piece.length + line.length > maxPieceLength) end();
    for (let at = 0; at < line.length; at += maxPieceLength) {
      if (piece.length >= maxPieceLength) end();
      piece += line.slice(at, at + maxPieceLength);
    }
    lines += 1;
  }
  end();
  return pieces;
}

interface ShownCallProps {
  readonly approval: OpenApproval;
  /** Called once, when every part of the call has been in view. */
  readonly onSeen: () => void;
}

/**
 * The whole call as the host describes it. Nobody can allow what they were not shown, so it reports when all of it has
 * been in view.
 */
export function ShownCall({ approval, onSeen }: ShownCallProps) {
  const { input, place } = approval;
  const shown = approval.shown ?? JSON.stringify(input, null, 2);
  const text = revealInvisible(withWorkspaceName(shown, place));
  const pieces = piecesOf(text);
  const container = useRef<HTMLPreElement>(null);
  const [unseen, setUnseen] = useState(pieces.length);

  useEffect(() => {
    const targets = [...(container.current?.children ?? [])].slice(0, pieces.length);
    const waiting = new Set<Element>(targets);
    // The edges of a piece may be cut by a pixel.
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          if (!isIntersecting) continue;
          waiting.delete(target);
          observer.unobserve(target);
        }
        setUnseen(waiting.size);
        if (waiting.size === 0) onSeen();
      },
      { threshold: 0.9 },
    );
    for (const target of targets) observer.observe(target);
    return () => observer.disconnect();
  }, [pieces.length, onSeen]);

  return (
    <>
      <LabelledBlock label={strings.approval.shown} copy={shown}>
        <pre ref={container} className="approval-shown" dir="ltr">
          {pieces.map((piece, index) => (
            <span key={index}>{piece}</span>
          ))}
        </pre>
      </LabelledBlock>
      {unseen > 0 && (
        <p className="approval-more" role="status">
          {strings.approval.unseen}
        </p>
      )}
      <Files approval={approval} />
      {approval.shown !== undefined && (
        <details className="approval-whole">
          <summary className="quiet">{strings.approval.whole}</summary>
          <ToolArguments input={input} />
        </details>
      )}
      {place !== undefined && (
        <p className="quiet">{strings.approval.workspace(revealInvisible(place))}</p>
      )}
    </>
  );
}

const shownHashLength = 19;

/** What a yes is bound to besides the call itself. */
function Files({ approval: { files = [] } }: { approval: OpenApproval }) {
  if (files.length === 0) return null;
  return (
    <div className="approval-files">
      <span className="quiet">{strings.approval.files}</span>
      <ul>
        {files.map(({ path, hash }) => (
          <li key={path}>
            <code dir="ltr">{revealInvisible(path)}</code>{" "}
            <span className="quiet">{hash?.slice(0, shownHashLength)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
